-- The fast path of a hot cache: a plain GET of a fresh entry in memory. No closures and no patterns, because LuaJIT
-- runs those in its interpreter.
local compression = require("compression")
local ffi = require("ffi")
local freshness = require("freshness")
local rays = require("ray")
local requests = require("request")
local store = require("store")

local floor = math.floor
-- What ngx.now calls. LuaJIT blacklists functions of Lua that other paths call often and cannot compile, and then the
-- fast path would fall apart there.
local now_s = ffi.C.ngx_http_lua_ffi_now

local _M = {}

-- Unrolled: LuaJIT does not compile a loop of few iterations, nor the code around it.
local UNROLLED_MAX = 32
local set_each = (function()
  local steps = {}
  for step = 1, UNROLLED_MAX do
    steps[step] = string.format("if count < %d then return end header[names[%d]] = values[%d]", step, step, step)
  end
  return assert(loadstring("return function(header, names, values, count) " .. table.concat(steps, " ") .. " end"))()
end)()

--- Returns whether the request was answered. It never is with a header of $unusual, which src/request-headers.js lists.
function _M.answer(var)
  if var.unusual ~= "" or var.request_method ~= "GET" then return false end
  local host = requests.host(var)
  if not host then return false end
  local entry = store.find_plain(host .. var.request_uri, var)
  if not entry or entry.stale_since_s or entry.always_validate then return false end
  if entry.no_vary_search and entry.uri ~= var.request_uri then return false end
  if not entry.names or #entry.names >= UNROLLED_MAX or not entry.body or entry.status == 204 then return false end
  local age_s = freshness.age_s(entry, now_s())
  if age_s >= entry.lifetime_s then return false end
  local sent = entry
  if entry.compressible then
    sent = compression.form(entry, var.http_accept_encoding, var.http_available_dictionary) or entry
  end
  local age, header, names, values = string.format("%d", floor(age_s)), ngx.header, sent.names, sent.values
  var.cache_status, var.age_s = "HIT", age
  if entry.revision ~= "" then var.page_revision = entry.revision end
  ngx.status = entry.status
  set_each(header, names, values, #names)
  header["CF-Cache-Status"] = "HIT"
  header["Age"] = age
  local status = entry.hit_prefix
  if status then header["Cache-Status"] = status .. string.format("%d", floor(entry.lifetime_s - age_s)) end
  header["CF-Ray"] = rays.of(var)
  header["Content-Length"] = sent.body_bytes
  ngx.print(sent.body)
  return true
end

return _M
