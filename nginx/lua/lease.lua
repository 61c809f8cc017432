-- Which worker fetches a key, in shared memory, so that a key has one fetch at a time in all workers. A lease is the
-- value of the key: the holder's process and a number, then how far its fetch is. What a fetch ended with stays
-- readable for a while, under the holder's process and number.
local ffi = require("ffi")
local heads = require("head")
local processes = require("process")
local settings = require("settings")
local dict = ngx.shared.flights

local _M = {}

-- A lease whose fetch shows no sign of life for so long is gone.
local LEASE_S = 150
local ENDED_S = 2
-- How often a fetch says that something arrived.
local PROGRESS_S = 0.2
local STATE = "^(%d+) (%d+) (%d+) (%S+) (%d+) (%d+) (%d+)"
local ENDED = "^(%a+) (%d+) (%d+) (.*)$"

local count = 0

local function name_of(state)
  return "\0" .. state.pid .. " " .. state.id
end

local function text_of(flight)
  local lease, growing = flight.lease, flight.growing
  return string.format("%d %d %d %.3f %d %d %d", lease.pid, lease.id, flight.clock, flight.progress_s,
    growing and growing.segment or 0, growing and growing.bytes or 0, growing and growing.length or 0)
end

local function parse(value)
  if not value then return nil end
  local pid, id, clock, progress_s, segment, bytes, length = string.match(value, STATE)
  return {
    pid = tonumber(pid), id = tonumber(id), clock = tonumber(clock), progress_s = tonumber(progress_s),
    segment = tonumber(segment), bytes = tonumber(bytes), length = tonumber(length),
  }
end

--- Reads the lease of a key. Returns nil without one; else pid, id, clock, progress_s, segment, bytes, length: numbers
function _M.read(key)
  return parse(dict:get(key))
end

--- The same of a fetch whose body grows, also when another one has its key.
function _M.read_growing(state)
  return parse(dict:get(name_of(state) .. " growing"))
end

local function holds(flight)
  local held, lease = _M.read(flight.key), flight.lease
  return held and held.pid == lease.pid and held.id == lease.id
end

--- Takes the lease for a flight. Returns false when another worker has it.
function _M.take(flight)
  if settings.workers == 1 then return true end
  count = count + 1
  flight.lease = { pid = ngx.worker.pid(), id = count, published_s = ngx.now() }
  local taken, why = dict:safe_add(flight.key, text_of(flight), LEASE_S)
  if taken then return true end
  flight.lease = nil
  -- Without room, the flight is this worker's alone.
  return why ~= "exists"
end

--- Says how far the flight is. grown: the file has more bytes than before
function _M.publish(flight, grown)
  local lease = flight.lease
  if not lease or not grown and flight.progress_s - lease.published_s < PROGRESS_S then return end
  lease.published_s = flight.progress_s
  local text = text_of(flight)
  if flight.growing then
    local name = name_of(lease) .. " head"
    if not dict:expire(name, LEASE_S) then dict:safe_set(name, heads.encode(flight.growing.entry, 0), LEASE_S) end
    dict:safe_set(name_of(lease) .. " growing", text, LEASE_S)
  end
  if holds(flight) then dict:safe_set(flight.key, text, LEASE_S) end
end

--- Gives the lease back. outcome: of the flight; nil: another worker may fetch, and this one goes on
function _M.release(flight, outcome)
  local lease = flight.lease
  if not lease then return end
  local growing, failure = flight.growing, flight.failure
  if outcome then
    local text = string.format("%s %d %d %s", outcome, growing and growing.bytes or 0, failure and failure.status or 0,
      failure and failure.why or "")
    if growing then
      dict:delete(name_of(lease) .. " head")
      dict:delete(name_of(lease) .. " growing")
    end
    dict:safe_set(name_of(lease), text, ENDED_S)
  end
  if holds(flight) then dict:delete(flight.key) end
  -- Requests that read along go on when only the key is given away.
  if outcome then flight.lease = nil end
end

--- Returns what a fetch ended with: outcome, bytes, failure; nil when that is not known.
function _M.ended(state)
  local outcome, bytes, status, why = string.match(dict:get(name_of(state)) or "", ENDED)
  if not outcome then return nil end
  local failure = status ~= "0" and { status = tonumber(status), why = why, where = "answer" } or nil
  return outcome, tonumber(bytes), failure
end

--- Returns the entry whose body grows, or nil.
function _M.growing_entry(state)
  local head = dict:get(name_of(state) .. " head")
  return head and heads.decode(ffi.cast("const uint8_t *", head), #head)
end

--- Takes the lease from a holder that has died, or whose fetch brings nothing. Returns whether this worker did.
function _M.break_off(key, state)
  if not dict:add(name_of(state) .. " broken", true, ENDED_S) then return false end
  local held = _M.read(key)
  if held and held.pid == state.pid and held.id == state.id then dict:delete(key) end
  return true
end

--- Whether the process of a lease is gone.
function _M.is_orphan(state)
  return processes.is_gone(state.pid)
end

return _M
