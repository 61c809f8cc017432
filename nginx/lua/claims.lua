-- A change of a key that depends on what it had is made by one worker at a time.
local settings = require("settings")
local dict = ngx.shared.flights

local _M = {}

-- A worker that is killed holds a key for so long.
local HELD_S = 2

--- Returns what change(...) returns; nil and a reason, without the change, when another worker changes the key now.
function _M.run(key, change, ...)
  if settings.workers == 1 then return change(...) end
  local name = "\0claim " .. key
  local taken, why = dict:add(name, true, HELD_S)
  if not taken and why == "exists" then return nil, "replaced meanwhile" end
  local done, result, reason = pcall(change, ...)
  dict:delete(name)
  if not done then error(result, 0) end
  return result, reason
end

return _M
