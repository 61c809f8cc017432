-- Whether a request has a header that needs more than sending the stored response; src/request-headers.js lists these.
-- One look at each header that the request has: a variable of nginx for each of some thirty names costs more.
local bit = require("bit")
local ffi = require("ffi")
local nginx = require("nginx_api")
local settings = require("settings")

local band, bor, lshift = bit.band, bit.bor, bit.lshift

local _M = {}

-- Marks by length, first and last character of a name. Another name with the same three only takes the longer way.
local MARKS = 2 ^ 15
local marks = ffi.new("uint8_t[?]", MARKS)

local function mark_of(bytes, first, last)
  return bor(band(bytes, 31), lshift(band(first, 31), 5), lshift(band(last, 31), 10))
end

-- The lower five bits of a letter are the same in both cases.
local function is_unusual(name)
  local bytes = tonumber(name.len)
  return bytes == 0 or marks[mark_of(bytes, name.data[0], name.data[bytes - 1])] ~= 0
end

-- Unrolled: LuaJIT does not compile a loop of few iterations, nor the code around it.
local HEADERS_MAX = 32
local is_each_plain = (function()
  local steps = {}
  for step = 1, HEADERS_MAX do
    steps[step] = string.format(
      "if count < %d then return true end if is_unusual(fields[%d].key) then return false end", step, step - 1
    )
  end
  local code = "local is_unusual = ... return function(fields, count) %s return true end"
  return assert(loadstring(string.format(code, table.concat(steps, " "))))(is_unusual)
end)()

--- Returns whether the request has none of them; false for one with more than 32 headers.
function _M.is_plain(request)
  local fields, count = nginx.fields(request, HEADERS_MAX)
  return fields ~= nil and is_each_plain(fields, count)
end

--- Before the first request.
function _M.init()
  for _, name in ipairs(settings.unusual_headers) do
    marks[mark_of(#name, string.byte(name), string.byte(name, -1))] = 1
  end
end

return _M
