-- Finds the parts of a text in which no markup counts: comments, and elements of given names. Linear in all: a closing
-- tag that is missing is searched for once.
local _M = {}

local Verbatim = {}
Verbatim.__index = Verbatim

function _M.new(text, names)
  local set = {}
  for _, name in ipairs(names) do set[name] = true end
  return setmetatable({ text = text, lowered = text:lower(), names = set, missing = {} }, Verbatim)
end

-- Returns the range of the next `</name>` from `at` on, nil without one.
function Verbatim:find_close(name, at)
  if self.missing[name] then return nil end
  local start, stop = self.lowered:find("</" .. name .. "%s*>", at)
  if not start then self.missing[name] = true end
  return start, stop
end

-- Returns the name of the element at `start`, or "comment", and where it ends; nil when markup counts there.
function Verbatim:at(start)
  if self.text:sub(start, start + 3) == "<!--" then
    if self.missing.comment then return "comment", #self.text end
    local _, stop = self.text:find("-->", start + 4, true)
    if not stop then self.missing.comment = true end
    return "comment", stop or #self.text
  end
  local name, attributes, tag_end = self.lowered:match("^<(%a+)([^<>]*)>()", start)
  if not self.names[name] then return nil end
  if attributes:match("/%s*$") then return name, tag_end - 1 end
  local _, stop = self:find_close(name, tag_end)
  if not stop then return nil end
  return name, stop
end

return _M
