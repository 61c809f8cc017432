-- Sends a request to the origin as it is and relays the response uncached.
local cache_statuses = require("cache_status")
local http1 = require("http1")
local invalidation = require("invalidation")
local origin = require("origin")
local reply = require("reply")
local requests = require("request")

local _M = {}

-- RFC 9110 §8.6: requests with these methods send a Content-Length even without a body.
local BODY_EXPECTED = { POST = true, PUT = true, PATCH = true }

-- Returns the header lines for the origin, and the body: nil, {text} or {file}.
local function forwarded(request)
  local lines = requests.forwarded_lines(request, true)
  if (request.method == "GET" or request.method == "HEAD") and not request.with_body then return lines end
  local body, bytes = requests.body()
  if body or request.with_body or BODY_EXPECTED[request.method] then lines[#lines + 1] = "Content-Length: " .. bytes end
  return lines, body
end

local function relay(answer, request, cache_status)
  reply.head(answer, request)
  local header = ngx.header
  header["CF-Cache-Status"] = cache_status
  cache_statuses.add_of_origin(request, answer.status)
  local length = answer.length or answer.said_length
  if length then header["Content-Length"] = length end
  ngx.send_headers()
  if answer.framing == "none" then return origin.release(answer) end
  if reply.pieces(function() return http1.read(answer) end, function() return http1.dry(answer) end) then
    return origin.release(answer)
  end
  origin.abandon(answer)
end

--- Answers the request; `cache_status` is the reported one.
function _M.pass(request, cache_status)
  local var, lines, body = ngx.var, forwarded(request)
  var.cache_status = cache_status
  local started_s = ngx.now()
  local answer, why = origin.fetch(request.method, request.uri, request.host, lines, body)
  ngx.update_time()
  var.origin_duration_s = string.format("%.3f", ngx.now() - started_s)
  if not answer then
    return reply.fail({ status = why == "timeout" and 504 or 502, why = why }, request, cache_status)
  end
  var.origin_status = answer.status
  invalidation.invalidate(request, answer)
  relay(answer, request, cache_status)
end

return _M
