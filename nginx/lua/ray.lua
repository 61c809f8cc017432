-- The id of a request, as in CF-Ray: 16 hexadecimal digits and a place. A counter: a random id for each request costs
-- as much as the rest of a response from the cache.
local ffi = require("ffi")
local texts = require("number_text")
local settings = require("settings")

local _M = {}

local START_BYTES, COUNT_BYTES = 8, 8
local buffer, bytes, count = nil, 0, 0

local function begin()
  math.randomseed(ngx.now() * 1000 + ngx.worker.pid())
  local end_text = "-" .. settings.place
  bytes = START_BYTES + COUNT_BYTES + #end_text
  buffer = ffi.new("uint8_t[?]", bytes)
  texts.hex(buffer, math.random(0, 0x7fffffff))
  ffi.copy(buffer + START_BYTES + COUNT_BYTES, end_text, #end_text)
end

--- Returns the id of a request that has none yet: a pointer, valid until the next call, and its bytes.
function _M.next()
  if not buffer then begin() end
  count = count + 1
  texts.hex(buffer + START_BYTES, count)
  return buffer, bytes
end

--- Returns the id of this request; creates it on first use.
function _M.of(var)
  local ray = var.ray
  if ray == "" then
    ray = ffi.string(_M.next())
    var.ray = ray
  end
  return ray
end

return _M
