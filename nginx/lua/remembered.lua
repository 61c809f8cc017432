-- Remembers a number for stored responses, in bounded memory without tables. One slot for each hash of a key; a key
-- that takes the slot of another lets that one be forgotten.
local bit = require("bit")
local ffi = require("ffi")

local band = bit.band

local _M = {}
_M.__index = _M

ffi.cdef("typedef struct { uint32_t segment, offset; double number; } stevec_remembered;")

--- slots: a power of two
function _M.new(slots)
  return setmetatable({ slots = ffi.new("stevec_remembered[?]", slots), mask = slots - 1 }, _M)
end

--- Whether this number is remembered for a response. hash: the CRC-32 of its key; place: a pointer to it, see place.lua
function _M:is(hash, place, number)
  local slot = self.slots[band(hash, self.mask)]
  return slot.offset == place.head_offset and slot.segment == place.head_segment and slot.number == number
end

function _M:set(hash, place, number)
  local slot = self.slots[band(hash, self.mask)]
  slot.segment, slot.offset, slot.number = place.head_segment, place.head_offset, number
end

return _M
