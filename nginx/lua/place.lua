-- Where an entry is on disk, as the index has it: the files and offsets of head and body, and since when it is stale.
local ffi = require("ffi")

local cast, text_of = ffi.cast, ffi.string

local _M = {}

-- The mark differs from the first byte of the other values of the index ("|", see store.lua).
ffi.cdef([[
  typedef struct {
    uint32_t mark, head_segment, head_offset, head_bytes, body_segment, body_offset, body_bytes, stale_s;
  } stevec_place;
]])
local PLACE, CONST_PLACE = ffi.typeof("stevec_place"), ffi.typeof("const stevec_place *")
local BYTES = ffi.sizeof(PLACE)
local MARK = 0x3d3d3d3d

-- Of an entry whose head was written to a segment; it is not stale.
function _M.of(entry, segment, offset, head_bytes)
  return text_of(PLACE({
    MARK, segment, offset, head_bytes, entry.body_segment, entry.body_offset, entry.body_bytes, 0,
  }), BYTES)
end

--- Whether a value of the index is a place.
function _M.is(value)
  return string.byte(value) == 61 and #value == BYTES
end

--- Returns a pointer to the numbers of a place among bytes; nil when they are another value of the index.
function _M.at(from, bytes)
  local place = cast(CONST_PLACE, from)
  if bytes ~= BYTES or place.mark ~= MARK then return nil end
  return place
end

--- Returns the value of the index that a pointer is at.
function _M.text(place)
  return text_of(place, BYTES)
end

--- Returns a pointer to its numbers, valid as long as the string is.
function _M.read(value)
  return cast(CONST_PLACE, value)
end

--- Returns the same place, stale since a time.
function _M.stale(value, stale_s)
  local place = PLACE(cast(CONST_PLACE, value)[0])
  place.stale_s = stale_s
  return text_of(place, BYTES)
end

return _M
