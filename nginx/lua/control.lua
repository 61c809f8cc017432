-- The control listener of a cache. It speaks the format of Cloudflare's API, so that one client serves both:
-- https://developers.cloudflare.com/api/resources/cache/methods/purge/
local cjson = require("cjson.safe")

local _M = {}

-- Assembled by hand: Debian's cjson encodes an empty Lua table as {} and cannot produce [].
local ENVELOPE = '{"success":%s,"errors":[%s],"messages":[%s],"result":%s}'

local function answer(status, result, failure, message)
  local error = failure and cjson.encode({ code = status, message = failure }) or ""
  message, result = message and cjson.encode(message) or "", result and cjson.encode(result) or "null"
  local text = ENVELOPE:format(tostring(failure == nil), error, message, result)
  ngx.status = status
  ngx.header["Content-Type"] = "application/json"
  ngx.header["Content-Length"] = #text
  ngx.print(text)
end

-- Constant time: the duration does not reveal where the first difference is.
local function same(text, secret)
  if #text ~= #secret then return false end
  local difference = 0
  for position = 1, #secret do
    difference = bit.bor(difference, bit.bxor(text:byte(position), secret:byte(position)))
  end
  return difference == 0
end

local function read_body()
  ngx.req.read_body()
  local text = ngx.req.get_body_data()
  local file = not text and ngx.req.get_body_file()
  local handle = file and io.open(file, "rb")
  if handle then
    text = handle:read("*a")
    handle:close()
  end
  return cjson.decode(text or "")
end

--- Handles a request to the control listener. purge(body, soft) returns true, or nil, a status and a message.
function _M.handle(token, purge)
  if not same(ngx.var.http_authorization or "", "Bearer " .. token) then
    return answer(401, nil, "the control listener wants the bearer token that was made at start")
  end
  -- The client's base URL may end with the prefix of Cloudflare's API, or be the URL of this listener.
  local uri, method = string.gsub(ngx.var.uri, "^/client/v4/", "/"), ngx.req.get_method()
  if uri == "/user/tokens/verify" then
    if method ~= "GET" then
      ngx.header["Allow"] = "GET"
      return answer(405, nil, "tokens/verify takes GET")
    end
    local message = { code = 10000, message = "This API Token is valid and active" }
    return answer(200, { id = ngx.md5(token), status = "active" }, nil, message)
  end
  local action = uri:match("^/zones/[^/]+/([a-z_]+)$")
  if action ~= "purge_cache" and action ~= "invalidate_cache" then
    local message = "only /client/v4/zones/{zone}/purge_cache and /client/v4/user/tokens/verify are served here"
    return answer(404, nil, message)
  end
  if method ~= "POST" then
    ngx.header["Allow"] = "POST"
    return answer(405, nil, action .. " takes POST")
  end
  local body = read_body()
  if type(body) ~= "table" then return answer(400, nil, "the body is not a JSON object") end
  local soft = action == "invalidate_cache" or body.invalidate_cache == true
  local done, status, message = purge(body, soft)
  if not done then
    if status == 429 then ngx.header["Retry-After"] = "60" end
    return answer(status, nil, message)
  end
  return answer(200, { id = ngx.md5(ngx.var.request_id) })
end

return _M
