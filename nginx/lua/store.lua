-- Stored responses: a shared index (key → place), the bytes in segments, and parsed entries in this worker's memory.
local claims = require("claims")
local heads = require("head")
local journal = require("journal")
local no_vary_search = require("no_vary_search")
local places = require("place")
local popularity = require("popularity")
local purges = require("purges")
local recent = require("recent")
local files = require("segment_files")
local responses = require("stored_response")
local list = require("segment_list")
local segments = require("segments")
local vary = require("vary")
local index, marks = ngx.shared.index, ngx.shared.purges

local _M = {}

local PARSED_BYTES_MAX = 2 * 1024 * 1024
local SELECTIONS_MAX = 4

--- Reasons not to store a response: a newer one is stored, or a purge may have made this one outdated.
_M.SUPERSEDED = { ["purged meanwhile"] = true, ["a newer one is stored"] = true, ["replaced meanwhile"] = true }

-- What the tables of an entry take beside its body, about; a long head takes several times its length.
local ENTRY_BYTES, HEAD_FACTOR = 4096, 4

local parsed = recent.new(PARSED_BYTES_MAX, function(entry)
  return ENTRY_BYTES + HEAD_FACTOR * (entry.head_bytes or 0) + #(entry.body or "")
end)

-- The value of a key in the index is a place, or "|" and the selections of vary.lua under which the responses are.

-- A full index forgets what was not used for longest. The journal still has it.
local function set(key, value, settles)
  journal.add("i", key, value, nil, settles)
  local _, _, forcible = index:set(key, value)
  if forcible then journal.note_forgotten() end
end

local function remove(key)
  journal.add("d", key)
  index:delete(key)
  journal.settle()
end

local function get(key, place)
  local entry = parsed:get(key)
  if not entry or entry.place ~= place then
    entry = responses.load(key, place)
    if not entry then
      remove(key)
      return nil
    end
    parsed:set(key, entry)
  end
  -- Without a purge since the last look, the answer of purges.judge would be the same.
  if entry.looked_at == marks:get("marked") then return entry end
  local void, marked_s = purges.judge(entry)
  if void then
    remove(key)
    return nil
  end
  entry.stale_since_s, entry.looked_at = marked_s or entry.url_marked_s, entry.judged_at
  return entry
end

local function find(base, request)
  local value = index:get(base)
  if not value then return nil, base, "uri-miss" end
  if places.is(value) then return get(base, value), base, "uri-miss" end
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
  if entry then popularity.note(ngx.crc32_short(key)) end
  if entry and not no_vary_search.serves(entry, request) then return nil, key, "miss" end
  return entry, key, missed
end

--- Returns the entry of a key and its place, or nil.
_M.get = get

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

-- Writes the place of an entry. Returns false when a purge came between the last look at the marks and this.
local function write(entry, place)
  set(entry.key, place)
  entry.judged_at = nil
  if not purges.address_purged_s(entry) and not purges.judge(entry) then return true end
  remove(entry.key)
  return false
end

local function replace(entry, old, place)
  if index:get(entry.key) ~= old then return nil, "replaced meanwhile" end
  if not write(entry, place) then return nil, "purged meanwhile" end
  return true
end

local function commit(entry, place)
  if purges.address_purged_s(entry) or purges.judge(entry) then return nil, "purged meanwhile" end
  if entry.no_vary_search and not purges.marks_paths_since(entry) then return nil, "purged meanwhile" end
  no_vary_search.remember(entry)
  local selection, key = entry.selection, entry.key
  local before = index:get(key)
  local old = before and (parsed:get(key) or responses.load(key, before))
  if old and old.place == before and old.requested_s > entry.requested_s and not purges.judge(old) then
    return nil, "a newer one is stored"
  end
  if selection then remember_selection(entry.base, selection) end
  local soft_s = purges.address_purged_s(entry, true)
  if soft_s then place = places.stale(place, soft_s) end
  if not write(entry, place) then return nil, "purged meanwhile" end
  entry.place, entry.stale_since_s, entry.url_marked_s = place, soft_s, soft_s
  parsed:set(key, entry)
  return entry
end

-- What was used lately, and evicted, does not have to prove itself again.
local function queue_of(key)
  return popularity.of(key) > 0 and "main" or "order"
end

--- Returns the key of the response to a request.
function _M.key_of(entry, request)
  return entry.selection and vary.key(entry.base, entry.selection, request) or entry.base
end

--- Stores an entry. body: a string, or {segment, bytes} for one that is already on disk.
-- Returns the entry, or nil and a reason.
function _M.put(entry, request, body)
  -- With a key of more than the address, a purge of the address reaches it only by the marks of purges.lua.
  entry.shares_address = entry.selection ~= nil or entry.base ~= request.address or entry.no_vary_search ~= nil
  local key = _M.key_of(entry, request)
  entry.key = key
  local queue, small = queue_of(key), type(body) == "string"
  popularity.note(ngx.crc32_short(key))
  local head = heads.encode(entry, small and #body or 0)
  local segment, offset = segments.append(small and head .. body or head, queue)
  if not segment then return nil, offset end
  if small then
    entry.body, entry.body_segment, entry.body_offset, entry.body_bytes = body, segment, offset + #head, #body
  else
    entry.body, entry.body_segment, entry.body_offset, entry.body_bytes = nil, body.segment, 0, body.bytes
    list.name_owner(body.segment, key)
  end
  entry.head_bytes = #head
  return claims.run(key, commit, entry, places.of(entry, segment, offset, #head))
end

--- Stores a new head for the same body, after a 304.
function _M.put_head(entry, old)
  -- Its place depends on the header.
  if entry.no_vary_search ~= old.no_vary_search then
    _M.forget(old)
    return nil, "replaced meanwhile"
  end
  entry.key, entry.base, entry.shares_address = old.key, old.base, old.shares_address
  local head = heads.encode(entry, 0)
  local segment, offset = segments.append(head, queue_of(entry.key))
  if not segment then return nil, offset end
  -- The body is that of the old entry, which may have had other tags.
  local void, stale_since_s = purges.judge({
    clock = entry.clock, host = old.host, host_name = old.host_name, uri = old.uri,
    tags = old.tags, groups = old.groups, any_tag = old.any_tag,
    shares_address = old.shares_address, no_vary_search = old.no_vary_search,
  })
  if (void or purges.judge(old)) and index:get(old.key) == old.place then remove(old.key) end
  if void or old.void or stale_since_s or purges.judge(entry) then return nil, "purged meanwhile" end
  entry.body, entry.body_segment = old.body, old.body_segment
  entry.body_offset, entry.body_bytes = old.body_offset, old.body_bytes
  entry.place, entry.head_bytes = places.of(entry, segment, offset, #head), #head
  entry.stale_since_s, entry.url_marked_s = nil, nil
  local done, why = claims.run(entry.key, replace, entry, old.place, entry.place)
  if not done then return nil, why end
  parsed:set(old.key, entry)
  return entry
end

--- Whether the body can still be sent; large ones may have been evicted.
function _M.has_body(entry)
  if entry.body or entry.body_bytes == 0 then return true end
  local file = files.open(entry.body_segment)
  if file then file:close() end
  return file ~= nil
end

--- Returns the place of a key, see place.lua; nil without an entry.
function _M.place_of(key)
  local value = index:get(key)
  return value and places.is(value) and value or nil
end

--- Forgets a key whose file is evicted, if it still has this place. The journal has it until its next state.
function _M.drop(key, value)
  if index:get(key) == value then index:delete(key) end
  journal.note_forgotten()
end

--- Gives the entry of a key another place, if the key still has the old one.
function _M.move(entry, old, new)
  return claims.run(entry.key, replace, entry, old, new)
end

--- Removes an entry, unless a newer one is stored under its key.
function _M.forget(entry)
  if index:get(entry.key) == entry.place then remove(entry.key) end
end

--- Notes that the response of a key was withdrawn, although nothing is stored under it: a replay might find it.
function _M.withdraw(key)
  if journal.has_forgotten() and not index:get(key) then remove(key) end
end

local function take_out(address, soft)
  local value = index:get(address)
  -- Also without a value: a replay might find what the index has forgotten.
  if not soft or not value then return remove(address) end
  if places.is(value) then
    set(address, places.stale(value, ngx.time()), true)
    journal.settle()
  end
end

--- Purges one address, the key of host and path; after a write by a worker that has not seen the mark.
function _M.purge_url(address, soft)
  purges.url(address, soft)
  claims.wait(address, take_out, address, soft)
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
