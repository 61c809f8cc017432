-- A character of a private plane stands for markup that pandoc must not read. What it stands for is in `list`.
local _M = {}

local FIRST, PLANE, LAST = 0xF0000, 0xFFFE, 0x10FFFD
local CHARACTER = "[\xF3\xF4][\x80-\xBF][\x80-\xBF][\x80-\xBF]"

local Marks = {}
Marks.__index = Marks

function _M.new()
  return setmetatable({ list = {}, items = {} }, Marks)
end

-- `item.source` is the text as it was written, for places where nothing else can stand. Returns the character.
function Marks:add(item)
  local code = FIRST + #self.list
  if #self.list >= PLANE then code = code + 2 end
  if code > LAST then error("it has too many templates, pictures and links", 0) end
  self.list[#self.list + 1] = item
  local character = utf8.char(code)
  self.items[character] = item
  return character
end

-- Calls `on_text(text)` and `on_mark(item)` for the parts of a text, in their order.
function Marks:parts(text, on_text, on_mark)
  local from, at = 1, 1
  while true do
    local start, stop = text:find(CHARACTER, at)
    if not start then break end
    local item = self.items[text:sub(start, stop)]
    if item then
      if start > from then on_text(text:sub(from, start - 1)) end
      on_mark(item)
      from = stop + 1
    end
    at = stop + 1
  end
  if from <= #text then on_text(text:sub(from)) end
end

-- Returns the text as it was written.
function Marks:restored(text)
  return (text:gsub(CHARACTER, function(character)
    local item = self.items[character]
    return item and item.source or nil
  end))
end

-- Returns what stands at a character of a private plane in a text, so that no text can imitate a mark.
function Marks:protected(text, at)
  local character = text:match("^" .. CHARACTER, at)
  if not character or utf8.codepoint(character) < FIRST then return nil end
  return self:add({ kind = "text", source = character }), at + #character
end

return _M
