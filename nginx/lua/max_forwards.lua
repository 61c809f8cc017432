-- Max-Forwards of an OPTIONS request, RFC 9110 §7.6.2. nginx refuses the other method that it is for, TRACE.
local settings = require("settings")

local _M = {}

local FORWARDS_MAX = 2147483647

--- Counts this edge in the field. Returns false when the request must not be forwarded.
function _M.count(request)
  local fields = request.fields
  local said = fields["max-forwards"]
  if request.method ~= "OPTIONS" or settings.profile == "cloudflare" then return true end
  -- Any other value has no meaning, and is forwarded as it is.
  if type(said) ~= "string" or not string.find(said, "^%d+$") then return true end
  local left = math.min(tonumber(said) - 1, FORWARDS_MAX)
  if left < 0 then return false end
  fields["max-forwards"] = string.format("%d", left)
  return true
end

return _M
