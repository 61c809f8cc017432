-- The generation is part of every cache key; raising it empties the cache for all requests that start afterwards.
local dict = ngx.shared.generation

local _M = {}

function _M.init()
  -- safe_add keeps the value over a reload; the clock makes it larger than any value of an earlier process.
  dict:safe_add("all", math.floor(ngx.now() * 1000))
end

--- Returns the part of the key.
function _M.current()
  return dict:get("all")
end

--- Executes a purge call for control.lua.
function _M.purge(body, soft)
  if body.purge_everything ~= true or soft then
    return nil, 400, 'this cache purges everything at once: send {"purge_everything":true}'
  end
  dict:incr("all", 1)
  return true
end

return _M
