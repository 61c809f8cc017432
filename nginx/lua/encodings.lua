-- What a client can decode, in the few words that are a part of the key: there are as many spellings as browsers. RFC 9110 §12.5.3.
local bit = require("bit")

local _M = {}

local CODINGS = { "br", "gzip", "zstd" }
-- All that can come of the eight sets of those.
local words = {}
for set = 0, 7 do
  local names = {}
  for index = 1, #CODINGS do
    if bit.band(set, bit.lshift(1, index - 1)) ~= 0 then names[#names + 1] = CODINGS[index] end
  end
  words[set] = #names > 0 and table.concat(names, ", ") or "identity"
end

-- What was said → which set. Clients say few different things; one that says many empties the table.
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

--- Accept-Encoding of the canonical request. Whoever names no coding that is known here, or none at all, is sent plain bytes.
-- value: the header's, or nil
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

return _M
