-- Which stored responses no purge had reached, and at which count of purges.lua that was: while the count stands, they
-- need no second look. One slot for each hash of a key; a key that takes the slot of another costs that one a look.
local bit = require("bit")
local ffi = require("ffi")
local heads = require("head")
local purges = require("purges")

local band = bit.band

local _M = {}

local SLOTS = 2 ^ 19

ffi.cdef("typedef struct { uint32_t segment, offset; double marked; } stevec_judged;")
local slots = ffi.new("stevec_judged[?]", SLOTS)

--- Whether the response at this place was found untouched when the count stood where it is now.
-- hash: the CRC-32 of its key; place: a pointer to it, see place.lua; marked: the count
function _M.is_untouched(hash, place, marked)
  local slot = slots[band(hash, SLOTS - 1)]
  return slot.offset == place.head_offset and slot.segment == place.head_segment and slot.marked == marked
end

--- Whether no purge has reached the response whose head is at `from`, by a look at its tags and groups; notes it.
-- marked: the count before that look
function _M.judge(hash, place, marked, from)
  local entry = heads.decode(from, place.head_bytes)
  if not entry then return false end
  local void, stale_since_s = purges.judge(entry)
  if void or stale_since_s then return false end
  local slot = slots[band(hash, SLOTS - 1)]
  slot.segment, slot.offset, slot.marked = place.head_segment, place.head_offset, marked
  return true
end

return _M
