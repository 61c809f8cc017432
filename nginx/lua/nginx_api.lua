-- What nginx has, as pointers and lengths, by the functions that resty.core declares and calls: each string of Lua
-- costs a look into a table of all strings, and later the garbage collector. Only for the fast path.
local base = require("resty.core.base")
local ffi = require("ffi")
require("resty.core.hash")
require("resty.core.misc")
require("resty.core.request")
require("resty.core.response")
require("resty.core.shdict")
require("resty.core.var")

local C = ffi.C

local _M = {}

local DECLINED = -5
local TYPE_STRING = 4
local NAME_BYTES_MAX, ERROR_BYTES = 256, 256
local VALUE_BYTES_MAX = 4096
local FIELDS_MAX = 32

local error_text, size = base.get_errmsg_ptr(), ffi.new("size_t[1]")
local lower_name = ffi.new("unsigned char[?]", NAME_BYTES_MAX + ERROR_BYTES)
local lower_chars = ffi.cast("char *", lower_name)
local found_at, found_size = ffi.new("char *[1]"), ffi.new("size_t[1]")
local value, value_at = ffi.new("unsigned char[?]", VALUE_BYTES_MAX), ffi.new("unsigned char *[1]")
local value_type, number = ffi.new("int[1]"), ffi.new("double[1]")
local fields, truncated = ffi.new("ngx_http_lua_ffi_table_elt_t[?]", FIELDS_MAX + 1), ffi.new("int[1]")
local flags, is_stale = ffi.new("int[1]"), ffi.new("int[1]")

--- Returns the request that runs, for the functions below.
_M.request = base.get_request

--- Returns a pointer to the value of a variable, and its bytes; nil and 0 when it has none.
function _M.variable(request, name)
  if C.ngx_http_lua_ffi_var_get(request, name, #name, lower_chars, 0, found_at, found_size, error_text) ~= 0 then
    return nil, 0
  end
  return found_at[0], tonumber(found_size[0])
end

--- Returns the header fields of the request, each with key and value (len, data), valid until the next call, and how
-- many there are; nil when there are more than `max`, up to 32.
function _M.fields(request, max)
  local count = C.ngx_http_lua_ffi_req_get_headers_count(request, FIELDS_MAX + 1, truncated)
  if count > max or C.ngx_http_lua_ffi_req_get_headers(request, fields, count, 1) ~= 0 then return nil, 0 end
  return fields, count
end

--- Sets a variable. from: a pointer to the value, or a string
function _M.set_variable(request, name, from, bytes)
  size[0] = ERROR_BYTES
  local done = C.ngx_http_lua_ffi_var_set(request, name, #name, lower_name, from, bytes, lower_name + #name, size)
  if done ~= 0 then error("the variable " .. name .. " cannot be set") end
end

--- Sets a header field of the response. name: a pointer to characters; from: a pointer to the value
function _M.set_field(request, name, name_bytes, from, bytes)
  local done = C.ngx_http_lua_ffi_set_resp_header(request, name, name_bytes, 0, from, bytes, nil, 0, 1, error_text)
  if done ~= 0 and done ~= DECLINED then error("a header field cannot be set") end
end

--- Sets the status of the response.
function _M.set_status(request, status)
  C.ngx_http_lua_ffi_set_resp_status(request, status)
end

--- Returns the CRC-32 of bytes, a number.
_M.crc32 = C.ngx_http_lua_ffi_crc32_short

--- Returns what `look` takes for a shared dictionary.
function _M.zone(dict)
  return C.ngx_http_lua_ffi_shdict_udata_to_zone(dict[1])
end

--- Returns a pointer to a string in a shared dictionary, valid until the next call, and its bytes; nil and 0 for none,
-- and for one of more than 4 KiB.
function _M.look(zone, key, key_bytes)
  value_at[0], size[0] = value, VALUE_BYTES_MAX
  if C.ngx_http_lua_ffi_shdict_get(zone, key, key_bytes, value_type, value_at, size, number, flags, 0, is_stale,
    error_text) ~= 0 then
    return nil, 0
  end
  if value_type[0] ~= TYPE_STRING then return nil, 0 end
  if value_at[0] ~= value then
    C.free(value_at[0])
    return nil, 0
  end
  return value, tonumber(size[0])
end

return _M
