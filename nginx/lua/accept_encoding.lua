-- Chooses the coding of a response by the client's Accept-Encoding, RFC 9110 §12.5.3.
local codecs = require("codecs")

local lower, match = string.lower, string.match

local _M = {}

-- A longer header is no browser's; its client gets identity.
local VALUE_BYTES_MAX = 1000
-- Header value → choice. Clients send few different values; a client that sends many empties the table.
local KNOWN_MAX = 1000
local known, known_count = {}, 0
local NONE = {}

-- Returns coding → weight.
local function weights_of(value)
  local weights = {}
  for member in string.gmatch(lower(value), "[^,]+") do
    local name, rest = match(member, "^[ \t]*([^;%s]+)[ \t]*(.-)[ \t]*$")
    if name then
      local weight = rest == "" and 1 or tonumber(match(rest, "^;[ \t]*q=([01]%.?%d*)$"))
      -- A weight that cannot be read is no wish for the coding.
      if not weight or weight > 1 then weight = 0 end
      if name == "x-gzip" then name = "gzip" end
      weights[name] = weights[name] or weight
    end
  end
  return weights
end

local function best(names, weights, least)
  local chosen, highest = nil, least
  for index = 1, #names do
    local name = names[index]
    local weight = weights[name] or weights["*"] or 0
    -- On a tie the earlier one, which the edge prefers.
    if weight > 0 and codecs.has(name) and (weight > highest or not chosen and weight == highest) then
      chosen, highest = name, weight
    end
  end
  return chosen, highest
end

local function choose(value)
  local weights = weights_of(value)
  -- A coding is better than identity unless the client weighs identity higher.
  local coding, weight = best(codecs.CODINGS, weights, weights.identity or 0)
  -- "*" does not mean them: they need a dictionary that the client has.
  local any = weights["*"]
  weights["*"] = nil
  local with_dictionary = best(codecs.DICTIONARY_CODINGS, weights, math.max(weight, weights.identity or 0))
  weights["*"] = any
  return { coding = coding, with_dictionary = with_dictionary }
end

--- Returns {coding, with_dictionary}, either of them nil. value: the header's, or nil
function _M.choice(value)
  if value == nil or #value > VALUE_BYTES_MAX then return NONE end
  local choice = known[value]
  if not choice then
    choice = choose(value)
    if known_count >= KNOWN_MAX then known, known_count = {}, 0 end
    known[value], known_count = choice, known_count + 1
  end
  return choice
end

return _M
