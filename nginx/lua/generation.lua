-- The generation is part of every cache key; raising it empties the cache for all requests that start afterwards.
local dict = ngx.shared.generation

local _M = {}

function _M.init()
  -- safe_add keeps the value over a reload; the clock makes it larger than any value of an earlier process.
  dict:safe_add("all", math.floor(ngx.now() * 1000))
end

function _M.current()
  return dict:get("all")
end

function _M.raise()
  return dict:incr("all", 1)
end

return _M
