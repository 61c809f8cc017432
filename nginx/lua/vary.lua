-- Which stored answer belongs to a request: Vary, RFC 9111 §4.1.
local settings = require("settings")

local _M = {}

local NAMES_MAX = 16

-- What a client that says this about Accept-Encoding can read, in a few words: there are as many spellings as browsers.
local function encodings(value)
  if not value then return "identity" end
  local text, can = string.lower(value), {}
  for _, coding in ipairs({ "br", "gzip", "zstd" }) do
    local quality = string.match("," .. text .. ",", ",%s*" .. coding .. "%s*(;?[^,]*),")
    if quality and not string.find(quality, "q=0[%s.0]*$") then can[#can + 1] = coding end
  end
  return #can > 0 and table.concat(can, "+") or "identity"
end

-- The sorted names that select, "a,b"; nil when there is but one answer for all. `lines` are those of Vary.
function _M.selection(lines)
  if not lines then return nil end
  local seen, names = {}, {}
  for name in string.gmatch(string.lower(table.concat(lines, ",")), "[^%s,]+") do
    -- Cloudflare keeps one answer for an address, whatever Vary says beyond this.
    local counts = settings.profile ~= "cloudflare" or name == "accept-encoding"
    if counts and not seen[name] and not string.find(name, "|", 1, true) then
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
  return "+" .. string.gsub(string.gsub(string.gsub(value, "[ \t]*,[ \t]*", ","), "^[ \t]+", ""), "[ \t]+$", "")
end

function _M.key(base, selection, request)
  local fields = request.fields()
  local parts = { base, selection }
  for name in string.gmatch(selection, "[^,]+") do
    local value = fields[name]
    if settings.profile == "cloudflare" and name == "accept-encoding" then
      parts[#parts + 1] = encodings(type(value) == "table" and table.concat(value, ",") or value)
    else
      parts[#parts + 1] = normal(value)
    end
  end
  return table.concat(parts, "\1")
end

return _M
