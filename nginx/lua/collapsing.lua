-- Request collapsing: a request waits for a fetch of its key that another one started, RFC 9111 §4.
local cache_statuses = require("cache_status")
local flights = require("flight")
local no_vary_search = require("no_vary_search")
local partial = require("partial")
local reply = require("reply")
local vary = require("vary")

local _M = {}

-- After this wait on stalled fetches a request gets a stale response or a 504. The origin itself has no more time.
local WAIT_MAX_S = 30

-- Whether the body of a running fetch can answer this request: only a GET of the same variant, plain or of a range.
local function can_follow(flight, request)
  local growing = flight.growing
  if not growing or growing.ended or not partial.can_follow(request) then return false end
  local entry = growing.entry
  if not no_vary_search.serves(entry, request) then return false end
  if not entry.selection then return true end
  return vary.key(entry.base, entry.selection, request) == entry.key
end

-- Returns true when this request is answered; else false and the outcome of the fetch, nil while it still runs.
local function wait(flight, request, entry)
  repeat
    local outcome = flight.outcome
    if not outcome and can_follow(flight, request) and partial.follow(flight, request) then return true end
    if outcome == "failed" then
      if reply.stale_if_error(entry, request, flight) then return true end
      if flight.failure then
        reply.fail(flight.failure, request)
        return true
      end
    end
    if outcome then return false, outcome end
  until not flights.wait_change(flight, flights.PATIENCE_S)
  return false
end

--- Waits for a fetch of the key. entry: the request's stale stored response, or nil; began_s: when it began to wait
-- Returns "none" (no fetch runs), "answered" (this request is), "unshared" (it must fetch for itself), "stored" (the
-- cache has the response), or "changed" (the cache may have it, or another fetch may run).
function _M.join(key, request, entry, began_s)
  if not flights.shareable(key) then return "unshared" end
  local flight = flights.find(key, request)
  if not flight then return "none" end
  cache_statuses.collapse(request)
  local answered, outcome = wait(flight, request, entry)
  if answered then return "answered" end
  if outcome == "stored" or outcome == "unshared" then return outcome end
  local patient = ngx.now() - began_s < WAIT_MAX_S
  if outcome then return patient and "changed" or "unshared" end
  -- All waiting requests time out at about this moment: the first one finds no fetch and starts the next.
  flights.detach(flight)
  if patient then return "changed" end
  if not reply.stale_if_error(entry, request, flight) then
    reply.fail({ status = 504, why = "nothing came for any of those who wait" }, request)
  end
  return "answered"
end

return _M
