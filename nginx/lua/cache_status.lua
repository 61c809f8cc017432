-- The header Cache-Status, RFC 9211: what this cache did with a request, appended to what the origin's caches sent.
-- request.forwarded is nil while the request is answered from the cache; when it needs the origin, it has
-- why: a value of `fwd`; status: the origin's; stored, collapsed: booleans or nil; detail: a token
local freshness = require("freshness")
local settings = require("settings")

local floor, format = math.floor, string.format

local _M = {}

--- Notes why a request needs the origin, once: later looks of the same request at the cache do not change the reason.
-- entry: the stored response that it selects, or nil; missed: "uri-miss", "vary-miss" or "miss"
function _M.forward(request, entry, missed, now_s)
  if request.forwarded then return end
  local why, detail = missed or "miss", nil
  if entry then
    local fresh = not entry.always_validate and freshness.left_s(entry, now_s) > 0
    local lost = fresh and entry.bounded and not request.leased
    why = fresh and not lost and "request" or "stale"
    if lost then detail = "purge-log-lost" end
  end
  request.forwarded = { why = why, detail = detail }
end

--- The same when parts of the response are stored. list: see fragments.lua; fresh: whether it may be served
function _M.forward_partial(request, list, fresh, now_s)
  if not fresh then return _M.forward(request, list, "miss", now_s) end
  request.forwarded = request.forwarded or { why = "partial" }
end

--- Notes that the request goes to the origin without a look at the cache.
function _M.bypass(request, why, detail)
  request.forwarded = { why = why, detail = detail }
end

--- Notes that the request waits for the fetch of another one.
function _M.collapse(request)
  if request.forwarded then request.forwarded.collapsed = true end
end

--- Notes that the request makes a fetch of its own: a wait for another one was in vain.
function _M.fetch(request)
  local forwarded = request.forwarded
  if forwarded and forwarded.collapsed then forwarded.collapsed = false end
end

--- Notes that the origin's response must not be stored.
function _M.note_forbidden(request)
  request.forwarded.detail = "must-not-store"
end

--- Notes that a stored response takes the place of an error, which may have come without a response.
function _M.note_failure(request, flight)
  request.forwarded.status, request.forwarded.detail = flight.origin_status, "stale-if-error"
end

--- Notes that the origin confirmed the stored response.
function _M.note_validation(request, flight)
  request.forwarded.status, request.forwarded.stored = flight.origin_status, flight.outcome == "stored"
end

--- Notes that the answer comes from what this request's fetch stored.
function _M.note_stored(request, flight)
  request.forwarded.status, request.forwarded.stored = flight.origin_status, true
end

local function forwarded_member(forwarded, ttl_s)
  local parts = { settings.cache_name, ";fwd=", forwarded.why }
  if forwarded.status then parts[#parts + 1] = ";fwd-status=" .. forwarded.status end
  if ttl_s then parts[#parts + 1] = format(";ttl=%d", floor(ttl_s)) end
  if forwarded.stored then parts[#parts + 1] = ";stored" end
  if forwarded.collapsed ~= nil then parts[#parts + 1] = forwarded.collapsed and ";collapsed" or ";collapsed=?0" end
  if forwarded.detail then parts[#parts + 1] = ";detail=" .. forwarded.detail end
  return table.concat(parts)
end

-- Several lines of a list are one list, RFC 9651 §4.2.
local function append(member)
  local before = ngx.header["Cache-Status"]
  if type(before) == "table" then before = table.concat(before, ", ") end
  ngx.header["Cache-Status"] = before and before ~= "" and before .. ", " .. member or member
end

--- Returns the text before the ttl of a hit, with the members of the stored response; nil when no header is sent.
-- lines: those of the stored Cache-Status: nil, a text or a list
function _M.hit_prefix(lines)
  if not settings.cache_status then return nil end
  if type(lines) == "table" then lines = table.concat(lines, ", ") end
  return (lines and lines ~= "" and lines .. ", " or "") .. settings.cache_name .. ";hit;ttl="
end

--- Adds this cache to the header of a response from the entry, after the entry's own headers.
function _M.add_of_entry(entry, request, now_s)
  if not settings.cache_status then return end
  local left_s = freshness.left_s(entry, now_s)
  if request.forwarded then return append(forwarded_member(request.forwarded, left_s)) end
  append(settings.cache_name .. format(";hit;ttl=%d", floor(left_s)))
end

--- Adds this cache to the header of a response that the origin has just sent.
-- status: the origin's; ttl_s: the freshness left when the response is stored, else nil
function _M.add_of_origin(request, status, ttl_s)
  local forwarded = request.forwarded
  if not settings.cache_status or not forwarded then return end
  forwarded.status, forwarded.stored = status, ttl_s ~= nil
  append(forwarded_member(forwarded, ttl_s))
end

return _M
