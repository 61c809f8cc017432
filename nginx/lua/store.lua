-- Stored responses: a shared index (key → place), the bytes in segments, and parsed entries in this worker's memory.
local cjson = require("cjson.safe")
local journal = require("journal")
local no_vary_search = require("no_vary_search")
local prepare = require("prepared")
local purges = require("purges")
local recent = require("recent")
local segments = require("segments")
local vary = require("vary")
local index = ngx.shared.index

local _M = {}

-- Bodies up to this size are read with their head, and stay in memory while the entry is among those used last.
_M.SMALL_BYTES = 64 * 1024
local PARSED_BYTES_MAX = 32 * 1024 * 1024
local SELECTIONS_MAX = 4

--- Reasons not to store a response: a newer one is stored, or a purge may have made this one outdated.
_M.SUPERSEDED = { ["purged meanwhile"] = true, ["a newer one is stored"] = true, ["replaced meanwhile"] = true }

local parsed = recent.new(PARSED_BYTES_MAX)

-- The value of a key in the index is a place, or "|" and the selections of vary.lua under which the responses are.
-- A place: "=head segment:offset:length:body segment:offset:length:when it was marked stale, or 0".
local PLACE = "^=(%d+):(%d+):(%d+):(%d+):(%d+):(%d+):(%d+)$"

-- A full index forgets what was not used for longest. The journal still has it.
local function set(key, value)
  journal.add("i", key, value)
  local _, _, forcible = index:set(key, value)
  if forcible then journal.note_forgotten() end
end

local function remove(key)
  journal.add("d", key)
  index:delete(key)
end

-- The place of an entry whose head was just written.
local function place_of(entry, segment, offset, head)
  local body_segment, body_offset, body_bytes = entry.body_segment, entry.body_offset, entry.body_bytes
  return string.format("=%d:%d:%d:%d:%d:%d:0", segment, offset, #head, body_segment, body_offset, body_bytes)
end

local function load(key, place)
  local head_segment, head_offset, head_bytes, body_segment, body_offset, body_bytes, stale_s =
    string.match(place, PLACE)
  if not head_segment then return nil end
  head_offset, head_bytes = tonumber(head_offset), tonumber(head_bytes)
  body_offset, body_bytes = tonumber(body_offset), tonumber(body_bytes)
  local small = body_bytes <= _M.SMALL_BYTES
  local head, body
  if small and head_segment == body_segment and body_offset == head_offset + head_bytes then
    local both = segments.read(head_segment, head_offset, head_bytes + body_bytes)
    if not both then return nil end
    head, body = string.sub(both, 1, head_bytes), string.sub(both, head_bytes + 1)
  else
    head = segments.read(head_segment, head_offset, head_bytes)
    body = head and small and segments.read(body_segment, body_offset, body_bytes)
    if not head or small and not body then return nil end
  end
  local entry = cjson.decode(head)
  if not entry or string.sub(key, 1, #entry.base) ~= entry.base then return nil end
  entry.key, entry.place, entry.body = key, place, body or nil
  entry.body_segment, entry.body_offset, entry.body_bytes = body_segment, body_offset, body_bytes
  entry.head_bytes = #head
  entry.url_marked_s = stale_s ~= "0" and tonumber(stale_s) or nil
  prepare(entry)
  return entry
end

local function get(key, place)
  local entry = parsed:get(key)
  if not entry or entry.place ~= place then
    entry = load(key, place)
    if not entry then
      remove(key)
      return nil
    end
    parsed:set(key, entry)
  end
  local void, marked_s = purges.judge(entry)
  if void then
    remove(key)
    return nil
  end
  entry.stale_since_s = marked_s or entry.url_marked_s
  return entry
end

local function find(base, request)
  local value = index:get(base)
  if not value then return nil, base, "uri-miss" end
  if string.byte(value) == 61 then return get(base, value), base, "uri-miss" end
  local first, missed, newest = nil, "vary-miss", nil
  for selection in string.gmatch(value, "[^|]+") do
    local key = vary.key(base, selection, request)
    first = first or key
    local place = index:get(key)
    local entry = place and get(key, place)
    if entry and not (newest and vary.is_newer(newest, entry, ngx.time())) then newest = entry end
    -- This variant was stored, and is purged or evicted; whether others are left is not known.
    if place then missed = "miss" end
  end
  if newest then return newest, newest.key end
  return nil, first or base, missed
end

--- Returns the entry for a request (its key is `base`), the key for its response, as far as known, and without an
-- entry which miss of RFC 9211 §2.2 it is.
function _M.find(base, request)
  local entry, key, missed = find(base, request)
  if entry and not no_vary_search.serves(entry, request) then return nil, key, "miss" end
  return entry, key, missed
end

--- Returns the entry of an address with one response for all requests, if it is parsed already.
function _M.find_plain(base)
  local place = index:get(base)
  local entry = place and parsed:get(base)
  if not entry or entry.place ~= place then return nil end
  return get(base, place)
end

--- Parses the entry of such an address. Returns whether there is one. Apart from the above, which LuaJIT compiles.
function _M.parse_plain(base)
  local place = index:get(base)
  return place ~= nil and string.byte(place) == 61 and get(base, place) ~= nil
end

local function remember_selection(base, selection)
  local value = index:get(base)
  local others = {}
  if value and string.byte(value) ~= 61 then
    for other in string.gmatch(value, "[^|]+") do
      if other ~= selection and #others < SELECTIONS_MAX - 1 then others[#others + 1] = other end
    end
  end
  table.insert(others, 1, selection)
  set(base, "|" .. table.concat(others, "|"))
end

local HEAD_FIELDS = {
  "status", "headers", "requested_s", "received_s", "lifetime_s", "initial_age_s", "always_validate",
  "stale_forbidden", "stale_while_revalidate_s", "stale_if_error_s", "clock", "base", "host", "host_name", "uri",
  "tags", "groups", "any_tag", "shares_address", "etag", "last_modified", "date", "revision", "targeted",
  "no_vary_search",
}

local function encode(entry)
  local head = {}
  for _, name in ipairs(HEAD_FIELDS) do head[name] = entry[name] end
  return cjson.encode(head)
end

local function commit(entry, request, place)
  if purges.address_purged_s(entry) or purges.judge(entry) then return nil, "purged meanwhile" end
  if entry.no_vary_search and not purges.marks_paths_since(entry) then return nil, "purged meanwhile" end
  no_vary_search.remember(entry)
  local selection = entry.selection
  local key = selection and vary.key(entry.base, selection, request) or entry.base
  local before = index:get(key)
  local old = before and (parsed:get(key) or load(key, before))
  if old and old.place == before and old.requested_s > entry.requested_s and not purges.judge(old) then
    return nil, "a newer one is stored"
  end
  if selection then remember_selection(entry.base, selection) end
  local soft_s = purges.address_purged_s(entry, true)
  if soft_s then place = string.gsub(place, "0$", soft_s) end
  set(key, place)
  -- Another worker may have purged it between the check and the write.
  entry.judged_at = nil
  if purges.address_purged_s(entry) or purges.judge(entry) then
    remove(key)
    return nil, "purged meanwhile"
  end
  entry.key, entry.place, entry.stale_since_s, entry.url_marked_s = key, place, soft_s, soft_s
  parsed:set(key, entry)
  return entry
end

--- Stores an entry. body: a string, or {segment, bytes} for one that is already on disk.
-- Returns the entry, or nil and a reason.
function _M.put(entry, request, body)
  -- With a key of more than the address, a purge of the address reaches it only by the marks of purges.lua.
  entry.shares_address = entry.selection ~= nil or entry.base ~= request.address or entry.no_vary_search ~= nil
  local head = encode(entry)
  if type(body) == "string" then
    local segment, offset = segments.append(head .. body)
    if not segment then return nil, offset end
    entry.body, entry.body_segment, entry.body_offset, entry.body_bytes = body, segment, offset + #head, #body
    return commit(entry, request, place_of(entry, segment, offset, head))
  end
  local segment, offset = segments.append(head)
  if not segment then return nil, offset end
  entry.body, entry.body_segment, entry.body_offset, entry.body_bytes = nil, body.segment, 0, body.bytes
  return commit(entry, request, place_of(entry, segment, offset, head))
end

--- Stores a new head for the same body, after a 304.
function _M.put_head(entry, old)
  -- Its place depends on the header.
  if entry.no_vary_search ~= old.no_vary_search then
    _M.forget(old)
    return nil, "replaced meanwhile"
  end
  entry.base, entry.shares_address = old.base, old.shares_address
  local head = encode(entry)
  local segment, offset = segments.append(head)
  if not segment then return nil, offset end
  -- The body is that of the old entry, which may have had other tags.
  local void, stale_since_s = purges.judge({
    clock = entry.clock, host = old.host, host_name = old.host_name, uri = old.uri,
    tags = old.tags, groups = old.groups, any_tag = old.any_tag,
    shares_address = old.shares_address, no_vary_search = old.no_vary_search,
  })
  if void and index:get(old.key) == old.place then remove(old.key) end
  if void or stale_since_s or purges.judge(entry) then return nil, "purged meanwhile" end
  entry.body, entry.body_segment = old.body, old.body_segment
  entry.body_offset, entry.body_bytes = old.body_offset, old.body_bytes
  entry.key, entry.place = old.key, place_of(entry, segment, offset, head)
  entry.stale_since_s, entry.url_marked_s = nil, nil
  if index:get(old.key) ~= old.place then return nil, "replaced meanwhile" end
  set(old.key, entry.place)
  parsed:set(old.key, entry)
  return entry
end

--- Whether the body can still be sent; large ones may have been evicted.
function _M.has_body(entry)
  if entry.body or entry.body_bytes == 0 then return true end
  local file = segments.open(entry.body_segment)
  if file then file:close() end
  return file ~= nil
end

--- Removes an entry, unless a newer one is stored under its key.
function _M.forget(entry)
  if index:get(entry.key) == entry.place then remove(entry.key) end
end

--- Notes that the response of a key was withdrawn, although nothing is stored under it: a replay might find it.
function _M.withdraw(key)
  if journal.has_forgotten() and not index:get(key) then remove(key) end
end

--- Purges one address; `address` is the key of host and path alone.
function _M.purge_url(address, soft)
  purges.url(address, soft)
  local value = index:get(address)
  -- A replay might find what the index has forgotten.
  if not value then return remove(address) end
  if not soft then
    remove(address)
  elseif string.byte(value) == 61 then
    set(address, (string.gsub(value, ":%d+$", ":" .. ngx.time())))
  end
end

journal.join("id", {
  apply = function(kind, key, value)
    local _, forcible
    if kind == "i" then _, _, forcible = index:set(key, value) else index:delete(key) end
    if forcible then journal.note_forgotten() end
  end,
  each = function(write)
    for _, key in ipairs(index:get_keys(0)) do
      local value = index:get(key)
      if value then write("i", key, value) end
    end
  end,
  done = function(whole)
    if not whole then index:flush_all() end
  end,
})

return _M
