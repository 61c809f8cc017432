-- RFC 9111 §4.4 and RFC 9875 §3: purges what an unsafe method may have changed. Cloudflare does not document this.
local cache_groups = require("cache_groups")
local settings = require("settings")
local store = require("store")

local _M = {}

local SAFE = { GET = true, HEAD = true, OPTIONS = true, TRACE = true }

-- Returns the address that a Location names; nil when it is of another origin: scheme, host or port.
local function address_of(target, request)
  local scheme, authority, rest = string.match(target, "^([hH][tT][tT][pP][sS]?)://([^/?#]*)([^#]*)")
  if authority then
    -- A proxy in front of the edge may speak TLS for it.
    if string.lower(scheme) ~= string.lower(request.fields["x-forwarded-proto"] or ngx.var.scheme) then return nil end
    authority = string.gsub(string.lower(authority), settings.default_port, "")
    return authority == request.host and request.host .. (rest == "" and "/" or rest) or nil
  end
  if string.find(target, "^/[^/]") or target == "/" then return request.host .. string.match(target, "^[^#]*") end
  if string.find(target, "^[%a][%w+.-]*:") or string.find(target, "^//") then return nil end
  local folder = string.match(request.uri, "^([^?#]*/)")
  return request.host .. folder .. string.match(target, "^[^#]*")
end

--- Purges what the request may have changed, by the origin's answer to it.
function _M.invalidate(request, answer)
  if settings.profile == "cloudflare" or answer.status >= 400 or SAFE[request.method] then return end
  store.purge_url(request.address)
  cache_groups.invalidate(request, answer)
  for _, name in ipairs({ "location", "content-location" }) do
    local target = answer.fields[name] and answer.fields[name][1]
    local address = target and address_of(target, request)
    if address then store.purge_url(address) end
  end
end

return _M
