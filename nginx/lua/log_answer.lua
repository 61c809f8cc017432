-- What a purge log answers, see follower.lua: reads it, and applies it to this edge. No I/O.
local cjson = require("cjson.safe")
local purge_log = require("purge_log")
local purges = require("purges")

local _M = {}

local POSITION = "^%x+$"
local POSITION_CHARS = 16
local BOUND_MAX_MS = 60000

--- Returns position, certified_ms, bound_ms, and tags or everything; nil for a text that is no such answer.
function _M.decode(text)
  local said = cjson.decode(text)
  local well_formed = type(said) == "table" and type(said.position) == "string" and #said.position == POSITION_CHARS
    and string.find(said.position, POSITION) and type(said.certified_ms) == "number"
    and type(said.bound_ms) == "number" and (said.everything == true or type(said.tags) == "table")
  if not well_formed then return nil end
  said.bound_ms = math.min(said.bound_ms, BOUND_MAX_MS)
  return said
end

--- Marks what it names as purged, and takes its lease. asked_ms: when the request was sent, see purge_log.now_ms
function _M.apply(said, asked_ms)
  if not purge_log.reach(said.position, said.everything) then return end
  -- Stale, not void: an answer that nothing has changed is enough.
  if said.everything then purges.everything(true) end
  for _, tag in ipairs(said.tags or {}) do purges.tag(tag, false) end
  purge_log.lease(said.position, asked_ms + said.certified_ms, said.bound_ms)
end

return _M
