-- Before a file of the cache is evicted: what was used since it was stored moves to the end of the queue main.
local ffi = require("ffi")
local files = require("segment_files")
local heads = require("head")
local places = require("place")
local popularity = require("popularity")
local purges = require("purges")
local list = require("segment_list")
local segments = require("segments")
local store = require("store")
local responses = require("stored_response")

local _M = {}

-- A key counts as used when it was stored and found.
local USED = 2
-- The key is at the front of a head, behind its numbers.
local PEEK_BYTES = 2048
-- At most this part of a file of main is kept: to evict has to make room.
local KEPT_PART = 0.5

local function is_used(key)
  if popularity.of(key) < USED then return false end
  popularity.lower(key)
  return true
end

-- Whether a place is in the file: its head at an offset, or its body after a head of these bytes there.
local function is_at(place, id, offset, head_bytes)
  return place.head_segment == id and place.head_offset == offset
    or place.body_segment == id and place.body_offset == offset + head_bytes and place.body_bytes > 0
end

-- Copies head and body to main. Returns the entry, with the place of its body, and the place and size of the head.
local function copy(place)
  local bytes, small = place.body_bytes, place.body_bytes <= responses.SMALL_BYTES
  local from = files.read(place.head_segment, place.head_offset, place.head_bytes)
  local head = from and heads.copy(from, place.head_bytes, small and bytes or 0)
  local entry = head and heads.decode(from, place.head_bytes)
  if not entry or purges.judge(entry) then return nil end
  from = small and files.read(place.body_segment, place.body_offset, bytes)
  if small and not from then return nil end
  local body = small and ffi.string(from, bytes) or ""
  local segment, offset = segments.append(head .. body, "main")
  if not segment then return nil end
  entry.body_segment, entry.body_offset, entry.body_bytes = place.body_segment, place.body_offset, bytes
  if small then entry.body_segment, entry.body_offset = segment, offset + #head end
  return entry, segment, offset, #head
end

-- Moves the entry of a key, if it is at this place of the file and was used; else forgets it, so that the index has
-- room for others. Returns how many bytes of main it takes.
local function keep(key, id, offset, head_bytes, room)
  local value = store.place_of(key)
  local place = value and places.read(value)
  if not place or not is_at(place, id, offset, head_bytes) then return 0 end
  local entry, segment, new_offset, bytes
  if room and is_used(key) then entry, segment, new_offset, bytes = copy(place) end
  if not entry then
    store.drop(key, value)
    return 0
  end
  local new = places.of(entry, segment, new_offset, bytes)
  store.move(entry, value, place.stale_s > 0 and places.stale(new, place.stale_s) or new)
  return bytes + (entry.body_segment == segment and entry.body_bytes or 0)
end

local function rescue(id, bytes, queue)
  local owner = list.owner_of(id)
  if owner then
    local value = store.place_of(owner)
    local place = value and places.read(value)
    if not place or place.body_segment ~= id then return false end
    -- The turn of a head in main decides for both. Before that the body loses no count, or one use would be counted
    -- twice; but in main it may have more turns than the head in its queue, which must not go on for ever.
    if list.is_main(place.head_segment) then return true end
    if queue == "main" then return is_used(owner) end
    return popularity.of(owner) >= USED
  end
  if bytes > segments.SHARED_BYTES_MAX then return false end
  local at, kept_bytes, kept_bytes_max = 0, 0, queue == "main" and bytes * KEPT_PART or math.huge
  while at + heads.FIXED_BYTES <= bytes do
    local length = math.min(PEEK_BYTES, bytes - at)
    local from = files.read(id, at, length)
    if not from then return false end
    local key, head_bytes, followed_by = heads.peek(from, length)
    -- Where the next head begins is not known: the file has one body, and its key was forgotten at a restart.
    if not head_bytes or head_bytes < heads.FIXED_BYTES then return false end
    if key then kept_bytes = kept_bytes + keep(key, id, at, head_bytes, kept_bytes < kept_bytes_max) end
    at = at + head_bytes + followed_by
  end
  return false
end

--- Once, before any eviction.
function _M.init()
  segments.before_eviction(rescue)
end

return _M
