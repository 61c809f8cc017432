-- A change of a key that depends on what it had is made by one worker at a time.
local settings = require("settings")
local dict = ngx.shared.flights

local _M = {}

local PAUSE_S = 0.001

-- A worker that is killed holds a key for so long.
local HELD_S = 2

-- Returns whether another worker changes the key now. Without room for the claim, none is known to.
local function is_held(name)
  local taken, why = dict:safe_add(name, true, HELD_S)
  return not taken and why == "exists"
end

local function change_and_release(name, change, ...)
  local done, result, reason = pcall(change, ...)
  dict:delete(name)
  if not done then error(result, 0) end
  return result, reason
end

--- Returns what change(...) returns; nil and a reason, without the change, when another worker changes the key now.
function _M.run(key, change, ...)
  if settings.workers == 1 then return change(...) end
  local name = "\0claim " .. key
  if is_held(name) then return nil, "replaced meanwhile" end
  return change_and_release(name, change, ...)
end

--- The same after the other worker's change. It yields.
function _M.wait(key, change, ...)
  if settings.workers == 1 then return change(...) end
  local name = "\0claim " .. key
  while is_held(name) do ngx.sleep(PAUSE_S) end
  return change_and_release(name, change, ...)
end

return _M
