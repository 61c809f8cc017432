-- Mutual exclusion between workers, in shared memory. It may yield, so not before a worker's first request.
local settings = require("settings")
local dict = ngx.shared.journal

local _M = {}

-- A holder that was killed keeps the lock for so long.
local HELD_S = 5
local PAUSE_S = 0.001

--- Calls action(...) while no other worker does so under this name. With one worker there is nothing to exclude.
function _M.run(name, action, ...)
  if settings.workers == 1 then return action(...) end
  local key = "lock " .. name
  local began_s = ngx.now()
  while not dict:safe_add(key, true, HELD_S) and ngx.now() - began_s < 2 * HELD_S do ngx.sleep(PAUSE_S) end
  local done, message = pcall(action, ...)
  dict:delete(key)
  if not done then error(message, 0) end
end

return _M
