-- Reads responses in HTTP/1.1, RFC 9112. An answer has a socket, a buffer (bytes that were read but not yet used), and
-- after its head: framing, length, and left (bytes of the body, or of its chunk, that are still to be read).
local find, lower, match, sub = string.find, string.lower, string.match, string.sub

local _M = {}

local HEAD_BYTES_MAX = 64 * 1024
local FIELDS_MAX = 200
local INTERIM_MAX = 16
local CHUNK_LINE_BYTES_MAX = 4096
local READ_BYTES = 64 * 1024

-- Reads the bytes that are there; nil and a reason when there are no more.
local function fill(answer)
  local data, message, partial = answer.socket:receiveany(READ_BYTES)
  data = data or (partial ~= "" and partial) or nil
  if not data then return nil, message end
  answer.buffer = answer.buffer .. data
  return true
end

-- Returns everything up to and including the empty line that ends a head.
local function head_text(answer)
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

-- Returns the number that Content-Length says, or nil and a reason.
local function length_of(lines)
  local length
  -- RFC 9112 §6.3, 5: the same number, repeated in a list or on several lines, may count as one.
  for _, line in ipairs(lines) do
    for member in string.gmatch(line, "[^,]+") do
      local digits = match(member, "^%s*(%d+)%s*$")
      if not digits or #digits > 15 or length and digits ~= length then
        return nil, "its Content-Length is malformed"
      end
      length = digits
    end
  end
  if not length then return nil, "its Content-Length is malformed" end
  return tonumber(length)
end

-- How the body ends, RFC 9112 §6.3: "none" (and, after a HEAD, the number of bytes of a GET), "chunked", "length" (and
-- the number of bytes) or "close".
local function framing(method, status, fields)
  local coding, lengths = fields["transfer-encoding"], fields["content-length"]
  if status == 204 or status == 304 or method == "HEAD" and (coding or not lengths) then return "none" end
  if coding then
    if #coding ~= 1 or lower(coding[1]) ~= "chunked" then return nil, "its transfer coding is not known" end
    return "chunked"
  end
  if not lengths then return "close" end
  local length, why = length_of(lengths)
  if not length then return nil, why end
  return method == "HEAD" and "none" or "length", length
end

-- Whether the connection can be used again after this answer, RFC 9112 §9.3.
local function keeps_alive(answer, minor)
  local fields = answer.fields
  if answer.framing == "close" or fields["transfer-encoding"] and fields["content-length"] then return false end
  local says = fields.connection and lower(table.concat(fields.connection, ",")) or ""
  if minor == "1" then return not find(says, "close", 1, true) end
  return find(says, "keep-alive", 1, true) ~= nil
end

--- Reads the head of the final response to a request with this method.
-- Returns true and sets status, headers ({name, value} in their order), fields (lower-case name → lines), framing,
-- length (nil: unknown), said_length (what a GET would get, after a HEAD), left and keep (the connection can be used
-- again); or returns nil and a reason.
function _M.read_head(answer, method)
  for _ = 0, INTERIM_MAX do
    local head, why = head_text(answer)
    if not head then return nil, why end
    local status, headers, minor = parse_head(head)
    if not status then return nil, headers end
    answer.status = status
    if status == 101 then return nil, "it switched protocols" end
    if status >= 200 then
      answer.headers, answer.fields = headers, group(headers)
      answer.framing, answer.length = framing(method, status, answer.fields)
      if not answer.framing then return nil, answer.length end
      if answer.framing == "none" then answer.said_length, answer.length = answer.length, nil end
      answer.left, answer.keep = answer.length, keeps_alive(answer, minor)
      return true
    end
  end
  return nil, "it sent too many interim answers"
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

-- Reads and drops the trailer fields. Returns nil, and a reason when they cannot be read.
local function drop_trailer(answer)
  local bytes = 0
  repeat
    local line, message = read_line(answer)
    if not line then return nil, message end
    bytes = bytes + #line
    if bytes > HEAD_BYTES_MAX then return nil, "its trailer is too long" end
  until line == ""
  return nil, nil
end

local function read_chunked(answer)
  if not answer.left or answer.left == 0 then
    local line, message = read_line(answer)
    if not line then return nil, message end
    local size = match(line, "^(%x+)[ \t]*$") or match(line, "^(%x+)[ \t]*;")
    if not size or #size > 12 then return nil, "its chunked body is malformed" end
    answer.left = tonumber(size, 16)
    if answer.left == 0 then return drop_trailer(answer) end
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

--- Returns the next piece of the body; nil at its end; nil and a reason when it is cut short.
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

--- Whether the next piece of the body has yet to arrive.
function _M.dry(answer)
  if answer.framing == "chunked" and answer.left == 0 then return not find(answer.buffer, "\n", 1, true) end
  return answer.buffer == "" and answer.left ~= 0
end

return _M
