-- The id of a request, as in CF-Ray: 16 hexadecimal digits and a place. A counter: a random id for each request costs
-- as much as the rest of a response from the cache.
local bit = require("bit")
local settings = require("settings")

local _M = {}

local start, count = nil, 0

local function next_ray()
  if not start then
    math.randomseed(ngx.now() * 1000 + ngx.worker.pid())
    start = bit.tohex(math.random(0, 0x7fffffff))
  end
  count = count + 1
  return start .. bit.tohex(count) .. "-" .. settings.place
end

--- Returns the id of a request that has none yet.
_M.next = next_ray

--- Returns the id of this request; creates it on first use.
function _M.of(var)
  local ray = var.ray
  if ray == "" then
    ray = next_ray()
    var.ray = ray
  end
  return ray
end

return _M
