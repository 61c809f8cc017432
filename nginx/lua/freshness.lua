-- Decides what may be stored, how long it is fresh and when it may be served stale.
-- RFC 9111 §3 and §4.2, RFC 9213, RFC 5861. No I/O and no clock: all input comes as arguments.
local cache_control = require("cache_control")
local http_date = require("http_date")
local structured_field = require("structured_field")

local floor, max, min = math.floor, math.max, math.min
local find, match = string.find, string.match
local delta_s = cache_control.delta_s

local _M = {}

-- In the order of https://developers.cloudflare.com/cache/concepts/cdn-cache-control/
local TARGETED = { "cloudflare-cdn-cache-control", "cdn-cache-control" }
-- For caches that follow the purge log of a wiki, on responses that say which part of it they cover.
local FOLLOWERS, POSITION = "stevec-cache-control", "purge-log-position"
-- https://developers.cloudflare.com/cache/how-to/configure-cache-status-code/
local DEFAULT_TTL_S = { [200] = 7200, [301] = 7200, [302] = 1200, [303] = 1200, [404] = 180, [410] = 180 }
-- Heuristically cacheable statuses of RFC 9110 §15.1, without 206, which is not stored here.
local HEURISTIC = {
  [200] = true, [203] = true, [204] = true, [300] = true, [301] = true, [308] = true, [404] = true, [405] = true,
  [410] = true, [414] = true, [501] = true,
}
-- These depend on a condition or range of one request, which is not part of the key: RFC 9110 §15.5.13 and §15.5.17.
-- The same is true of 206 and 304, which are handled separately. A 407 depends on the credentials of the edge itself.
local OF_ONE_REQUEST = { [206] = true, [304] = true, [407] = true, [412] = true, [416] = true }
-- RFC 9111 §4.2.2 names a tenth as typical.
local HEURISTIC_FRACTION = 0.1
local HEURISTIC_MAX_S = 86400

-- The final status codes of RFC 9110, and those that RFC 6585 and RFC 7725 add.
local UNDERSTOOD = {}
local UNDERSTOOD_RANGES = {
  { 200, 205 }, { 300, 303 }, { 305, 308 }, { 400, 417 }, { 421, 422 }, { 426, 426 }, { 428, 429 }, { 431, 431 },
  { 451, 451 }, { 500, 505 }, { 511, 511 },
}
for _, range in ipairs(UNDERSTOOD_RANGES) do
  for status = range[1], range[2] do UNDERSTOOD[status] = true end
end

local function targeted_policy(fields, name)
  local lines = fields[name]
  local directives = lines and structured_field.dictionary(table.concat(lines, ", "))
  return directives and next(directives) ~= nil and directives or nil
end

-- Returns the effective directives, and true when they are from a targeted field: Cache-Control and Expires do not
-- count then, RFC 9213 §2.2. The third result: they hold while the purge log is followed.
local function policy_of(fields, options)
  local directives = options.follows and fields[POSITION] and targeted_policy(fields, FOLLOWERS)
  if directives then return directives, true, true end
  for index = 1, #TARGETED do
    directives = targeted_policy(fields, TARGETED[index])
    if directives then return directives, true, false end
  end
  local lines = fields["cache-control"]
  return lines and cache_control.parse(table.concat(lines, ", ")) or {}, false, false
end

local function date_of(fields, name, now_s)
  local lines = fields[name]
  return lines and http_date.parse(lines[1], now_s)
end

-- Returns seconds, and whether the origin set them; nil when nothing sets a lifetime.
-- An unreadable value means stale, RFC 9111 §4.2.1.
local function lifetime_of(response, options, policy, targeted, date_s)
  for _, name in ipairs({ "s-maxage", "max-age" }) do
    if policy[name] ~= nil then return delta_s(policy[name]) or 0, true end
  end
  local fields, status = response.fields, response.status
  if not targeted and fields.expires then
    local expires_s = date_of(fields, "expires", response.received_s)
    return expires_s and max(0, expires_s - date_s) or 0, true
  end
  if options.default_ttls and DEFAULT_TTL_S[status] then return DEFAULT_TTL_S[status], false end
  if options.heuristics and (HEURISTIC[status] or policy.public) then
    local modified_s = date_of(fields, "last-modified", response.received_s)
    if modified_s and modified_s < date_s then
      return min(HEURISTIC_MAX_S, floor((date_s - modified_s) * HEURISTIC_FRACTION)), false
    end
  end
  return nil, false
end

-- The age on arrival, RFC 9111 §4.2.3.
local function initial_age_of(response, date_s)
  local lines = response.fields.age
  -- §5.1: the first member of a list counts; a value that is not a number is ignored.
  local member = lines and match(lines[1], "^%s*([^,]-)%s*,") or lines and match(lines[1], "^%s*(.-)%s*$")
  local apparent_s = max(0, floor(response.received_s) - date_s)
  return max(apparent_s, (delta_s(member) or 0) + max(0, response.received_s - response.requested_s))
end

local function lists_star(lines)
  for index = 1, lines and #lines or 0 do
    if find("," .. lines[index] .. ",", ",%s*%*%s*,") then return true end
  end
  return false
end

-- Returns the reason why the response must not be stored, or nil. `explicit`: the origin set the lifetime.
local function prohibition(response, options, policy, lifetime_s, explicit)
  local understood = UNDERSTOOD[response.status]
  -- RFC 9111 §5.2.2.3: for a cache that understands the status, must-understand overrides no-store.
  if policy["must-understand"] ~= nil then
    if not understood then return "must-understand" end
  elseif policy["no-store"] ~= nil then
    return "no-store"
  end
  if policy.private ~= nil then return "private" end
  -- RFC 9111 §3.5.
  local shared = policy.public ~= nil or policy["s-maxage"] ~= nil or policy["must-revalidate"] ~= nil
  if response.authorized and not shared then return "authorization" end
  if lists_star(response.fields.vary) then return "vary" end
  -- RFC 9111 §7.3: a response with Set-Cookie may be stored when the origin intends it; Cloudflare does not store it.
  if response.fields["set-cookie"] and (options.cloudflare or not explicit) then return "set-cookie" end
  if options.cloudflare then
    if policy["no-cache"] ~= nil then return "no-cache" end
    local stale_allowed = delta_s(policy["stale-while-revalidate"]) or delta_s(policy["stale-if-error"])
    if explicit and lifetime_s == 0 and not stale_allowed then return "lifetime 0" end
  end
  return nil
end

--- Judges a response of the origin.
-- response: status, fields (lower-case name → list of lines), requested_s, received_s,
-- authorized (the request had Authorization)
-- options: cloudflare, default_ttls, heuristics, follows (booleans)
-- Returns storable, bypass (storing is forbidden, not merely not allowed), lifetime_s, initial_age_s, always_validate,
-- stale_forbidden, stale_while_revalidate_s, stale_if_error_s, bounded (it may be served while the purge log is
-- followed), log_position (which part of that it covers, or nil)
function _M.judge(response, options)
  local fields, status = response.fields, response.status
  local policy, targeted, bounded = policy_of(fields, options)
  local date_s = date_of(fields, "date", response.received_s) or floor(response.received_s)
  local lifetime_s, explicit = lifetime_of(response, options, policy, targeted, date_s)
  local initial_age_s = initial_age_of(response, date_s)
  -- s-maxage implies proxy-revalidate, RFC 9111 §5.2.2.10.
  local stale_forbidden = policy["must-revalidate"] ~= nil or policy["proxy-revalidate"] ~= nil
    or policy["s-maxage"] ~= nil or policy["no-cache"] ~= nil
  local stale_while_revalidate_s = stale_forbidden and 0 or delta_s(policy["stale-while-revalidate"]) or 0
  local stale_if_error_s = stale_forbidden and 0 or delta_s(policy["stale-if-error"]) or 0
  local always_validate = policy["no-cache"] ~= nil

  local reason = prohibition(response, options, policy, lifetime_s, explicit)
  local storable = reason == nil and status >= 200 and not OF_ONE_REQUEST[status]
  if storable then
    local reusable = lifetime_s ~= nil and lifetime_s > initial_age_s and not always_validate
    local validator = fields.etag ~= nil or fields["last-modified"] ~= nil
    -- RFC 9111 §3: the origin or the status must allow storing.
    -- What can be neither served nor validated is not worth storing.
    local allowed = lifetime_s ~= nil or not options.cloudflare and (policy.public ~= nil or HEURISTIC[status] == true)
    storable = allowed and (reusable or validator or stale_while_revalidate_s > 0 or stale_if_error_s > 0)
  end
  return {
    storable = storable,
    bypass = reason ~= nil,
    lifetime_s = lifetime_s or 0,
    initial_age_s = initial_age_s,
    always_validate = always_validate,
    stale_forbidden = stale_forbidden,
    stale_while_revalidate_s = stale_while_revalidate_s,
    stale_if_error_s = stale_if_error_s,
    bounded = bounded,
    log_position = bounded and fields[POSITION][1] or nil,
  }
end

--- Returns whether other requests may get the response, and whether they could if it had come without delay: the
-- origin's directives decide the second, a moment of high load does not.
function _M.reusable(judgement, response)
  if judgement.always_validate then return false, false end
  local left_s = judgement.lifetime_s - judgement.initial_age_s
  return left_s > 0, left_s + (response.received_s - response.requested_s) > 0
end

--- RFC 9111 §4.2.3: the current age in seconds, not rounded.
function _M.age_s(entry, now_s)
  return entry.initial_age_s + max(0, now_s - entry.received_s)
end

--- Returns the seconds of freshness left; negative: the seconds since it became stale.
-- A soft purge makes it stale from that moment.
function _M.left_s(entry, now_s)
  local left_s = entry.lifetime_s - _M.age_s(entry, now_s)
  return entry.stale_since_s and min(left_s, entry.stale_since_s - now_s, 0) or left_s
end

return _M
