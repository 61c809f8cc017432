-- Builds cache entries from the origin's responses, selects the headers to store and forward, and applies 304s.
local cache_groups = require("cache_groups")
local compressible = require("compressible")
local freshness = require("freshness")
local no_vary_search = require("no_vary_search")
local prepared = require("prepared")
local requests = require("request")
local settings = require("settings")
local vary = require("vary")

local lower = string.lower

local _M = {}

local TAGS_MAX = 1000
-- Hop-by-hop headers (RFC 9110 §7.6.1) and headers that concern one cache only: the edge computes Age anew, and sets or
-- consumes the others itself.
local DROPPED = {
  connection = true, ["keep-alive"] = true, ["proxy-connection"] = true, ["proxy-authenticate"] = true,
  ["proxy-authentication-info"] = true, ["proxy-authorization"] = true, te = true, trailer = true,
  ["transfer-encoding"] = true, upgrade = true,
  ["content-length"] = true, age = true,
  ["cf-cache-status"] = true, ["cf-ray"] = true, ["cache-tag"] = true, ["cloudflare-cdn-cache-control"] = true,
}
-- RFC 9111 §3.2: these describe the stored bytes (encoding, length, digest). A 304 has no bytes and cannot update them.
local NOT_UPDATED = {
  ["content-length"] = true, ["content-encoding"] = true, ["content-range"] = true, ["content-md5"] = true,
  ["content-digest"] = true,
}
local JUDGED = {
  "lifetime_s", "initial_age_s", "always_validate", "stale_forbidden", "stale_while_revalidate_s", "stale_if_error_s",
  "bounded",
}

-- Of a cache that follows the purge log. Another one, behind this edge, would take an old response for a new one.
local FOLLOWERS = "stevec-cache-control"

--- Returns {name, value} for each header line that is stored or forwarded.
function _M.kept_headers(headers, fields)
  local listed = {}
  for _, line in ipairs(fields.connection or {}) do
    for name in string.gmatch(lower(line), "[^%s,]+") do listed[name] = true end
  end
  local kept = {}
  for _, header in ipairs(headers) do
    local name = lower(header[1])
    local consumed = DROPPED[name] or name == FOLLOWERS and settings.follow ~= nil
    if not consumed and not listed[name] then kept[#kept + 1] = header end
  end
  return kept
end

-- Returns the tags, and true when there are more than TAGS_MAX: the purge of any tag then voids the entry.
local function tags_of(fields)
  local tags = {}
  for _, line in ipairs(fields["cache-tag"] or {}) do
    for tag in string.gmatch(lower(line), "[^,]+") do
      tag = string.match(tag, "^%s*(.-)%s*$")
      if tag ~= "" then
        if #tags == TAGS_MAX then return tags, true end
        tags[#tags + 1] = tag
      end
    end
  end
  return tags, nil
end

local function fill(entry, fields, judgement)
  for _, name in ipairs(JUDGED) do entry[name] = judgement[name] end
  entry.etag = fields.etag and fields.etag[1]
  entry.last_modified = fields["last-modified"] and fields["last-modified"][1]
  entry.date = fields.date and fields.date[1]
  entry.no_vary_search = no_vary_search.said_by(fields)
  entry.revision = fields["page-revision"] and fields["page-revision"][1] or ""
  return entry
end

local function dated(headers, fields, received_s)
  if fields.date then return end
  -- RFC 9110 §6.6.1: the recipient adds a Date to a response that has none.
  local date = ngx.http_time(math.floor(received_s))
  headers[#headers + 1] = { "Date", date }
  fields.date = { date }
end

--- Builds the entry for a complete response; nil when Vary names too many headers.
-- clock: the purge clock (purges.lua) at the time of the request to the origin
function _M.entry(answer, judgement, request, clock)
  local headers = _M.kept_headers(answer.headers, answer.fields)
  dated(headers, answer.fields, answer.received_s)
  local selection, too_many = vary.selection(answer.fields)
  if too_many then return nil end
  compressible.mark(answer.status, headers)
  local tags, any_tag = tags_of(answer.fields)
  local groups, any_group = cache_groups.of(answer.fields)
  return fill({
    status = answer.status, headers = headers, requested_s = answer.requested_s, received_s = answer.received_s,
    clock = clock, base = requests.base(request, no_vary_search.said_by(answer.fields)),
    host = request.host, host_name = request.host_name, uri = request.uri,
    tags = tags, groups = groups, any_tag = any_tag or any_group, selection = selection,
    -- Never forwarded, but stored: a later 304 without this header must not change what it said.
    targeted = answer.fields["cloudflare-cdn-cache-control"],
  }, answer.fields, judgement)
end

local function grouped(headers)
  local fields = {}
  for _, header in ipairs(headers) do
    local name = lower(header[1])
    fields[name] = fields[name] or {}
    table.insert(fields[name], header[2])
  end
  return fields
end

--- Applies the headers of a 304 (or a HEAD) to a stored entry, RFC 9111 §4.3.4.
-- Returns the new entry, its judgement, and whether it may be stored in the place of the old one.
function _M.updated(old, answer, clock, authorized)
  local headers = {}
  local kept = _M.kept_headers(answer.headers, answer.fields)
  local replaced = { date = true }
  for _, header in ipairs(kept) do
    local name = lower(header[1])
    if not NOT_UPDATED[name] then replaced[name] = true end
  end
  for _, header in ipairs(prepared.lines(old)) do
    if not replaced[lower(header[1])] then headers[#headers + 1] = header end
  end
  for _, header in ipairs(kept) do
    if not NOT_UPDATED[lower(header[1])] then headers[#headers + 1] = header end
  end
  -- The stored Vary has what this adds, too.
  compressible.mark(old.status, headers)
  local fields = grouped(headers)
  dated(headers, fields, answer.received_s)
  fields.age, fields[FOLLOWERS] = answer.fields.age, answer.fields[FOLLOWERS]
  fields["cloudflare-cdn-cache-control"] = answer.fields["cloudflare-cdn-cache-control"] or old.targeted
  local judgement = freshness.judge({
    status = old.status, fields = fields, requested_s = answer.requested_s, received_s = answer.received_s,
    authorized = authorized,
  }, settings.freshness)
  local tags, any_tag = old.tags, old.any_tag
  if answer.fields["cache-tag"] then tags, any_tag = tags_of(answer.fields) end
  local groups, any_group = cache_groups.of(fields)
  local entry = fill({
    status = old.status, headers = headers, requested_s = answer.requested_s, received_s = answer.received_s,
    clock = clock, base = old.base, host = old.host, host_name = old.host_name, uri = old.uri,
    tags = tags, groups = groups, any_tag = any_tag or any_group,
  }, fields, judgement)
  entry.targeted = fields["cloudflare-cdn-cache-control"]
  -- Its key is made from the Vary that it had.
  local moved = vary.selection(fields) ~= vary.selection(grouped(prepared.lines(old)))
  return entry, judgement, judgement.storable and not moved
end

return _M
