-- Fetches of other workers, as flights that the requests of this worker can wait for. nginx has no events between
-- workers, so one timer looks at shared memory for all of them, while there are any.
local semaphore = require("ngx.semaphore")
local leases = require("lease")
local settings = require("settings")

local _M = {}

-- Between two looks: short after a change, longer while nothing happens.
local LOOK_LEAST_S, LOOK_MAX_S = 0.002, 0.016
-- What waits for nothing is forgotten.
local IDLE_S = 60

-- A loop that has not looked for so long was dropped by nginx, or has ended by an error.
local LOST_S = 1

local all, loop, looked_s = {}, 0, 0

-- Ends it. outcome: nil when it is not known: the waiting requests look again
local function finish(flight, outcome, bytes)
  if flight.growing then
    flight.growing.bytes, flight.growing.ended = math.max(bytes or 0, flight.growing.bytes), true
  end
  flight.finish(flight, outcome or "superseded")
  return true
end

-- Returns whether it has changed.
local function update(flight)
  local held = flight.held
  local outcome, bytes, failure = leases.ended(held)
  if outcome then
    flight.failure = failure
    return finish(flight, outcome, bytes)
  end
  if leases.is_orphan(held) then
    leases.break_off(flight.key, held)
    return finish(flight)
  end
  local state = leases.read(flight.key)
  if not state or state.pid ~= held.pid or state.id ~= held.id then
    -- It has given its key away. Those that read along go on.
    state = flight.growing and leases.read_growing(held)
    if not state then
      outcome, bytes, flight.failure = leases.ended(held)
      return finish(flight, outcome, bytes)
    end
    flight.finish(flight, "superseded")
  end
  local changed = state.progress_s ~= flight.progress_s
  flight.progress_s = state.progress_s
  if state.segment > 0 and not flight.growing then
    local entry = leases.growing_entry(held)
    if entry then
      flight.growing = { entry = entry, segment = state.segment, length = state.length, bytes = state.bytes }
      flight.spool, changed = flight.growing, true
    end
  elseif flight.growing and state.bytes > flight.growing.bytes then
    flight.growing.bytes, changed = state.bytes, true
  end
  return changed
end

local function look(premature)
  local pause_s, this_loop = LOOK_LEAST_S, loop
  while not premature and next(all) and loop == this_loop do
    looked_s = ngx.now()
    ngx.sleep(pause_s)
    pause_s = math.min(pause_s * 1.3, LOOK_MAX_S)
    for flight in pairs(all) do
      local done, changed = pcall(update, flight)
      if not done then
        ngx.log(ngx.ERR, "a fetch of another worker is given up: ", changed)
        changed = finish(flight)
      end
      if changed then
        pause_s = LOOK_LEAST_S
        flight.wake(flight)
      end
      if ngx.now() - flight.progress_s > IDLE_S then finish(flight) end
      if flight.outcome and (not flight.growing or flight.growing.ended) then all[flight] = nil end
    end
  end
  if loop == this_loop then looked_s = 0 end
end

--- Returns the fetch of another worker as a flight, or nil when there is none.
-- finish, wake: those of flight.lua
function _M.find(key, request, finish, wake)
  if settings.workers == 1 then return nil end
  local state = leases.read(key)
  if not state or state.pid == ngx.worker.pid() then return nil end
  local flight = {
    key = key, held = state, begun = true, remote = true, progress_s = state.progress_s,
    changed = semaphore.new(0), finish = finish, wake = wake,
    -- What it fetches may have any tag, and is for any URL of the key.
    subject = {
      clock = state.clock, host = request.host, host_name = request.host_name, uri = request.uri,
      no_vary_search = request.no_vary_search, tags = {}, any_tag = true, shares_address = true,
    },
  }
  all[flight] = true
  if ngx.now() - looked_s > LOST_S then
    loop, looked_s = loop + 1, ngx.now()
    local called, started = pcall(ngx.timer.at, 0, look)
    if not (called and started) then
      all[flight], looked_s = nil, 0
      return nil
    end
  end
  return flight
end

return _M
