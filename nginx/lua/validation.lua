-- Validates a stored response at the origin, and updates it by what the origin says: RFC 9111 §4.3.
local answers = require("answer")
local conditional = require("conditional")
local flights = require("flight")
local freshness = require("freshness")
local origin = require("origin")
local purge_log = require("purge_log")
local store = require("store")

local _M = {}

--- Whether a conditional request for the flight's entry is possible, and of use.
function _M.is_possible(flight)
  local entry = flight.entry
  if flight.method ~= "GET" or flight.own_conditions or not entry then return false end
  -- Without the body a 304 would be of no use.
  return (entry.etag ~= nil or entry.last_modified ~= nil) and store.has_body(entry)
end

--- Returns the header lines of a conditional request for the entry.
function _M.conditions(entry)
  local lines = {}
  if entry.etag then lines[#lines + 1] = "If-None-Match: " .. entry.etag end
  if entry.last_modified then lines[#lines + 1] = "If-Modified-Since: " .. entry.last_modified end
  return lines
end

--- Whether the validators of the answer name another representation: such a 304 says nothing about the entry, RFC 9111
-- §4.3.4. Without any validator, it can mean only the entry that the request named.
function _M.names_another(entry, answer)
  local fields, stored = answer.fields, entry.etag
  local etag, modified = fields.etag and fields.etag[1], fields["last-modified"] and fields["last-modified"][1]
  local same_time = modified ~= nil and modified == entry.last_modified
  if etag == nil then return modified ~= nil and not same_time end
  if stored and conditional.opaque(etag) ~= conditional.opaque(stored) then return true end
  local weak = conditional.opaque(etag) ~= etag
  if etag == stored or stored and weak then return false end
  -- A strong tag where the entry has a weak one or none: only its time can say that it is the same.
  return not (same_time and (weak or conditional.is_strong_date(entry, ngx.now())))
end

--- Updates the flight's entry by a 304, and ends the flight.
function _M.revalidated(flight, answer)
  origin.release(answer)
  local old = flight.entry
  local entry, judgement, storable = answers.updated(old, answer, flight.clock, flight.authorized)
  local reusable, in_time = freshness.reusable(judgement, answer)
  entry.body, entry.body_segment = old.body, old.body_segment
  entry.body_offset, entry.body_bytes = old.body_offset, old.body_bytes
  flight.result = entry
  -- The 304 concerns this client alone; the stored entry stays as it is.
  if flight.no_store or flight.authorized and not judgement.storable then return flights.finish(flight, "unshared") end
  if judgement.bounded and not purge_log.covers(flight.log_reached, judgement.log_position) then
    return flights.finish(flight, "unshared")
  end
  local stored, message
  if storable then stored, message = store.put_head(entry, old) else store.forget(old) end
  if not (storable and in_time) then flights.note_shareable(flight, false) end
  local outcome = stored and "stored" or store.SUPERSEDED[message] and "superseded" or "unshared"
  flights.finish(flight, reusable and outcome or "unshared")
end

--- Updates or drops the flight's entry by a HEAD, RFC 9111 §4.3.5.
function _M.learn_from_head(flight, answer)
  local old = flight.entry
  if flight.authorized or flight.no_store or old and old.bounded then return end
  if not old or answer.status ~= 200 or old.status ~= 200 then return end
  local modified = answer.fields["last-modified"]
  local other_length = answer.said_length and answer.said_length ~= old.body_bytes
  local other_time = modified and modified[1] ~= old.last_modified
  if _M.names_another(old, answer) or other_length or other_time then return store.forget(old) end
  local entry, judgement, storable = answers.updated(old, answer, flight.clock, false)
  if storable then
    store.put_head(entry, old)
  elseif judgement.storable then
    store.forget(old)
  end
end

return _M
