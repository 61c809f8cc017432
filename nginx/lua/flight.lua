-- Flights: the fetches that run, and the requests that wait for them. A flight outlives the client that started it.
-- Those of other workers are in remote.lua; for them a flight that others may wait for has a lease.
-- A flight has the options of fetch.lua, and
-- progress_s: when something last arrived; begun: its timer has run
-- subject: what purges are matched against
-- outcome, at its end: "stored", "superseded" (a newer one is stored, or this one was purged meanwhile), "unshared"
-- (each waiting request must fetch for itself) or "failed"
-- failure (status, why): the origin gave no usable response
-- answer: the origin's response; bypass: it forbids storing it; result: the entry that a 304 confirmed
-- spool, growing: see body_stream.lua
local semaphore = require("ngx.semaphore")
local leases = require("lease")
local purge_log = require("purge_log")
local purges = require("purges")
local remote = require("remote")
local uncacheable = ngx.shared.uncacheable

local _M = {}

--- When a fetch brings nothing for this long, one waiting request starts a new fetch and the others wait for that one.
_M.PATIENCE_S = 5
-- How long a key whose responses could not be shared skips collapsing; then one request tries it again.
local UNCACHEABLE_S = 10
-- How long a body of unknown length is not stored after one has grown too large: to find out costs a part of the cache.
local TOO_LARGE_S = 600
local TOO_LARGE = "too large"
--- nginx runs a timer at once, or drops it when no connection is left; mostly only its log reports the drop.
_M.BEGIN_PATIENCE_S = 1

local flights = {}

--- Registers a flight: completes its options; other requests find it if it is `collapsing`.
-- Returns false when another worker has just begun a fetch of the key.
function _M.begin(flight)
  local request = flight.request
  flight.clock, flight.progress_s = purges.clock(), ngx.now()
  -- After the clock, see purge_log.lua.
  flight.log_reached = purge_log.reached()
  -- The tags are unknown before the response, so it may have any.
  flight.subject = {
    clock = flight.clock, host = request.host, host_name = request.host_name, uri = request.uri,
    tags = {}, any_tag = true, shares_address = true,
  }
  flight.changed = semaphore.new(0)
  if not flight.collapsing then return true end
  if not leases.take(flight) then return false end
  flights[flight.key] = flight
  return true
end

--- Notes that something has arrived. grown: the file that others read along has more bytes
function _M.progress(flight, grown)
  flight.progress_s = ngx.now()
  leases.publish(flight, grown)
end

-- Whether a purge since the start of the fetch may concern its response.
local function may_be_purged(flight)
  local void, stale_since_s = purges.judge(flight.subject)
  return void or stale_since_s ~= nil
end

--- Whether responses for this key can be shared, as far as known.
function _M.shareable(key)
  return not uncacheable:get(key)
end

--- Notes whether responses for the flight's key can be shared.
function _M.note_shareable(flight, shareable)
  -- `add` keeps a mark of note_too_large.
  if shareable then uncacheable:delete(flight.key) else uncacheable:add(flight.key, true, UNCACHEABLE_S) end
end

--- Notes that the body has grown larger than the cache may hold.
function _M.note_too_large(flight)
  uncacheable:set(flight.key, TOO_LARGE, TOO_LARGE_S)
end

--- Whether a body of this key has grown too large.
function _M.is_too_large(key)
  return uncacheable:get(key) == TOO_LARGE
end

--- Wakes all requests that wait for a change.
function _M.wake(flight)
  local waiting = -flight.changed:count()
  if waiting > 0 then flight.changed:post(waiting) end
end

--- Lets another fetch take over the key; this one continues for the client that started it.
function _M.detach(flight)
  if flights[flight.key] == flight then flights[flight.key] = nil end
  if flight.remote and not flight.outcome then leases.break_off(flight.key, flight.held) end
  leases.release(flight, flight.outcome)
end

--- Sets the outcome, once.
function _M.finish(flight, outcome)
  if flight.outcome then return end
  flight.outcome = outcome
  _M.detach(flight)
  _M.wake(flight)
end

--- Returns the running fetch of this key that a request may wait for, in this or another worker.
function _M.find(key, request)
  local flight = flights[key]
  if not flight then
    flight = remote.find(key, request, _M.finish, _M.wake)
    flights[key] = flight
  end
  if not flight then return nil end
  if may_be_purged(flight) then
    -- Its response is outdated: the next request fetches it again, whichever worker began this fetch.
    _M.detach(flight)
    return nil
  end
  if flight.begun or ngx.now() - flight.progress_s < _M.BEGIN_PATIENCE_S then return flight end
  _M.finish(flight, "unshared")
end

--- For other requests: waits for a change, at most until nothing has arrived for `patience_s`.
-- Returns whether something may have changed.
function _M.wait_change(flight, patience_s)
  -- A wait below 1 ms does not yield, and the worker's clock then stands still: the caller would loop forever.
  local left_ms = math.floor((flight.progress_s + patience_s - ngx.now()) * 1000 + 0.5)
  if left_ms < 1 then
    -- The clock has to go on, also when each look finds the same fetch.
    if flight.remote then ngx.sleep(0.001) end
    return false
  end
  flight.changed:wait(left_ms / 1000)
  return true
end

--- Returns the outcome, or nil when nothing arrives for PATIENCE_S.
function _M.wait_end(flight)
  while not flight.outcome and _M.wait_change(flight, _M.PATIENCE_S) do end
  return flight.outcome
end

return _M
