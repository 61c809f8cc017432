-- Decides what the cache does with a GET or HEAD, RFC 9111 §4. No I/O and no clock: all input comes as arguments.
local cache_control = require("cache_control")
local freshness = require("freshness")

local delta_s = cache_control.delta_s

local _M = {}

-- With one of these, RFC 9110 §13 and §14, the client may want a 304, a 412 or a part instead of the whole response.
local CONDITIONS_AND_RANGE = { "if-none-match", "if-modified-since", "range", "if-match", "if-unmodified-since" }

local SERVE_FRESH = { kind = "serve_fresh", cache_status = "HIT" }
local SERVE_STALE = { kind = "serve_stale", cache_status = "STALE" }
local GATEWAY_TIMEOUT = { kind = "gateway_timeout" }

-- The request's cache directives, RFC 9111 §5.2.1. Cloudflare ignores them.
local function directives_of(request, rules)
  if rules.cloudflare or not request.special then return {} end
  local fields = request.fields
  local text = fields["cache-control"]
  if text then return cache_control.parse(type(text) == "table" and table.concat(text, ",") or text) end
  -- RFC 9111 §5.4.
  local pragma = fields.pragma
  if type(pragma) == "string" and string.find(string.lower(pragma), "no%-cache") then return { ["no-cache"] = true } end
  return {}
end

-- Whether the client has seen a later revision of the page, or saved one. Only under a purge log is that promised, and
-- for all other responses the header would be a way around the cache: docs/decisions/0077.
local function is_before(entry, request)
  if not entry.bounded or not request.special then return false end
  local said = request.fields["page-revision-min"]
  local least = type(said) == "string" and string.find(said, "^%d+$") and tonumber(said)
  return least and (tonumber(entry.revision) or 0) < least
end

-- Returns the action that serves the entry; nil when the request needs the origin.
local function serve(entry, request, directives, now_s)
  if entry.always_validate or directives["no-cache"] ~= nil then return nil end
  if entry.bounded and not request.leased or is_before(entry, request) then return nil end
  local left_s = freshness.left_s(entry, now_s)
  local max_age = directives["max-age"]
  if max_age ~= nil and freshness.age_s(entry, now_s) > (delta_s(max_age) or 0) then return nil end
  local min_fresh_s = delta_s(directives["min-fresh"])
  if min_fresh_s and left_s < min_fresh_s then return nil end
  if left_s > 0 then return SERVE_FRESH end
  -- RFC 9111 §4.2.4: stale, and only a permission of the origin or of the request allows it.
  if entry.stale_forbidden then return nil end
  -- RFC 9111 §5.2.1.1: with max-age alone, the client wants nothing stale.
  if max_age ~= nil and directives["max-stale"] == nil then return nil end
  if entry.stale_while_revalidate_s > 0 and -left_s <= entry.stale_while_revalidate_s then
    return {
      kind = "serve_while_revalidating", cache_status = "UPDATING",
      fetch = { method = "GET", entry = entry, collapsing = true },
    }
  end
  local max_stale = directives["max-stale"]
  local max_stale_s = delta_s(max_stale)
  if max_stale == true or max_stale_s and -left_s <= max_stale_s then return SERVE_STALE end
  return nil
end

local function names_any(fields, names)
  for index = 1, #names do
    if fields[names[index]] ~= nil then return true end
  end
  return false
end

-- Returns the action that asks the origin.
local function ask(entry, request, directives, rules)
  local fields = request.fields
  local no_store = directives["no-store"] ~= nil
  -- A fetch that began before the request is no news for an edge that has lost the purge log.
  local cut_off = rules.follows and not request.leased and (not entry or entry.bounded)
  local collapse = rules.collapse and not no_store and not fields.authorization and not cut_off
  local conditional = request.special and names_any(fields, CONDITIONS_AND_RANGE)
  local validator = entry and (entry.etag or entry.last_modified)

  if request.method == "HEAD" and not rules.cloudflare then
    return {
      kind = "forward", may_wait = collapse,
      fetch = { method = "HEAD", entry = entry, own_conditions = true, no_store = no_store },
    }
  end
  if conditional and not entry and not rules.cloudflare then
    -- RFC 9111 §4.3.1: the origin evaluates the condition; a 200 or a part can still be stored.
    return {
      kind = "forward", may_wait = collapse,
      fetch = { method = "GET", own_conditions = true, no_store = no_store },
    }
  end
  if conditional and collapse then
    return { kind = "fetch_whole", may_wait = true, fetch = { method = "GET", entry = entry, collapsing = true } }
  end
  if conditional and not validator then
    return {
      kind = "forward", may_wait = false,
      fetch = { method = request.method, own_conditions = true, no_store = true },
    }
  end
  return {
    kind = validator and "revalidate" or "fetch", may_wait = collapse,
    fetch = { method = "GET", entry = entry, collapsing = collapse, no_store = no_store },
  }
end

--- Returns what to do with a request.
-- entry: the stored response that the request selects, or nil; see answer.lua
-- request: method, fields, special and leased, see request.lua
-- rules: cloudflare (the profile), collapse (false: the request shares no fetch with others), follows (a purge log)
-- The action has a kind:
--   serve_fresh, serve_stale: serve the entry with this cache_status
--   serve_while_revalidating: the same, and `fetch` in the background unless a fetch of the key is running
--   gateway_timeout: 504, RFC 9111 §5.2.1.7
--   revalidate: ask with the entry's validators, RFC 9111 §4.3
--   fetch: ask for the whole response, and relay it
--   fetch_whole: ask for the whole response, store it, then evaluate the request's condition or range on it
--   forward: ask with the request's own method, condition and range
-- The last four have `may_wait` (a running fetch of the same key may answer this request) and `fetch`, the options of
-- fetch.lua: method, entry, own_conditions, no_store, collapsing.
function _M.decide(entry, request, now_s, rules)
  local directives = directives_of(request, rules)
  local served = entry and serve(entry, request, directives, now_s)
  if served then return served end
  if directives["only-if-cached"] ~= nil then return GATEWAY_TIMEOUT end
  return ask(entry, request, directives, rules)
end

return _M
