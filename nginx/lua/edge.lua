-- Handles requests at the edge. Cache statuses: https://developers.cloudflare.com/cache/concepts/cache-responses/
local cache_statuses = require("cache_status")
local collapsing = require("collapsing")
local decide = require("decide").decide
local fast_path = require("fast_path")
local flights = require("flight")
local follower = require("follower")
local forward = require("forward")
local incomplete = require("incomplete")
local journal = require("journal")
local max_forwards = require("max_forwards")
local no_vary_search = require("no_vary_search")
local pass = require("pass").pass
local plain_requests = require("plain_request")
local popularity = require("popularity")
local purges = require("purges")
local rays = require("ray")
local reply = require("reply")
local requests = require("request")
local rescue = require("rescue")
local segments = require("segments")
local settings = require("settings")
local store = require("store")
local via = require("via")

local _M = {}

local COLLAPSE_ATTEMPTS_MAX = 3

-- Serves the entry; returns false when its body is gone.
local function serve(action, entry, key, request, now_s)
  if action.fetch and not flights.find(key, request) and forward.start(request, key, action.fetch) then
    ngx.var.refreshes = 1
  end
  return reply.entry(entry, action.cache_status, request, now_s)
end

local function ask(action, request, key, entry)
  if action.kind == "complete" then return incomplete.complete(action, request, key) end
  return forward.answer(action, request, key, entry)
end

-- Carries out what decide.lua decides. It decides again after each wait for another request's fetch of the same key.
local function get(request)
  local began_s, attempts = ngx.now(), 0
  local entry, key, action, missed
  while attempts < COLLAPSE_ATTEMPTS_MAX do
    local now_s = ngx.now()
    entry, key, missed = store.find(request.base, request)
    request.found_place = entry and entry.place
    action = decide(entry, request, now_s, settings.collapsing)
    if action.cache_status then
      if serve(action, entry, key, request, now_s) then return end
      entry, action = nil, decide(nil, request, now_s, settings.collapsing)
    end
    if not entry then
      local completing, answered = incomplete.look(request, action, now_s)
      if answered then return end
      action = completing or action
    end
    if action.kind == "gateway_timeout" then return reply.not_cached() end
    cache_statuses.forward(request, entry, missed, now_s)
    local outcome = action.may_wait and collapsing.join(action.key or key, request, entry, began_s) or "none"
    if outcome == "answered" then return end
    if outcome == "none" then
      if ask(action, request, key, entry) ~= forward.TAKEN then return end
      attempts = attempts + 1
    end
    if outcome == "unshared" and action.kind ~= "complete" then
      action = decide(entry, request, now_s, settings.alone)
      break
    end
    -- Requests that waited for the rest of stored parts share the next fetch, too.
    if outcome == "unshared" then request.left_parts = true end
    if outcome == "stored" or outcome == "unshared" then attempts = attempts + 1 end
  end
  if ask(action, request, key, entry) == forward.TAKEN then
    forward.answer(decide(entry, request, ngx.now(), settings.alone), request, key, entry)
  end
end

local function read_request()
  local request, reason = requests.read()
  local forwardable = request and not request.looped and max_forwards.count(request)
  if forwardable then return request end
  ngx.var.cache_status = "DYNAMIC"
  if request and not request.looped then return reply.options() end
  if request then return reply.say(508, "508 Loop Detected: the origin sends the request back to this edge") end
  reply.say(400, "400 Bad Request: " .. reason)
end

--- Handles a request, from the cache where possible.
function _M.handle()
  local var = ngx.var
  if fast_path.answer(var) then return end
  local request = read_request()
  if not request then return end
  ngx.header["CF-Ray"] = rays.of(var)
  local method = request.method
  if method ~= "GET" and method ~= "HEAD" then
    cache_statuses.bypass(request, "method")
    return pass(request, "DYNAMIC")
  end
  -- The body of a GET is not part of the key, so its response cannot be shared.
  if request.with_body then
    cache_statuses.bypass(request, "bypass", "request-body")
    return pass(request, "DYNAMIC")
  end
  return get(request)
end

--- Handles a request whose stored body was evicted when nginx was about to send it.
function _M.handle_lost()
  reply.clear()
  return _M.handle()
end

--- Handles a request to a door that bypasses the cache.
function _M.handle_bypassed()
  local request = read_request()
  if not request then return end
  ngx.header["CF-Ray"] = rays.of(ngx.var)
  cache_statuses.bypass(request, "bypass")
  return pass(request, "BYPASS")
end

function _M.init()
  -- The path of a cache hit is one long trace with many constant addresses. LuaJIT's defaults (500 constants, 15
  -- unrolled loops) abort it midway, and then the interpreter runs all of it.
  require("jit.opt").start(
    "maxirconst=8000", "maxrecord=16000", "maxsnap=4000", "loopunroll=60", "callunroll=20", "recunroll=20",
    "maxtrace=8000", "maxmcode=40960"
  )
  purges.init()
  no_vary_search.init()
  rescue.init()
  via.init()
end

--- Before a worker's first request.
function _M.init_worker()
  plain_requests.init()
  fast_path.init_worker()
  popularity.open()
  journal.open()
  segments.init_worker()
  follower.start()
end

return _M
