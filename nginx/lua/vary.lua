-- Which stored answer belongs to a request: Vary, RFC 9111 §4.1.
local settings = require("settings")

local _M = {}

local NAMES_MAX = 16

-- The sorted names that select, "a,b"; nil when there is but one answer for all. `fields` are those of the answer.
function _M.selection(fields)
  local lines = fields.vary
  -- An origin that encodes what it sends, and forgets to say that others may get it otherwise.
  local encoded = settings.profile == "cloudflare" and fields["content-encoding"] ~= nil
  if not lines and not encoded then return nil end
  local seen, names = {}, {}
  for name in string.gmatch((encoded and "accept-encoding," or "") .. string.lower(table.concat(lines or {}, ",")), "[^%s,]+") do
    -- Cloudflare keeps one answer for an address, whatever Vary says beyond this.
    local counts = settings.profile ~= "cloudflare" or name == "accept-encoding"
    if counts and not seen[name] and not string.find(name, "[|=]") then
      seen[name] = true
      names[#names + 1] = name
    end
  end
  if #names == 0 then return nil end
  table.sort(names)
  return table.concat(names, ",", 1, math.min(#names, NAMES_MAX)), #names > NAMES_MAX
end

-- Differences in white space around commas and in the split over lines do not count, RFC 9111 §4.1.
local function normal(value)
  if type(value) == "table" then value = table.concat(value, ",") end
  if value == nil then return "-" end
  -- It may be within a quoted string, where every space counts.
  if string.find(value, '"', 1, true) then return "+" .. value end
  return "+" .. string.gsub(string.gsub(string.gsub(value, "[ \t]*,[ \t]*", ","), "^[ \t]+", ""), "[ \t]+$", "")
end

function _M.key(base, selection, request)
  local parts = { base, "\1", selection }
  for name in string.gmatch(selection, "[^,]+") do
    local value = normal(request.fields[name])
    parts[#parts + 1] = "=" .. #value .. ":" .. value
  end
  return table.concat(parts)
end

return _M
