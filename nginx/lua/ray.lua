-- The id of a request, as in CF-Ray: sixteen hexadecimal digits and a place. Counted, not random: a random one for each request
-- costs as much as the rest of answering from the cache.
local bit = require("bit")

local _M = {}

local PLACE = "-LJU"

local start, count = nil, 0

local function next_ray()
  if not start then
    math.randomseed(ngx.now() * 1000 + ngx.worker.pid())
    start = bit.tohex(math.random(0, 0x7fffffff))
  end
  count = count + 1
  return start .. bit.tohex(count) .. PLACE
end

--- This request's; made when it is asked for first.
function _M.of(var)
  local ray = var.ray
  if ray == "" then
    ray = next_ray()
    var.ray = ray
  end
  return ray
end

return _M
