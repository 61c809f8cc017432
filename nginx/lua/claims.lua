-- A change of a key that depends on what it had is made by one worker at a time.
local lock = require("lock")
local settings = require("settings")
local dict = ngx.shared.flights

local _M = {}

local PAUSE_S = 0.001

-- A worker that is killed holds a key for so long.
local HELD_S = 2

local function change_and_release(name, token, change, ...)
  local done, result, reason = pcall(change, ...)
  lock.release(dict, name, token)
  if not done then error(result, 0) end
  return result, reason
end

--- Returns what change(...) returns; nil and a reason, without the change, when another worker changes the key now.
-- Without room for the claim, no other is known to.
function _M.run(key, change, ...)
  if settings.workers == 1 then return change(...) end
  local name = "\0claim " .. key
  local token, why = lock.take(dict, name, HELD_S)
  if why == "exists" then return nil, "replaced meanwhile" end
  return change_and_release(name, token, change, ...)
end

--- The same after the other worker's change. It yields.
function _M.wait(key, change, ...)
  if settings.workers == 1 then return change(...) end
  local name = "\0claim " .. key
  local token, why = lock.take(dict, name, HELD_S)
  while why == "exists" do
    ngx.sleep(PAUSE_S)
    token, why = lock.take(dict, name, HELD_S)
  end
  return change_and_release(name, token, change, ...)
end

return _M
