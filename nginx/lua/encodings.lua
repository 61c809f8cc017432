-- Normalises Accept-Encoding to a few values: it is part of the key, and browsers spell it in many ways.
-- RFC 9110 §12.5.3.
local bit = require("bit")

local _M = {}

local CODINGS = { "br", "gzip", "zstd" }
-- Set of CODINGS as a bit mask → canonical value.
local words = {}
-- Canonical value → what vary.lua appends to the key.
local parts = {}
for set = 0, 7 do
  local names = {}
  for index = 1, #CODINGS do
    if bit.band(set, bit.lshift(1, index - 1)) ~= 0 then names[#names + 1] = CODINGS[index] end
  end
  words[set] = #names > 0 and table.concat(names, ", ") or "identity"
  local value = "+" .. table.concat(names, ",")
  if #names == 0 then value = "+identity" end
  parts[words[set]] = "\1accept-encoding=" .. #value .. ":" .. value
end

-- Header value → set. Clients send few different values; a client that sends many empties the table.
local KNOWN_MAX = 1000
local known, known_count = {}, 0

local function set_of(value)
  local set = 0
  for member in string.gmatch(string.lower(value), "[^,]+") do
    local name, rest = string.match(member, "^[ \t]*([^;%s]+)[ \t]*(.-)[ \t]*$")
    for index = 1, #CODINGS do
      if name == CODINGS[index] and not string.find(rest, "^;[ \t]*q=0[.0]*$") then
        set = bit.bor(set, bit.lshift(1, index - 1))
      end
    end
  end
  return set
end

--- Returns the canonical Accept-Encoding. A client that names none of CODINGS gets an unencoded body.
-- value: the header's value, or nil
function _M.asked(value)
  if value == nil then return words[0] end
  local set = known[value]
  if not set then
    set = set_of(value)
    if known_count >= KNOWN_MAX then known, known_count = {}, 0 end
    known[value], known_count = set, known_count + 1
  end
  return words[set]
end

--- Returns what the canonical value adds to the key of a response with Vary: Accept-Encoding (vary.lua, `key`).
function _M.key_part(value)
  return parts[_M.asked(value)]
end

return _M
