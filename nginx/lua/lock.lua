-- Mutual exclusion between workers, in shared memory.
local settings = require("settings")
local journal = ngx.shared.journal

local _M = {}

-- A holder that was killed keeps the lock for so long.
local HELD_S = 5
local PAUSE_S = 0.001

local count = 0

--- Takes a lock for at most `held_s`. Returns its token; nil and a reason of ngx.shared, "exists" when it is held.
function _M.take(dict, name, held_s)
  count = count + 1
  local token = ngx.worker.pid() .. " " .. count
  local taken, why = dict:safe_add(name, token, held_s)
  return taken and token, why
end

--- Gives it back. After a stall another worker may have it: then nothing happens.
function _M.release(dict, name, token)
  if token and dict:get(name) == token then dict:delete(name) end
end

--- Runs action(...) while no other worker does so under this name. With one worker there is nothing to exclude. It may
-- yield, so not before a worker's first request.
function _M.run(name, action, ...)
  if settings.workers == 1 then return action(...) end
  local key, began_s = "lock " .. name, ngx.now()
  local token = _M.take(journal, key, HELD_S)
  while not token and ngx.now() - began_s < 2 * HELD_S do
    ngx.sleep(PAUSE_S)
    token = _M.take(journal, key, HELD_S)
  end
  local done, message = pcall(action, ...)
  _M.release(journal, key, token)
  if not done then error(message, 0) end
end

return _M
