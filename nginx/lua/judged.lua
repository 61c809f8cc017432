-- Which stored responses no purge had reached, and at which count of purges.lua that was: while the count stands, they
-- need no second look. One slot for each hash of a key; a key that takes the slot of another costs that one a look.
local bit = require("bit")
local ffi = require("ffi")
local places = require("place")
local purges = require("purges")
local responses = require("stored_response")

local band = bit.band

local _M = {}

local SLOTS = 2 ^ 17

ffi.cdef("typedef struct { uint32_t segment, offset; double marked; } stevec_judged;")
local slots = ffi.new("stevec_judged[?]", SLOTS)

--- Whether the response at this place was found untouched when the count stood where it is now.
-- hash: the CRC-32 of its key; place: a pointer to it, see place.lua; marked: the count
function _M.is_untouched(hash, place, marked)
  local slot = slots[band(hash, SLOTS - 1)]
  return slot.offset == place.head_offset and slot.segment == place.head_segment and slot.marked == marked
end

--- Whether no purge has reached the response of a key, by a look at its tags and groups. place: the value of the index
function _M.judge(hash, key, place)
  local entry = responses.load(key, place)
  if not entry then return false end
  local void, marked_s = purges.judge(entry)
  if void or marked_s then return false end
  local slot, at = slots[band(hash, SLOTS - 1)], places.read(place)
  slot.segment, slot.offset, slot.marked = at.head_segment, at.head_offset, entry.judged_at
  return true
end

return _M
