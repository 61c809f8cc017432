-- One fetch from the origin, in a timer of its own: it asks, decides by the response what to store, and receives it.
local semaphore = require("ngx.semaphore")
local answers = require("answer")
local body_stream = require("body_stream")
local content_range = require("content_range")
local flights = require("flight")
local fragments = require("fragments")
local freshness = require("freshness")
local origin = require("origin")
local purge_log = require("purge_log")
local receive = require("receive")
local settings = require("settings")
local stale_if_error = require("stale_if_error")
local store = require("store")
local validation = require("validation")

local _M = {}

local HEAD_PATIENCE_S = 120
-- These statuses refuse this request but do not say what the page is now: a stored copy stays for stale-if-error.
local SAYS_NOTHING_OF_IT = { [304] = true, [408] = true, [412] = true, [416] = true, [425] = true, [429] = true }

local function show_head(flight)
  if flight.head_shown then return end
  flight.head_shown = true
  flight.head_ready:post(1)
end

local function ask(flight, validating)
  local request, lines = flight.request, flight.lines
  if validating then
    lines = validation.conditions(flight.entry)
    for index = 1, #flight.lines do lines[#lines + 1] = flight.lines[index] end
  end
  local requested_s = ngx.now()
  local answer, why, where = origin.fetch(flight.method, request.uri, request.host, lines)
  if not answer then
    flight.failure = { status = why == "timeout" and 504 or 502, why = why, where = where }
    return nil
  end
  ngx.update_time()
  answer.requested_s, answer.received_s = requested_s, ngx.now()
  flights.progress(flight)
  flight.origin_status, flight.origin_duration_s = answer.status, answer.received_s - requested_s
  return answer
end

-- Returns the entry to store, or nil. range: what a 206 is a part of
local function new_entry(flight, answer, judgement, reusable, range)
  if not range then return answers.entry(answer, judgement, flight.request, flight.clock) end
  -- One that holds while a purge log is followed has rules of its own.
  if not reusable or judgement.bounded or range.last - range.first >= settings.max_object_bytes then return nil end
  return fragments.entry(answer, range, judgement, flight.request, flight.clock)
end

-- For a response that is not a 304: stores it where that is allowed.
local function receive_answer(flight, answer)
  local entry, range = flight.entry, flight.method == "GET" and content_range.of(answer) or nil
  local judgement = freshness.judge({
    -- A part may be stored if the whole may be, RFC 9111 §3.
    status = range and 200 or answer.status, fields = answer.fields, authorized = flight.authorized,
    requested_s = answer.requested_s, received_s = answer.received_s,
  }, settings.freshness)
  local reusable, in_time = freshness.reusable(judgement, answer)
  local storable = judgement.storable and flight.method == "GET" and not flight.no_store
    and (answer.length or 0) <= settings.max_object_bytes
    and (not judgement.bounded or purge_log.covers(flight.log_reached, judgement.log_position))
  flight.bypass, flight.answer = judgement.bypass, answer
  local new = storable and new_entry(flight, answer, judgement, reusable, range) or nil
  if new then
    local subject = flight.subject
    subject.tags, subject.groups, subject.any_tag, subject.judged_at = new.tags, new.groups, new.any_tag, nil
    flight.ttl_s = judgement.lifetime_s - judgement.initial_age_s
  end
  if flight.method == "HEAD" then
    validation.learn_from_head(flight, answer)
  elseif not new or not reusable then
    if flight.collapsing and not (new and in_time) then flights.note_shareable(flight, false) end
    flights.finish(flight, "unshared")
    -- The stored entry is outdated, but this response may not replace it.
    if not new and answer.status < 500 and not SAYS_NOTHING_OF_IT[answer.status] then
      if entry then store.forget(entry) else store.withdraw(flight.gap and flight.gap.key or flight.key) end
    end
  end
  if not SAYS_NOTHING_OF_IT[answer.status] then fragments.learn(flight, answer, judgement.bypass) end
  show_head(flight)
  receive.body(flight, new, reusable)
end

local function fetch(flight)
  local entry, validating = flight.entry, validation.is_possible(flight)
  local answer = ask(flight, validating)
  if answer and validating and answer.status == 304 and validation.names_another(entry, answer) then
    origin.release(answer)
    validating = false
    answer = ask(flight, false)
  end
  if not answer then return flights.finish(flight, "failed") end
  if validating and answer.status == 304 then return validation.revalidated(flight, answer) end
  if answer.status >= 500 and stale_if_error.allows(entry) then
    origin.abandon(answer)
    flight.failure = { status = answer.status, where = "answer", why = "it answered " .. answer.status }
    return flights.finish(flight, "failed")
  end
  receive_answer(flight, answer)
end

local function run(premature, flight)
  if flight.begun then return end
  flight.begun = true
  local done, message
  if premature then
    flight.failure = { status = 503, where = "edge", why = "the edge is shutting down" }
  else
    done, message = pcall(fetch, flight)
    if not done then
      ngx.log(ngx.ERR, "a fetch failed: ", message)
      flight.failure = { status = 502, where = "edge", why = "the edge failed" }
    end
  end
  flights.finish(flight, "failed")
  show_head(flight)
  if not flight.closed then body_stream.close(flight, not done and "the edge failed" or nil) end
end

-- Whether another worker has stored the response, and ended its fetch, since this request looked at the cache.
local function was_stored_meanwhile(request)
  if settings.workers == 1 then return false end
  local entry = store.find(request.base, request)
  return entry ~= nil and entry.place ~= request.found_place
end

--- Starts a fetch. options: key, request, lines (header lines for the origin), method, entry (stored, to be validated),
-- collapsing (other requests may wait for it), own_conditions (`lines` include the client's), authorized, no_store, gap
-- (`lines` ask for what is missing of an incomplete response)
-- Returns the flight, see flight.lua; nil when another worker has just begun a fetch that this request may wait for, or
-- has just stored the response.
function _M.start(options)
  local flight = options
  flight.head_ready = semaphore.new(0)
  body_stream.open(flight)
  if not flights.begin(flight) then return nil end
  if flight.collapsing and was_stored_meanwhile(flight.request) then
    flights.detach(flight)
    return nil
  end
  -- Requests for other queries may wait for it, and a purge of one of these URLs concerns all.
  flight.subject.no_vary_search = flight.request.no_vary_search
  -- ngx.timer.at raises an error when no connection is left for its own first timer.
  local called, started = pcall(ngx.timer.at, 0, run, flight)
  flight.dropped = not (called and started)
  return flight
end

--- For the starting client: waits until the fetch has a response head, a result or a failure.
function _M.wait_head(flight)
  local dropped = flight.dropped or not flight.head_shown and not flight.head_ready:wait(flights.BEGIN_PATIENCE_S)
  if dropped and not flight.begun then ngx.thread.spawn(run, false, flight) end
  if not flight.head_shown and not flight.head_ready:wait(HEAD_PATIENCE_S) then
    flight.failure = flight.failure or { status = 504, where = "answer", why = "timeout" }
  end
end

return _M
