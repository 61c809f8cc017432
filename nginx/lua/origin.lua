-- Sends requests to the origin. nginx's own proxy takes a 103 for the final response and does not tell a filter whether
-- a body is complete; this client knows both.
local connection = require("connection")
local http1 = require("http1")

local _M = {}

-- Shorter than any origin keeps an idle connection, or a request meets a closing one; Node's default is 5 s.
local IDLE_MS = 4000
local READ_BYTES = 64 * 1024
-- RFC 9110 §9.2.2: a request with these methods may be sent again when its connection turns out to be closed.
local REPEATABLE = { GET = true, HEAD = true, OPTIONS = true }

-- body: {text} or {file}
local function send_body(socket, body)
  if body.text then return socket:send(body.text) end
  local file, message = io.open(body.file, "rb")
  if not file then return nil, message end
  local done = true
  while done do
    local data = file:read(READ_BYTES)
    if not data then break end
    done, message = socket:send(data)
  end
  file:close()
  return done, message
end

local function attempt(method, uri, host, lines, body)
  local repeatable = REPEATABLE[method]
  local socket, message = connection.connect(not repeatable)
  if not socket then return nil, message, "connect" end
  local reused = socket:getreusedtimes() > 0
  local answer = { socket = socket, buffer = "", single = not repeatable }
  local function fail(why)
    socket:close()
    -- The origin closed the connection while it was idle, without a response: a GET may be sent again, RFC 9112 §9.3.1.
    local silent = answer.buffer == "" and not answer.status and why ~= "timeout"
    return nil, why, reused and silent and "again" or "answer"
  end

  local start = method .. " " .. uri .. " HTTP/1.1\r\nHost: " .. host .. "\r\n"
  local sent, why = socket:send(start .. table.concat(lines, "\r\n") .. "\r\n\r\n")
  if not sent then return fail(why) end
  -- An origin may refuse a body before it has read it: its response is there although the rest cannot be sent.
  if body and not send_body(socket, body) then answer.single = true end
  local read
  read, why = http1.read_head(answer, method)
  if not read then return fail(why) end
  return answer
end

--- Sends a request and reads the response head.
-- Returns the answer, see http1.lua, or nil, why, and where it failed: "connect" or "answer".
-- body: nil, {text} or {file}; `lines` contain its length
function _M.fetch(method, uri, host, lines, body)
  local answer, why, where = attempt(method, uri, host, lines, body)
  if where == "again" then answer, why, where = attempt(method, uri, host, lines, body) end
  if where == "again" then where = "answer" end
  return answer, why, where
end

--- After the whole body: keeps the connection for the next request, unless more bytes follow the body.
function _M.release(answer)
  if answer.keep and answer.buffer == "" and not answer.single then
    answer.socket:setkeepalive(IDLE_MS)
  else
    answer.socket:close()
  end
end

--- Instead of the rest of the body.
function _M.abandon(answer)
  answer.socket:close()
end

return _M
