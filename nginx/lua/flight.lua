-- One fetch from the origin. It outlives the client that started it, and other requests can wait for it.
-- The starting client reads the body as it arrives. A body that is too large for memory is read from its file while the
-- file grows (`spool`: segment, bytes written, ended; length when known). Other requests read that file, too, when the
-- length is known (`growing`: the same, with its entry).
local semaphore = require("ngx.semaphore")
local answers = require("answer")
local freshness = require("freshness")
local origin = require("origin")
local purges = require("purges")
local segments = require("segments")
local settings = require("settings")
local store = require("store")
local uncacheable = ngx.shared.uncacheable

local _M = {}

-- These statuses refuse this request but do not say what the page is now: a stored copy stays for stale-if-error.
local SAYS_NOTHING_OF_IT = { [304] = true, [408] = true, [412] = true, [416] = true, [425] = true, [429] = true }
-- Reasons of store.lua not to store a response: a newer one is stored, or a purge may have made this one outdated.
local SUPERSEDED = { ["purged meanwhile"] = true, ["a newer one is stored"] = true, ["replaced meanwhile"] = true }
-- How long a key whose responses could not be shared skips collapsing; then one request tries it again.
local UNCACHEABLE_S = 10
-- With this much queued for a slow client the fetch pauses, if no other request can use the body.
local QUEUE_BYTES_MAX = 256 * 1024
local FILE_READ_BYTES = 128 * 1024
local READER_PATIENCE_S = 60
local HEAD_PATIENCE_S = 120
-- nginx runs a timer at once, or drops it when no connection is left; mostly only its log reports the drop.
local BEGIN_PATIENCE_S = 1

local flights = {}

-- Whether a purge since the start of the fetch may concern its response.
local function may_be_purged(flight)
  local void, stale_since_s = purges.judge(flight.subject)
  return void or stale_since_s ~= nil
end

-- Whether responses for this key can be shared, as far as known.
function _M.shareable(key)
  return not uncacheable:get(key)
end

-- Wakes all requests that wait for a change.
local function wake(flight)
  local waiting = -flight.changed:count()
  if waiting > 0 then flight.changed:post(waiting) end
end

-- outcome: "stored", "superseded" (a newer one is stored, or this one was purged meanwhile), "unshared" (each waiting
-- request must fetch for itself) or "failed"
local function finish(flight, outcome)
  if flight.outcome then return end
  flight.outcome = outcome
  _M.detach(flight)
  wake(flight)
end

-- Returns the running fetch of this key that a request may wait for.
function _M.find(key)
  local flight = flights[key]
  if not flight or may_be_purged(flight) then return nil end
  if flight.begun or ngx.now() - flight.progress_s < BEGIN_PATIENCE_S then return flight end
  finish(flight, "unshared")
end

-- Lets another fetch take over the key; this one continues for the client that started it.
function _M.detach(flight)
  if flights[flight.key] == flight then flights[flight.key] = nil end
end

local function show_head(flight)
  if flight.head_shown then return end
  flight.head_shown = true
  flight.head_ready:post(1)
end

local function push(flight, chunk)
  if flight.cancelled then return end
  local spool = flight.spool
  if spool and not spool.ended then
    -- The client reads more slowly than the origin sends: it continues from the file, and the fetch does not wait.
    if not flight.file and flight.queued_bytes > QUEUE_BYTES_MAX then
      flight.file, flight.file_from, flight.file_after = segments.open(spool.segment), spool.bytes - #chunk, flight.last
    end
    if flight.file then return end
  end
  while flight.queued_bytes > QUEUE_BYTES_MAX and not flight.cancelled do
    if not flight.room:wait(READER_PATIENCE_S) then flight.cancelled, flight.given_up = true, "its client reads too slowly" end
  end
  if flight.cancelled then return end
  flight.last = flight.last + 1
  flight.queue[flight.last] = chunk
  flight.queued_bytes = flight.queued_bytes + #chunk
  if flight.data:count() <= 0 then flight.data:post(1) end
end

local function close_queue(flight, failure)
  flight.closed, flight.cut_short = true, failure
  flight.data:post(1)
  wake(flight)
end

-- Collects a body: small ones in memory, others in a file. Calls `on_file(segment)` when it switches to a file.
local function collector(on_file)
  local parts, bytes, writer = {}, 0, nil
  local self = {}
  function self.add(chunk)
    bytes = bytes + #chunk
    if bytes > settings.max_object_bytes then return nil, "it is larger than the cache may hold" end
    if writer then return writer.write(chunk) end
    parts[#parts + 1] = chunk
    if bytes <= store.SMALL_BYTES then return true end
    local message
    writer, message = segments.writer()
    if not writer then return nil, message end
    local text = table.concat(parts)
    parts = nil
    local done
    done, message = writer.write(text)
    if done then on_file(writer.id) end
    return done, message
  end
  function self.body()
    if not writer then return table.concat(parts) end
    local segment, message = writer.finish()
    if not segment then return nil, message end
    return { segment = segment, bytes = bytes }
  end
  function self.discard()
    if writer then writer.discard() end
  end
  return self
end

local function put(flight, entry, collected, reusable)
  local body, message = collected.body()
  local stored
  if body then stored, message = store.put(entry, flight.request, body) end
  if stored and reusable then
    -- Whatever marked the key before, such as a late response under load: responses can be shared now.
    uncacheable:delete(flight.key)
    return "stored"
  end
  if stored then return "unshared" end
  if SUPERSEDED[message] then return "superseded" end
  ngx.log(ngx.WARN, "not stored: ", message)
  return "unshared"
end

local function receive_body(flight, answer, entry, reusable)
  local received_bytes = 0
  local collected = entry and collector(function(segment)
    flight.spool = { entry = entry, segment = segment, length = answer.length, bytes = 0 }
    if reusable and answer.length then flight.growing = flight.spool end
  end)
  local function give_up(message)
    ngx.log(ngx.WARN, "not stored: ", message)
    collected.discard()
    collected = nil
    if flight.spool then flight.spool.ended = true end
    finish(flight, "unshared")
    wake(flight)
  end
  while true do
    local chunk, failure = origin.read(answer)
    if not chunk then
      if failure then
        if collected then collected.discard() end
        if flight.spool then flight.spool.ended = true end
        origin.abandon(answer)
        finish(flight, "failed")
        return close_queue(flight, failure)
      end
      break
    end
    received_bytes, flight.progress_s = received_bytes + #chunk, ngx.now()
    if collected then
      local done, message = collected.add(chunk)
      if not done then
        give_up(message)
      elseif flight.spool then
        flight.spool.bytes = received_bytes
        wake(flight)
      end
    end
    -- Stored before the client gets the last byte, so that its next request finds the entry.
    if collected and answer.framing == "length" and answer.left == 0 then
      local outcome = put(flight, entry, collected, reusable)
      collected = nil
      finish(flight, outcome)
    end
    push(flight, chunk)
    if flight.cancelled and not collected and not flight.outcome then finish(flight, "unshared") end
    if flight.cancelled and not collected and answer.left ~= 0 then
      origin.abandon(answer)
      return close_queue(flight)
    end
  end
  origin.release(answer)
  if collected then
    finish(flight, put(flight, entry, collected, reusable))
  end
  finish(flight, "unshared")
  close_queue(flight)
end

local function validators(entry)
  local lines = {}
  if entry.etag then lines[#lines + 1] = "If-None-Match: " .. entry.etag end
  if entry.last_modified then lines[#lines + 1] = "If-Modified-Since: " .. entry.last_modified end
  return lines
end

local function ask(flight, validating)
  local request, lines = flight.request, flight.lines
  if validating then
    lines = validators(flight.entry)
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
  flight.progress_s = answer.received_s
  flight.origin_status, flight.origin_duration_s = answer.status, answer.received_s - requested_s
  return answer
end

-- RFC 9111 §4.3.4: a 304 that names another representation says nothing about the stored one.
local function names_another(entry, answer)
  local etag = answer.fields.etag and answer.fields.etag[1]
  return etag ~= nil and entry.etag ~= nil and etag ~= entry.etag and "W/" .. etag ~= entry.etag and etag ~= "W/" .. entry.etag
end

-- Returns whether the response can be shared, and whether it could be without its delay: the origin's directives mark a
-- key as uncacheable, a moment of high load does not.
local function reusability(judgement, answer)
  local left_s = judgement.lifetime_s - judgement.initial_age_s
  local delay_s = answer.received_s - answer.requested_s
  return left_s > 0 and not judgement.always_validate, left_s + delay_s > 0 and not judgement.always_validate
end

local function revalidated(flight, answer)
  origin.release(answer)
  local entry, judgement = answers.updated(flight.entry, answer, flight.clock, flight.authorized)
  local reusable, in_time = reusability(judgement, answer)
  local old = flight.entry
  entry.body, entry.body_segment, entry.body_offset, entry.body_bytes = old.body, old.body_segment, old.body_offset, old.body_bytes
  if flight.no_store or flight.authorized and not judgement.storable then
    -- The 304 concerns this client alone; the stored entry stays as it is.
    flight.result = entry
    return finish(flight, "unshared")
  end
  local stored, message
  if judgement.storable then stored, message = store.put_head(entry, old) else store.forget(old) end
  if not (judgement.storable and in_time) then uncacheable:set(flight.key, true, UNCACHEABLE_S) end
  flight.result = entry
  finish(flight, reusable and (stored and "stored" or SUPERSEDED[message] and "superseded") or "unshared")
end

-- RFC 9111 §4.3.5: updates or drops the stored GET response from a HEAD.
local function learn_from_head(flight, answer)
  local old = flight.entry
  if flight.authorized or flight.no_store then return end
  if not old or answer.status ~= 200 or old.status ~= 200 then return end
  local length = answer.fields["content-length"]
  local modified = answer.fields["last-modified"]
  if names_another(old, answer) or length and tonumber(length[1]) ~= old.body_bytes or modified and old.last_modified and modified[1] ~= old.last_modified then
    return store.forget(old)
  end
  local entry, judgement = answers.updated(old, answer, flight.clock, false)
  if judgement.storable then store.put_head(entry, old) end
end

local function fetch(flight)
  local entry = flight.entry
  local validating = flight.method == "GET" and not flight.own_conditions and entry ~= nil and (entry.etag ~= nil or entry.last_modified ~= nil)
    -- Without the body a 304 would be of no use.
    and store.has_body(entry)
  local answer = ask(flight, validating)
  if answer and validating and answer.status == 304 and names_another(entry, answer) then
    origin.release(answer)
    validating = false
    answer = ask(flight, false)
  end
  if not answer then return finish(flight, "failed") end
  if validating and answer.status == 304 then return revalidated(flight, answer) end
  if answer.status >= 500 and _M.stale_if_error(entry) then
    origin.abandon(answer)
    flight.failure = { status = answer.status, where = "answer", why = "it answered " .. answer.status }
    return finish(flight, "failed")
  end

  local judgement = freshness.judge({
    status = answer.status, fields = answer.fields, requested_s = answer.requested_s, received_s = answer.received_s, authorized = flight.authorized,
  }, settings.freshness)
  local reusable, in_time = reusability(judgement, answer)
  local storable = judgement.storable and flight.method == "GET" and not flight.no_store and (answer.length or 0) <= settings.max_object_bytes
  flight.bypass, flight.answer = judgement.bypass, answer
  local new = storable and answers.entry(answer, judgement, flight.request, flight.clock) or nil
  if new then flight.subject.tags, flight.subject.any_tag, flight.subject.judged_at = new.tags, new.any_tag, nil end
  if flight.method == "HEAD" then
    learn_from_head(flight, answer)
  elseif not new or not reusable then
    if flight.collapsing and not (new and in_time) then uncacheable:set(flight.key, true, UNCACHEABLE_S) end
    finish(flight, "unshared")
    -- The stored entry is outdated, but this response may not replace it.
    if not new and entry and answer.status < 500 and not SAYS_NOTHING_OF_IT[answer.status] then store.forget(entry) end
  end
  show_head(flight)
  receive_body(flight, answer, new, reusable)
end

-- Whether stale-if-error allows the entry, RFC 5861 §4.
function _M.stale_if_error(entry)
  if not entry or entry.stale_if_error_s == 0 then return false end
  -- Purged during the fetch.
  if purges.judge(entry) or purges.address_purged_s(entry) then return false end
  return -freshness.left_s(entry, ngx.now()) <= entry.stale_if_error_s
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
  finish(flight, "failed")
  show_head(flight)
  if not flight.closed then close_queue(flight, not done and "the edge failed" or nil) end
end

--- Starts a fetch. options: key, request, lines (header lines for the origin), method, entry (stored, to be validated),
-- collapsing (other requests may wait for it), own_conditions (`lines` include the client's), authorized, no_store
function _M.start(options)
  local flight = options
  local request = flight.request
  flight.clock, flight.progress_s = purges.clock(), ngx.now()
  -- What purges are matched against. The tags are unknown before the response, so it may have any.
  flight.subject = {
    clock = flight.clock, host = request.host, host_name = request.host_name, uri = request.uri,
    tags = {}, any_tag = true, shares_address = true,
  }
  flight.changed, flight.head_ready = semaphore.new(0), semaphore.new(0)
  flight.data, flight.room = semaphore.new(0), semaphore.new(0)
  flight.queue, flight.first, flight.last, flight.queued_bytes = {}, 1, 0, 0
  -- ngx.timer.at raises an error when no connection is left for its own first timer.
  local called, started = pcall(ngx.timer.at, 0, run, flight)
  flight.dropped = not (called and started)
  if flight.collapsing then flights[flight.key] = flight end
  return flight
end

-- For the starting client: waits until the fetch has a response head, a result or a failure.
function _M.wait_head(flight)
  local dropped = flight.dropped or not flight.head_shown and not flight.head_ready:wait(BEGIN_PATIENCE_S)
  if dropped and not flight.begun then ngx.thread.spawn(run, false, flight) end
  if not flight.head_shown and not flight.head_ready:wait(HEAD_PATIENCE_S) then
    flight.failure = flight.failure or { status = 504, where = "answer", why = "timeout" }
  end
end

-- Whether the next piece comes from the file: after the pieces queued before it, before what did not fit on the disk.
local function in_file(flight)
  return flight.file ~= nil and flight.first > flight.file_after
end

-- For the starting client: returns the next piece; nil at the end; nil and a reason when the body is cut short.
function _M.next(flight)
  while true do
    if in_file(flight) then
      local data = _M.read_growing(flight, flight.file, flight.file_from)
      if data then
        flight.file_from = flight.file_from + #data
        return data
      end
      flight.file:close()
      flight.file = nil
      if flight.file_from < flight.spool.bytes then return nil, "its file could not be read" end
    elseif flight.first <= flight.last then
      local chunk = flight.queue[flight.first]
      flight.queue[flight.first] = nil
      flight.first = flight.first + 1
      flight.queued_bytes = flight.queued_bytes - #chunk
      if flight.room:count() < 0 then flight.room:post(1) end
      return chunk
    elseif flight.closed or flight.given_up then
      return nil, flight.cut_short or flight.given_up
    else
      flight.data:wait(HEAD_PATIENCE_S)
    end
  end
end

-- Whether the queue holds the whole body, with no part in the file alone.
function _M.is_queued_whole(flight)
  return flight.closed and not flight.cut_short and not flight.file and not flight.cancelled
end

-- Whether `next` would have to wait.
function _M.dry(flight)
  if in_file(flight) then return flight.spool.bytes <= flight.file_from end
  return flight.first > flight.last and not flight.closed
end

-- The starting client reads no further; a response that can be stored is still fetched.
function _M.leave(flight)
  flight.cancelled = true
  if flight.file then
    flight.file:close()
    flight.file = nil
  end
  if flight.room:count() < 0 then flight.room:post(1) end
end

-- For other requests: waits for a change, at most until nothing has arrived for `patience_s`.
-- Returns whether something may have changed.
function _M.wait_change(flight, patience_s)
  -- A wait below 1 ms does not yield, and the worker's clock then stands still: the caller would loop forever.
  local left_ms = math.floor((flight.progress_s + patience_s - ngx.now()) * 1000 + 0.5)
  if left_ms < 1 then return false end
  flight.changed:wait(left_ms / 1000)
  return true
end

-- For other requests: returns the outcome, or nil when nothing arrives for `patience_s`.
function _M.wait_end(flight, patience_s)
  while not flight.outcome and _M.wait_change(flight, patience_s) do end
  return flight.outcome
end

-- Returns the next bytes from `offset` of a body that is being written to a file; nil when there will be no more.
function _M.read_growing(flight, file, offset)
  local spool = flight.spool
  while spool.bytes <= offset do
    if spool.bytes == spool.length or spool.ended or flight.closed then return nil end
    if not _M.wait_change(flight, READER_PATIENCE_S) then return nil end
  end
  file:seek("set", offset)
  return file:read(math.min(spool.bytes - offset, FILE_READ_BYTES))
end

return _M
