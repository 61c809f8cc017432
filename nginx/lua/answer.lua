-- What of an origin's answer is kept and handed on, and how a 304 changes what is kept.
local freshness = require("freshness")
local settings = require("settings")
local vary = require("vary")

local lower = string.lower

local _M = {}

local TAGS_MAX = 1000
-- RFC 9110 §7.6.1; then what belongs to one hop's cache alone: Age is computed anew, and the rest is the edge's own to say.
local DROPPED = {
  connection = true, ["keep-alive"] = true, ["proxy-connection"] = true, ["proxy-authenticate"] = true, ["proxy-authentication-info"] = true,
  te = true, trailer = true, ["transfer-encoding"] = true, upgrade = true, ["content-length"] = true, age = true,
  ["cf-cache-status"] = true, ["cf-ray"] = true, ["cache-tag"] = true, ["cloudflare-cdn-cache-control"] = true,
}
-- How the stored bytes are to be read, or a digest of them: a 304 has no bytes of its own. RFC 9111 §3.2.
local NOT_UPDATED = { ["content-length"] = true, ["content-encoding"] = true, ["content-range"] = true, ["content-md5"] = true, ["content-digest"] = true }

-- {name, value} of each line that goes on.
function _M.kept_headers(headers, fields)
  local listed = {}
  for _, line in ipairs(fields.connection or {}) do
    for name in string.gmatch(lower(line), "[^%s,]+") do listed[name] = true end
  end
  local kept = {}
  for _, header in ipairs(headers) do
    local name = lower(header[1])
    if not DROPPED[name] and not listed[name] then kept[#kept + 1] = header end
  end
  return kept
end

-- The tags, and whether there are more than are kept; the purge of any tag takes such an answer along.
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
  for _, name in ipairs({ "lifetime_s", "initial_age_s", "always_validate", "stale_forbidden", "stale_while_revalidate_s", "stale_if_error_s" }) do
    entry[name] = judgement[name]
  end
  entry.etag, entry.last_modified = fields.etag and fields.etag[1], fields["last-modified"] and fields["last-modified"][1]
  entry.date = fields.date and fields.date[1]
  entry.revision = fields["page-revision"] and fields["page-revision"][1] or ""
  return entry
end

local function dated(headers, fields, received_s)
  if fields.date then return end
  -- RFC 9110 §6.6.1: who receives an answer without a date gives it one.
  local date = ngx.http_time(math.floor(received_s))
  headers[#headers + 1] = { "Date", date }
  fields.date = { date }
end

-- What is stored of a whole answer. `clock`: of purges.lua, when it was asked for.
function _M.entry(answer, judgement, request, clock)
  local headers = _M.kept_headers(answer.headers, answer.fields)
  dated(headers, answer.fields, answer.received_s)
  local selection, too_many = vary.selection(answer.fields)
  if too_many then return nil end
  local tags, any_tag = tags_of(answer.fields)
  return fill({
    status = answer.status, headers = headers, requested_s = answer.requested_s, received_s = answer.received_s, clock = clock,
    base = request.base, host = request.host, host_name = request.host_name, uri = request.uri, tags = tags, any_tag = any_tag, selection = selection,
    -- Never handed on, but a later 304 without it must not change what it said.
    targeted = answer.fields["cloudflare-cdn-cache-control"],
  }, answer.fields, judgement)
end

-- A stored answer with what a 304 (or a HEAD) says over it, and the judgement of the result. RFC 9111 §4.3.4.
function _M.updated(old, answer, clock, authorized)
  local fields, headers = {}, {}
  local kept = _M.kept_headers(answer.headers, answer.fields)
  local replaced = { date = true }
  for _, header in ipairs(kept) do
    local name = lower(header[1])
    if not NOT_UPDATED[name] then replaced[name] = true end
  end
  for _, header in ipairs(old.headers) do
    if not replaced[lower(header[1])] then headers[#headers + 1] = header end
  end
  for _, header in ipairs(kept) do
    if not NOT_UPDATED[lower(header[1])] then headers[#headers + 1] = header end
  end
  for _, header in ipairs(headers) do
    local name = lower(header[1])
    fields[name] = fields[name] or {}
    table.insert(fields[name], header[2])
  end
  dated(headers, fields, answer.received_s)
  fields.age = answer.fields.age
  fields["cloudflare-cdn-cache-control"] = answer.fields["cloudflare-cdn-cache-control"] or old.targeted
  local judgement = freshness.judge({
    status = old.status, fields = fields, requested_s = answer.requested_s, received_s = answer.received_s, authorized = authorized,
  }, settings.freshness)
  local tags, any_tag = old.tags, old.any_tag
  if answer.fields["cache-tag"] then tags, any_tag = tags_of(answer.fields) end
  local entry = fill({
    status = old.status, headers = headers, requested_s = answer.requested_s, received_s = answer.received_s, clock = clock,
    base = old.base, host = old.host, host_name = old.host_name, uri = old.uri,
    tags = tags, any_tag = any_tag,
  }, fields, judgement)
  entry.targeted = fields["cloudflare-cdn-cache-control"]
  return entry, judgement
end

return _M
