-- What this edge knows of the origin's purge log (follower.lua reads it), for all workers. While the edge has a lease,
-- the marks of purges.lua cover each edit that was acknowledged earlier than the bound before now.
-- Without the setting `follow` there is no log, and nothing here has an effect.
local ffi = require("ffi")
local dict = ngx.shared.purge_log

local C = ffi.C

local _M = {}

-- POSIX.1-2017, clock_gettime. CLOCK_BOOTTIME of Linux is the same in all processes, nobody can set it, and it goes on
-- while the machine sleeps.
ffi.cdef([[
  typedef struct { long seconds, nanoseconds; } stevec_timespec;
  int clock_gettime(int, stevec_timespec *);
]])
local CLOCK_BOOTTIME = 7
local time = ffi.new("stevec_timespec")

-- Clocks of two machines differ in speed by less.
local OWN_PART = 0.99

--- Milliseconds of a clock that only runs.
function _M.now_ms()
  C.clock_gettime(CLOCK_BOOTTIME, time)
  return tonumber(time.seconds) * 1000 + tonumber(time.nanoseconds) / 1e6
end

--- Whether this edge may answer with a stored response of a wiki with a bound, without asking.
function _M.is_leased()
  local until_ms = dict and dict:get("until_ms")
  return until_ms ~= nil and _M.now_ms() < until_ms
end

--- Returns the position up to which purges are marked, or just being marked; nil when none is known.
function _M.reached()
  return dict and dict:get("reached")
end

--- Returns the position up to which purges are marked, or nil.
function _M.position()
  return dict:get("position")
end

--- Whether what the origin sent covers all purges that were marked when its fetch began. It may come from another
-- process of the wiki than the log does, and that process may be behind.
-- reached: at the time when the fetch took the purge clock, or nil; position: the response's, or nil
function _M.covers(reached, position)
  return not reached or position ~= nil and position >= reached
end

--- Called before the purges up to a position are marked: a fetch that takes the purge clock after a mark finds it.
-- Returns false for an answer that a later one has overtaken: during a reload two workers follow.
-- anew: the log is another one, or not known before this position
function _M.reach(position, anew)
  local reached = dict:get("reached")
  if reached and position < reached and not anew then return false end
  dict:set("reached", position)
  return true
end

--- Called after it. certified_ms: on this clock; bound_ms: of the wiki
function _M.lease(position, certified_ms, bound_ms)
  dict:set("position", position)
  dict:set("until_ms", certified_ms + bound_ms * OWN_PART)
end

return _M
