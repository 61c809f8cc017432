-- The cache's control listener. It speaks the form of Cloudflare's API, so that one client serves both:
-- https://developers.cloudflare.com/api/resources/cache/methods/purge/
local cjson = require("cjson.safe")
local generation = require("generation")

local _M = {}

-- Assembled by hand: Debian's cjson encodes an empty Lua table as {} and has no way to say [].
local ENVELOPE = '{"success":%s,"errors":[%s],"messages":[],"result":%s}'

local function answer(status, result, message)
  ngx.status = status
  ngx.header["Content-Type"] = "application/json"
  local failure = message and cjson.encode({ code = status, message = message }) or ""
  ngx.say(ENVELOPE:format(tostring(message == nil), failure, result and cjson.encode(result) or "null"))
end

function _M.handle(token)
  if ngx.var.http_authorization ~= "Bearer " .. token then
    return answer(401, nil, "the control listener wants the bearer token that was made at start")
  end
  if not ngx.re.find(ngx.var.uri, "^/client/v4/zones/[^/]+/purge_cache$", "jo") then
    return answer(404, nil, "only /client/v4/zones/{zone}/purge_cache is served here")
  end
  if ngx.req.get_method() ~= "POST" then
    ngx.header["Allow"] = "POST"
    return answer(405, nil, "purge_cache takes POST")
  end
  ngx.req.read_body()
  local body = cjson.decode(ngx.req.get_body_data() or "")
  if type(body) ~= "table" or body.purge_everything ~= true then
    return answer(400, nil, 'this edge purges everything at once: send {"purge_everything":true}')
  end
  return answer(200, { id = tostring(generation.raise()) })
end

return _M
