-- The header field Via towards the origin, RFC 9110 §7.6.3. It also ends loops: a request whose Via names this edge has
-- been here before.
local bit = require("bit")

local find, match = string.find, string.match

local _M = {}

local RANDOM_BYTES = 8
local name

--- Makes the name of this edge; called before any request. It is random: two edges in a chain are two, and no client
-- can guess it.
function _M.init()
  local file = assert(io.open("/dev/urandom", "rb"))
  local bytes = file:read(RANDOM_BYTES)
  file:close()
  name = "edge-" .. string.gsub(bytes, ".", function(char) return bit.tohex(string.byte(char), 2) end)
end

--- Returns the field's value with this edge as its last member. before: the value in the request, or nil; protocol: of
-- the request, as in nginx's variable
function _M.appended(before, protocol)
  local own = (match(protocol, "^HTTP/(%d%.%d)$") or "1.1") .. " " .. name
  return before and find(before, "[^ \t,]") and before .. ", " .. own or own
end

--- Whether the value, or nil, lists this edge.
function _M.lists_this_edge(value)
  return value ~= nil and find(value, name, 1, true) ~= nil
end

return _M
