-- Handles requests at the edge. Cache statuses: https://developers.cloudflare.com/cache/concepts/cache-responses/
local cache_control = require("cache_control")
local flights = require("flight")
local freshness = require("freshness")
local purges = require("purges")
local requests = require("request")
local settings = require("settings")
local store = require("store")
local vary = require("vary")
local origin = require("origin")
local rays = require("ray")
local reply = require("reply")

local floor = math.floor

local _M = {}

-- When a fetch brings nothing for this long, one waiting request starts a new fetch and the others wait for that one.
local COLLAPSE_PATIENCE_S = 5
local COLLAPSE_ATTEMPTS_MAX = 3
-- After this wait on stalled fetches a request gets a stale response or a 504. The origin itself has no more time.
local COLLAPSE_WAIT_MAX_S = 30
-- RFC 9110 §8.6: requests with these methods send a Content-Length even without a body.
local BODY_EXPECTED = { POST = true, PUT = true, PATCH = true }

-- The request's cache directives, RFC 9111 §5.2.1. Cloudflare ignores them.
local function demands_of(request)
  if settings.profile == "cloudflare" or not request.special then return {} end
  local fields = request.fields
  local text = fields["cache-control"]
  if text then return cache_control.parse(type(text) == "table" and table.concat(text, ",") or text) end
  -- RFC 9111 §5.4.
  local pragma = fields.pragma
  if type(pragma) == "string" and string.find(string.lower(pragma), "no%-cache") then return { ["no-cache"] = true } end
  return {}
end

-- Returns "fresh", "update" (serve it and refresh it in the background), "stale" (allowed by max-stale) or nil.
local function usable(entry, demands, now_s)
  if entry.always_validate or demands["no-cache"] ~= nil then return nil end
  local age_s = freshness.age_s(entry, now_s)
  local left_s = freshness.left_s(entry, now_s)
  local most_s, least_s = cache_control.delta_s(demands["max-age"]), cache_control.delta_s(demands["min-fresh"])
  if demands["max-age"] ~= nil and age_s > (most_s or 0) then return nil end
  if least_s and left_s < least_s then return nil end
  if left_s > 0 then return "fresh" end
  if entry.stale_forbidden then return nil end
  if -left_s <= entry.stale_while_revalidate_s and entry.stale_while_revalidate_s > 0 then return "update" end
  local stale = demands["max-stale"]
  if stale == true or stale and cache_control.delta_s(stale) and -left_s <= cache_control.delta_s(stale) then return "stale" end
  return nil
end

local function note_origin(flight)
  local var = ngx.var
  var.origin_status = flight.origin_status or ""
  var.origin_duration_s = flight.origin_duration_s and string.format("%.3f", flight.origin_duration_s) or ""
end

local function serve_stale(entry, request)
  return entry and flights.stale_if_error(entry) and reply.entry(entry, "STALE", request, ngx.now())
end

local function start(request, options)
  options.request, options.key = request, options.key or request.base
  options.lines = requests.forwarded_lines(request, options.own_conditions)
  options.authorized = request.fields.authorization ~= nil
  return flights.start(options)
end

-- Answers with the result of the fetch that this request started.
local function answer_from(flight, entry, request)
  flights.wait_head(flight)
  note_origin(flight)
  if flight.failure then
    if not serve_stale(entry, request) then reply.fail(flight.failure, request) end
    return
  end
  if flight.result then
    if reply.entry(flight.result, "REVALIDATED", request, ngx.now()) then return end
    -- Its body was evicted during the revalidation.
    local again = start(request, { key = flight.key, method = flight.method, collapsing = flight.collapsing })
    return answer_from(again, nil, request)
  end
  local word = flight.bypass and "BYPASS" or entry and "EXPIRED" or "MISS"
  return reply.relay(flight, word, request)
end

-- For a condition or range without a fresh entry: fetches and stores the whole response, then evaluates them on it.
local function fetch_whole(request, key, entry)
  local flight = start(request, { key = key, method = "GET", entry = entry, collapsing = true })
  flights.wait_head(flight)
  note_origin(flight)
  if flight.failure or flight.result then return answer_from(flight, entry, request) end
  local word = flight.bypass and "BYPASS" or entry and "EXPIRED" or "MISS"
  if flight.outcome ~= "unshared" then
    flights.leave(flight)
    if flights.wait_end(flight, COLLAPSE_PATIENCE_S) == "stored" then
      local stored = store.find(request.base, request)
      if stored and reply.entry(stored, word, request, ngx.now()) then return end
    end
  else
    flights.leave(flight)
  end
  -- Not storable: the origin evaluates the client's own condition or range.
  local direct = start(request, { key = key, method = request.method, own_conditions = true, no_store = true })
  return answer_from(direct, nil, request)
end

-- Whether the body of a running fetch can answer this request: only a plain GET of the same variant.
local function can_follow(flight, request)
  local growing = flight.growing
  if not growing or growing.ended or request.special or request.method ~= "GET" then return false end
  local entry = growing.entry
  return not entry.selection or vary.key(entry.base, entry.selection, request) == vary.key(entry.base, entry.selection, flight.request)
end

-- Waits for another request's fetch of the same key. Returns true when this request is answered; else false and the
-- outcome of the fetch, nil while it still runs.
local function wait_for_other(flight, request, entry)
  repeat
    local outcome = flight.outcome
    if not outcome and can_follow(flight, request) and reply.growing(flight, request) then return true end
    if outcome == "failed" then
      if serve_stale(entry, request) then return true end
      if flight.failure then
        reply.fail(flight.failure, request)
        return true
      end
    end
    if outcome then return false, outcome end
  until not flights.wait_change(flight, COLLAPSE_PATIENCE_S)
  return false
end

local function get(request)
  local demands = demands_of(request)
  local alone = demands["no-store"] ~= nil or not settings.collapse
  local entry, key
  local began_s, attempts = ngx.now(), 0
  while attempts < COLLAPSE_ATTEMPTS_MAX do
    local now_s = ngx.now()
    entry, key = store.find(request.base, request)
    local use = entry and usable(entry, demands, now_s)
    if use == "fresh" and reply.entry(entry, "HIT", request, now_s) then return end
    if use == "stale" and reply.entry(entry, "STALE", request, now_s) then return end
    if use == "update" then
      if not flights.find(key) then
        start(request, { key = key, method = "GET", entry = entry, collapsing = true })
        ngx.var.refreshes = 1
      end
      if reply.entry(entry, "UPDATING", request, now_s) then return end
    end
    if use then entry = nil end
    if demands["only-if-cached"] ~= nil then
      ngx.header["CF-Cache-Status"] = "MISS"
      return reply.say(504, "504 Gateway Timeout: not in the cache, and the request wants nothing else")
    end
    if alone or request.fields.authorization or not flights.shareable(key) then
      alone = true
      break
    end
    local flight = flights.find(key)
    if not flight then break end
    local done, outcome = wait_for_other(flight, request, entry)
    if done then return end
    local patient = ngx.now() - began_s < COLLAPSE_WAIT_MAX_S
    if outcome == "stored" then
      attempts = attempts + 1
    elseif outcome == "unshared" or outcome and not patient then
      alone = true
      break
    elseif not outcome then
      -- All waiting requests time out at about this moment: the first one finds no fetch and starts the next.
      flights.detach(flight)
      if not patient then
        if serve_stale(entry, request) then return end
        return reply.fail({ status = 504, why = "nothing came for any of those who wait" }, request)
      end
    end
  end

  local fields = request.fields
  local conditions = request.special and (fields["if-none-match"] or fields["if-modified-since"] or fields.range or fields["if-match"] or fields["if-unmodified-since"])
  local whole = settings.profile == "cloudflare" or entry ~= nil
  if request.method == "HEAD" and settings.profile ~= "cloudflare" then
    local flight = start(request, { key = key, method = "HEAD", entry = entry, own_conditions = true, no_store = demands["no-store"] ~= nil })
    flights.wait_head(flight)
    note_origin(flight)
    if flight.failure then
      if not serve_stale(entry, request) then reply.fail(flight.failure, request) end
      return
    end
    return reply.relay(flight, flight.bypass and "BYPASS" or entry and "EXPIRED" or "MISS", request)
  end
  if conditions and not whole then
    -- RFC 9111 §4.3.1: the origin evaluates the condition; a 200 can still be stored.
    local flight = start(request, { key = key, method = "GET", own_conditions = true, no_store = demands["no-store"] ~= nil or fields.range ~= nil })
    return answer_from(flight, nil, request)
  end
  if conditions and not alone then return fetch_whole(request, key, entry) end
  if conditions and not (entry and (entry.etag or entry.last_modified)) then
    local flight = start(request, { key = key, method = request.method, own_conditions = true, no_store = true })
    return answer_from(flight, entry, request)
  end
  local flight = start(request, { key = key, method = "GET", entry = entry, collapsing = not alone, no_store = demands["no-store"] ~= nil })
  return answer_from(flight, entry, request)
end

-- Unrolled: LuaJIT does not compile a loop of few iterations, nor the code around it.
local UNROLLED_MAX = 32
local set_each = (function()
  local steps = {}
  for step = 1, UNROLLED_MAX do steps[step] = string.format("if count < %d then return end header[names[%d]] = values[%d]", step, step, step) end
  return assert(loadstring("return function(header, names, values, count) " .. table.concat(steps, " ") .. " end"))()
end)()

-- The fast path of a hot cache: a plain GET of a fresh entry in memory. No closures and no patterns, because LuaJIT
-- runs those in its interpreter. Returns whether the request was answered.
local function answer_plain(var)
  if var.unusual ~= "" or var.request_method ~= "GET" then return false end
  local host = requests.host(var)
  if not host then return false end
  local entry = store.find_plain(host .. var.request_uri)
  if not entry or entry.stale_since_s or entry.always_validate or not entry.names or #entry.names > UNROLLED_MAX or not entry.body or entry.status == 204 then return false end
  local age_s = freshness.age_s(entry, ngx.now())
  if age_s >= entry.lifetime_s then return false end
  local age, header, names, values = string.format("%d", floor(age_s)), ngx.header, entry.names, entry.values
  var.cache_status, var.age_s = "HIT", age
  if entry.revision ~= "" then var.page_revision = entry.revision end
  ngx.status = entry.status
  set_each(header, names, values, #names)
  header["CF-Cache-Status"] = "HIT"
  header["Age"] = age
  header["CF-Ray"] = rays.of(var)
  header["Content-Length"] = entry.body_bytes
  ngx.print(entry.body)
  return true
end

-- RFC 9111 §4.4: purges the URLs that an unsafe method may have changed. Cloudflare does not document this.
local function invalidate(request, answer)
  if settings.profile == "cloudflare" or answer.status >= 400 then return end
  local method = request.method
  if method == "GET" or method == "HEAD" or method == "OPTIONS" or method == "TRACE" then return end
  store.purge_url(request.address)
  for _, name in ipairs({ "location", "content-location" }) do
    local target = answer.fields[name] and answer.fields[name][1]
    if target then
      local authority, rest = string.match(target, "^[hH][tT][tT][pP][sS]?://([^/?#]*)([^#]*)")
      if authority then
        authority = string.gsub(string.lower(authority), ":80$", "")
        if authority == request.host then store.purge_url(request.host .. (rest == "" and "/" or rest)) end
      elseif string.find(target, "^/[^/]") or target == "/" then
        store.purge_url(request.host .. string.match(target, "^[^#]*"))
      elseif not string.find(target, "^[%a][%w+.-]*:") and not string.find(target, "^//") then
        local folder = string.match(request.uri, "^([^?#]*/)")
        store.purge_url(request.host .. folder .. string.match(target, "^[^#]*"))
      end
    end
  end
end

-- Sends exactly this request to the origin and relays the response uncached; `word` is the reported cache status.
local function pass(request, word)
  local var, lines = ngx.var, requests.forwarded_lines(request, true)
  local body, bytes = nil, 0
  if request.method ~= "GET" and request.method ~= "HEAD" or request.with_body then
    body, bytes = requests.body()
    if body or request.with_body or BODY_EXPECTED[request.method] then lines[#lines + 1] = "Content-Length: " .. bytes end
  end
  var.cache_status = word
  local started_s = ngx.now()
  local answer, why = origin.fetch(request.method, request.uri, request.host, lines, body)
  ngx.update_time()
  var.origin_duration_s = string.format("%.3f", ngx.now() - started_s)
  if not answer then return reply.fail({ status = why == "timeout" and 504 or 502, why = why }, request, word) end
  var.origin_status = answer.status
  invalidate(request, answer)
  reply.head(answer, request)
  local header = ngx.header
  header["CF-Cache-Status"] = word
  local length = answer.length
  if answer.framing == "none" and request.method == "HEAD" then length = answer.fields["content-length"] and answer.fields["content-length"][1] end
  if length then header["Content-Length"] = length end
  ngx.send_headers()
  if answer.framing == "none" then return origin.release(answer) end
  if reply.pieces(function() return origin.read(answer) end, function() return origin.dry(answer) end) then
    return origin.release(answer)
  end
  origin.abandon(answer)
end

local function read_request()
  local request, reason = requests.read()
  if request then return request end
  ngx.var.cache_status = "DYNAMIC"
  reply.say(400, "400 Bad Request: " .. reason)
end

--- Handles a request, from the cache where possible.
function _M.handle()
  local var = ngx.var
  if answer_plain(var) then return end
  local request = read_request()
  if not request then return end
  ngx.header["CF-Ray"] = rays.of(var)
  local method = request.method
  -- The body of a GET is not part of the key, so its response cannot be shared.
  if method ~= "GET" and method ~= "HEAD" or request.with_body then return pass(request, "DYNAMIC") end
  return get(request)
end

--- Handles a request to a door that bypasses the cache.
function _M.handle_bypassed()
  local request = read_request()
  if not request then return end
  ngx.header["CF-Ray"] = rays.of(ngx.var)
  return pass(request, "BYPASS")
end

function _M.init()
  -- The path of a cache hit is one long trace with many constant addresses. LuaJIT's defaults (500 constants, 15
  -- unrolled loops) abort it midway, and then the interpreter runs all of it.
  require("jit.opt").start("maxirconst=8000", "maxrecord=16000", "maxsnap=4000", "loopunroll=60", "callunroll=20", "recunroll=20", "maxtrace=8000", "maxmcode=40960")
  purges.init()
end

return _M
