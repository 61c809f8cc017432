-- One HTTP/1.1 request to the origin, RFC 9112. nginx's own proxy takes a 103 for the final response and does not tell
-- a filter whether a body is complete; this client knows both.
local settings = require("settings")

local find, lower, match, sub = string.find, string.lower, string.match, string.sub

local _M = {}

local CONNECT_MS, SEND_MS, READ_MS = 5000, 30000, 30000
-- Shorter than any origin keeps an idle connection, or a request meets a closing one; Node's default is 5 s.
local IDLE_MS, IDLE_CONNECTIONS = 4000, 256
local HEAD_BYTES_MAX = 64 * 1024
local FIELDS_MAX = 200
local INTERIM_MAX = 16
local CHUNK_LINE_BYTES_MAX = 4096
local READ_BYTES = 64 * 1024
-- RFC 9110 §9.2.2: a request with these methods may be sent again when its connection turns out to be closed.
local REPEATABLE = { GET = true, HEAD = true, OPTIONS = true }

-- Index of the address that worked last; it is tried first.
local preferred = 1

-- When a certificate is refused before the handshake has waited for the origin, lua-resty-core (socket.lua, up to
-- 0.1.25 at least) raises an assertion instead of returning an error.
local function handshake(socket)
  local ran, done, message = pcall(socket.sslhandshake, socket, nil, settings.origin_host, true)
  if not ran then return nil, "its certificate was refused" end
  return done, message
end

local function connect_to(address, fresh)
  local socket = ngx.socket.tcp()
  socket:settimeouts(CONNECT_MS, SEND_MS, READ_MS)
  -- No connection is ever returned to the pool "fresh", so this always opens a new one.
  local done, message = socket:connect(address, settings.origin_port, { pool_size = IDLE_CONNECTIONS, pool = fresh and "fresh" or nil })
  if done and settings.origin_tls and socket:getreusedtimes() == 0 then
    done, message = handshake(socket)
  end
  if not done then
    socket:close()
    return nil, message
  end
  return socket
end

local function connect(fresh)
  local addresses = settings.origin_addresses
  local first, message = preferred, nil
  for step = 0, #addresses - 1 do
    local index = (first + step - 1) % #addresses + 1
    local socket
    socket, message = connect_to(addresses[index], fresh)
    if socket then
      preferred = index
      return socket
    end
  end
  return nil, message
end

-- Reads the bytes that are there; nil and a reason when there are no more.
local function fill(answer)
  local data, message, partial = answer.socket:receiveany(READ_BYTES)
  data = data or (partial ~= "" and partial) or nil
  if not data then return nil, message end
  answer.buffer = answer.buffer .. data
  return true
end

-- Returns everything up to and including the empty line that ends a head.
local function read_head(answer)
  local from = 1
  while true do
    local stop = select(2, find(answer.buffer, "\r?\n\r?\n", from))
    if stop and stop <= HEAD_BYTES_MAX then
      local head = sub(answer.buffer, 1, stop)
      answer.buffer = sub(answer.buffer, stop + 1)
      return head
    end
    if #answer.buffer > HEAD_BYTES_MAX then return nil, "its header is too long" end
    from = math.max(1, #answer.buffer - 3)
    local done, message = fill(answer)
    if not done then return nil, message end
  end
end

-- Returns the status, the header lines as {name, value} in their order, and the minor version of HTTP.
local function parse_head(head)
  -- RFC 9110 §15: a status is at least 100. A lower one would count as an interim response.
  local minor, status = match(head, "^HTTP/1%.([01]) ([1-9]%d%d)[ \r\n]")
  if not minor then return nil, "it is not HTTP/1" end
  -- RFC 9112 §5.2: folded lines are joined.
  local at = find(head, "\n", 1, true) + 1
  local text = string.gsub(sub(head, at), "\r?\n[ \t]+", " ")
  local headers = {}
  for line in string.gmatch(text, "([^\n]+)\n") do
    line = string.gsub(line, "\r$", "")
    if line ~= "" then
      local name, value = match(line, "^([%w!#$%%&'*+%-.^_`|~]+)[ \t]*:[ \t]*(.-)[ \t]*$")
      if not name or find(value, "[%z\r]") then return nil, "its header is malformed" end
      if #headers == FIELDS_MAX then return nil, "its header has too many fields" end
      headers[#headers + 1] = { name, value }
    end
  end
  return tonumber(status), headers, minor
end

local function group(headers)
  local fields = {}
  for _, header in ipairs(headers) do
    local name = lower(header[1])
    local lines = fields[name]
    if lines then lines[#lines + 1] = header[2] else fields[name] = { header[2] } end
  end
  return fields
end

-- How the body ends, RFC 9112 §6.3: "none", "chunked", "length" (and the number of bytes) or "close".
local function framing(method, status, fields)
  if method == "HEAD" or status == 204 or status == 304 then return "none" end
  local coding, lengths = fields["transfer-encoding"], fields["content-length"]
  if coding then
    if #coding ~= 1 or lower(coding[1]) ~= "chunked" then return nil, "its transfer coding is not known" end
    return "chunked"
  end
  if lengths then
    local length = match(lengths[1], "^%d+$")
    -- RFC 9112 §6.3, 5: the same number, repeated in a list or on several lines, may count as one.
    for _, line in ipairs(lengths) do
      for member in string.gmatch(line, "[^,]+") do
        local digits = match(member, "^%s*(%d+)%s*$")
        if not digits or #digits > 15 or length and digits ~= length then return nil, "its Content-Length is malformed" end
        length = digits
      end
    end
    if not length then return nil, "its Content-Length is malformed" end
    return "length", tonumber(length)
  end
  return "close"
end

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
  local socket, message = connect(not repeatable)
  if not socket then return nil, message, "connect" end
  local reused = socket:getreusedtimes() > 0
  local answer = { socket = socket, buffer = "", single = not repeatable }
  local function fail(why)
    socket:close()
    -- The origin closed the connection while it was idle, without a response: a GET may be sent again, RFC 9112 §9.3.1.
    return nil, why, reused and answer.buffer == "" and not answer.status and why ~= "timeout" and "again" or "answer"
  end

  local request = method .. " " .. uri .. " HTTP/1.1\r\nHost: " .. host .. "\r\n" .. table.concat(lines, "\r\n") .. "\r\n\r\n"
  local sent, why = socket:send(request)
  if not sent then return fail(why) end
  -- An origin may refuse a body before it has read it: its response is there although the rest cannot be sent.
  if body and not send_body(socket, body) then answer.single = true end
  for _ = 0, INTERIM_MAX do
    local head
    head, why = read_head(answer)
    if not head then return fail(why) end
    local status, headers, minor = parse_head(head)
    if not status then return fail(headers) end
    answer.status = status
    if status == 101 then return fail("it switched protocols") end
    if status >= 200 then
      answer.headers, answer.fields = headers, group(headers)
      answer.framing, answer.length = framing(method, status, answer.fields)
      if not answer.framing then return fail(answer.length) end
      local connection = answer.fields.connection
      local says = connection and lower(table.concat(connection, ",")) or ""
      answer.keep = answer.framing ~= "close" and (minor == "1" and not find(says, "close", 1, true) or minor == "0" and find(says, "keep-alive", 1, true) ~= nil)
        and not (answer.fields["transfer-encoding"] and answer.fields["content-length"])
      answer.left = answer.length
      return answer
    end
  end
  return fail("it sent too many interim answers")
end

--- Sends a request and reads the response head.
-- Returns the answer, or nil, why, and where it failed: "connect" or "answer".
-- body: nil, {text} or {file}; `lines` contain its length
function _M.fetch(method, uri, host, lines, body)
  local answer, why, where = attempt(method, uri, host, lines, body)
  if where == "again" then answer, why, where = attempt(method, uri, host, lines, body) end
  if where == "again" then where = "answer" end
  return answer, why, where
end

local function read_line(answer)
  while true do
    local stop = find(answer.buffer, "\n", 1, true)
    if stop then
      local line = string.gsub(sub(answer.buffer, 1, stop - 1), "\r$", "")
      answer.buffer = sub(answer.buffer, stop + 1)
      return line
    end
    if #answer.buffer > CHUNK_LINE_BYTES_MAX then return nil, "a line of its chunked body is too long" end
    local done, message = fill(answer)
    if not done then return nil, message end
  end
end

local function take(answer, most)
  if answer.buffer == "" then
    local done, message = fill(answer)
    if not done then return nil, message end
  end
  local data = answer.buffer
  if #data > most then
    answer.buffer = sub(data, most + 1)
    return sub(data, 1, most)
  end
  answer.buffer = ""
  return data
end

local function read_chunked(answer)
  if not answer.left or answer.left == 0 then
    local line, message = read_line(answer)
    if not line then return nil, message end
    local size = match(line, "^(%x+)[ \t]*$") or match(line, "^(%x+)[ \t]*;")
    if not size or #size > 12 then return nil, "its chunked body is malformed" end
    answer.left = tonumber(size, 16)
    if answer.left == 0 then
      -- Trailer fields are read and dropped.
      local bytes = 0
      repeat
        line, message = read_line(answer)
        if not line then return nil, message end
        bytes = bytes + #line
        if bytes > HEAD_BYTES_MAX then return nil, "its trailer is too long" end
      until line == ""
      return nil, nil
    end
  end
  local data, message = take(answer, answer.left)
  if not data then return nil, message end
  answer.left = answer.left - #data
  if answer.left == 0 then
    local line
    line, message = read_line(answer)
    if not line then return nil, message end
    if line ~= "" then return nil, "its chunked body is malformed" end
  end
  return data
end

-- Returns the next piece of the body; nil at its end; nil and a reason when it is cut short.
function _M.read(answer)
  if answer.framing == "none" then return nil end
  if answer.framing == "chunked" then return read_chunked(answer) end
  if answer.framing == "length" then
    if answer.left == 0 then return nil end
    local data, message = take(answer, answer.left)
    if not data then return nil, message end
    answer.left = answer.left - #data
    return data
  end
  local data, message = take(answer, READ_BYTES)
  -- RFC 9112 §8: the end of the connection is the end of the body, unless there was an error.
  if not data and message == "closed" then return nil end
  return data, message
end

-- Whether the next piece of the body has yet to arrive.
function _M.dry(answer)
  if answer.framing == "chunked" and answer.left == 0 then return not find(answer.buffer, "\n", 1, true) end
  return answer.buffer == "" and answer.left ~= 0
end

-- After the whole body: keeps the connection for the next request, unless more bytes follow the body.
function _M.release(answer)
  if answer.keep and answer.buffer == "" and not answer.single then
    answer.socket:setkeepalive(IDLE_MS)
  else
    answer.socket:close()
  end
end

function _M.abandon(answer)
  answer.socket:close()
end

return _M
