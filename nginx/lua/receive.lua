-- Receives the body of a response: stores it, and passes it on to clients while it arrives.
local body_stream = require("body_stream")
local dictionaries = require("dictionaries")
local flights = require("flight")
local fragments = require("fragments")
local http1 = require("http1")
local origin = require("origin")
local responses = require("stored_response")
local segments = require("segments")
local settings = require("settings")
local store = require("store")

local _M = {}

local TOO_LARGE = "it is larger than the cache may hold"

-- Collects a body: small ones in memory, others in a file. Calls `on_file(segment)` when it switches to a file.
-- in_memory_only: a larger body is not collected
local function collector(on_file, in_memory_only)
  local parts, bytes, writer = {}, 0, nil
  local self = {}
  function self.add(chunk)
    bytes = bytes + #chunk
    if bytes > settings.max_object_bytes then return nil, TOO_LARGE end
    if writer then return writer.write(chunk) end
    parts[#parts + 1] = chunk
    if bytes <= responses.SMALL_BYTES then return true end
    if in_memory_only then return nil, "a response of this key was too large" end
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

-- Stores the collected body. Returns the flight's outcome.
local function put(flight, entry, collected, reusable)
  local body, message = collected.body()
  local stored
  if body then stored, message = store.put(entry, flight.request, body) end
  if stored then
    -- Its client may name it as a dictionary in its next request.
    dictionaries.note(stored)
    local parts = fragments.find(flight.request)
    if parts then fragments.forget(parts) end
  end
  if stored and reusable then
    -- Whatever marked the key before, such as a late response under load: responses can be shared now.
    flights.note_shareable(flight, true)
    return "stored"
  end
  if stored then return "unshared" end
  if store.SUPERSEDED[message] then return "superseded" end
  ngx.log(ngx.WARN, "not stored: ", message)
  return "unshared"
end

-- Stores the bytes of a part. bytes: how many have arrived
local function put_part(flight, part, collected, bytes)
  if bytes ~= part.range.last - part.range.first + 1 then return collected.discard() end
  local body, message = collected.body()
  if body then body, message = fragments.put(part, flight, body) end
  if not body and not store.SUPERSEDED[message] then ngx.log(ngx.WARN, "a part is not stored: ", message) end
end

-- The body will not be stored.
local function discard(flight, collected, outcome)
  collected.discard()
  if flight.spool then flight.spool.ended = true end
  flights.finish(flight, outcome)
end

-- Collects a piece. Returns the collector; nil when the body will not be stored.
local function collect(flight, collected, chunk, received_bytes)
  local done, message = collected.add(chunk)
  if not done then
    ngx.log(ngx.WARN, "not stored: ", message)
    if message == TOO_LARGE then flights.note_too_large(flight) else flights.note_shareable(flight, false) end
    discard(flight, collected, "unshared")
    flights.wake(flight)
    return nil
  end
  if flight.spool then
    flight.spool.bytes = received_bytes
    flights.wake(flight)
  end
  return collected
end

-- The origin's connection failed in the middle, after so many bytes. entry: where they may be stored, or nil
local function break_off(flight, answer, entry, collected, failure, bytes)
  local part = collected and entry and fragments.of_broken(entry, answer, bytes)
  if part then put_part(flight, part, collected, bytes) elseif collected then discard(flight, collected, "failed") end
  origin.abandon(answer)
  flights.finish(flight, "failed")
  body_stream.close(flight, failure)
end

-- Stores a body that has arrived, and ends the flight, unless it is a part.
local function store_body(flight, entry, collected, reusable, bytes)
  if entry.range then return put_part(flight, entry, collected, bytes) end
  flights.finish(flight, put(flight, entry, collected, reusable))
end

-- After a part, for which its client does not wait: with it the whole may be there.
local function complete(flight)
  body_stream.close(flight)
  local whole = not flight.outcome and fragments.complete(flight.request)
  if whole then dictionaries.note(whole) end
  flights.finish(flight, whole and "stored" or "unshared")
end

--- Receives the body of the flight's answer, and ends the flight.
-- entry: where to store it, or nil; reusable: other requests may get it
function _M.body(flight, entry, reusable)
  local answer, received_bytes, part = flight.answer, 0, entry and entry.range and entry
  local collected = entry and collector(function(segment)
    flight.spool = { entry = entry, segment = segment, length = answer.length, bytes = 0 }
    if reusable and answer.length and not part then
      entry.key, flight.growing = store.key_of(entry, flight.request), flight.spool
    end
  end, not answer.length and not part and flights.is_too_large(flight.key))
  while true do
    local chunk, failure = http1.read(answer)
    if failure and not chunk then
      return break_off(flight, answer, reusable and entry, collected, failure, received_bytes)
    end
    if not chunk then break end
    received_bytes = received_bytes + #chunk
    if collected then collected = collect(flight, collected, chunk, received_bytes) end
    flights.progress(flight, collected and flight.growing)
    -- Stored before the client gets the last byte, so that its next request finds the entry.
    if collected and answer.framing == "length" and answer.left == 0 then
      store_body(flight, entry, collected, reusable, received_bytes)
      collected = nil
    end
    body_stream.push(flight, chunk)
    if flight.cancelled and not collected and not (part and answer.left == 0) then
      flights.finish(flight, "unshared")
      if answer.left ~= 0 then
        origin.abandon(answer)
        return body_stream.close(flight)
      end
    end
  end
  origin.release(answer)
  if collected then store_body(flight, entry, collected, reusable, received_bytes) end
  if part then return complete(flight) end
  flights.finish(flight, "unshared")
  body_stream.close(flight)
end

return _M
