-- Asks the origin on behalf of a request, and answers the request with the result.
local cache_statuses = require("cache_status")
local fetches = require("fetch")
local body_stream = require("body_stream")
local flights = require("flight")
local partial = require("partial")
local reply = require("reply")
local requests = require("request")
local store = require("store")

local _M = { TAKEN = "taken" }

--- Starts a fetch for the request. options: see decide.lua; gap: from, to, etag and key, see incomplete.lua
-- Returns the flight; nil when another worker has just begun one that this request may wait for.
function _M.start(request, key, options)
  local lines, gap = requests.forwarded_lines(request, options.own_conditions), options.gap
  if gap then
    lines[#lines + 1] = string.format("Range: bytes=%d-%d", gap.from, gap.to)
    lines[#lines + 1] = "If-Range: " .. gap.etag
  end
  return fetches.start({
    key = key, request = request, lines = lines, gap = gap,
    method = options.method, entry = options.entry, own_conditions = options.own_conditions,
    collapsing = options.collapsing, no_store = options.no_store,
    authorized = request.fields.authorization ~= nil,
  })
end

--- Waits for the head of the response, and notes it for the log.
function _M.wait_head(flight)
  fetches.wait_head(flight)
  local var = ngx.var
  var.origin_status = flight.origin_status or ""
  var.origin_duration_s = flight.origin_duration_s and string.format("%.3f", flight.origin_duration_s) or ""
end

local function cache_status_of(flight, entry)
  return flight.bypass and "BYPASS" or entry and "EXPIRED" or "MISS"
end

--- Answers with the result of the fetch that this request started.
-- entry: the stored response that it replaces, or nil
function _M.answer_from(flight, entry, request)
  _M.wait_head(flight)
  if flight.failure then
    if not reply.stale_if_error(entry, request, flight) then reply.fail(flight.failure, request) end
    return
  end
  if flight.result then
    cache_statuses.note_validation(request, flight)
    if reply.entry(flight.result, "REVALIDATED", request, ngx.now()) then return end
    -- Its body was evicted during the revalidation.
    local again = _M.start(request, flight.key, { method = flight.method })
    return _M.answer_from(again, nil, request)
  end
  if flight.bypass then cache_statuses.note_forbidden(request) end
  return reply.relay(flight, cache_status_of(flight, entry), request)
end

--- Answers from a whole response whose head is there: evaluates the condition or range on it; as it arrives, where
-- possible.
function _M.answer_from_whole(flight, entry, request, key)
  if flight.failure or flight.result then return _M.answer_from(flight, entry, request) end
  local shared = flight.outcome ~= "unshared"
  if shared and partial.answer(flight, request, cache_status_of(flight, entry)) then return end
  body_stream.leave(flight)
  if shared and flights.wait_end(flight) == "stored" then
    local stored = store.find(request.base, request)
    cache_statuses.note_stored(request, flight)
    if stored and reply.entry(stored, cache_status_of(flight, entry), request, ngx.now()) then return end
  end
  -- Not storable: the origin evaluates the client's own condition or range.
  local direct = _M.start(request, key, { method = request.method, own_conditions = true, no_store = true })
  return _M.answer_from(direct, nil, request)
end

-- For a condition or range without a fresh entry: fetches and stores the whole response.
local function fetch_whole(request, key, entry, options)
  local flight = _M.start(request, key, options)
  if not flight then return _M.TAKEN end
  _M.wait_head(flight)
  _M.answer_from_whole(flight, entry, request, key)
end

--- Carries out the actions of decide.lua that ask the origin; `entry`: the stale stored response, or nil.
-- Returns TAKEN, and has sent nothing, when another worker has just begun a fetch that this request may wait for.
function _M.answer(action, request, key, entry)
  cache_statuses.fetch(request)
  if action.kind == "fetch_whole" then return fetch_whole(request, key, entry, action.fetch) end
  local flight = _M.start(request, key, action.fetch)
  if not flight then return _M.TAKEN end
  _M.answer_from(flight, entry, request)
end

return _M
