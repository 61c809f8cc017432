-- Reads a stored response from its place on disk.
local dictionaries = require("dictionaries")
local ffi = require("ffi")
local files = require("segment_files")
local heads = require("head")
local places = require("place")

local text_of = ffi.string

local _M = {}

--- Bodies up to this size are read with their head.
_M.SMALL_BYTES = 64 * 1024

--- Returns the entry, without a look at the purges; nil when its file is evicted. value: the place of the key
function _M.load(key, value)
  local place = places.read(value)
  local head_bytes, body_bytes, body_segment, body_offset =
    place.head_bytes, place.body_bytes, place.body_segment, place.body_offset
  local small = body_bytes <= _M.SMALL_BYTES
  local together = small and place.head_segment == body_segment and body_offset == place.head_offset + head_bytes
  local bytes = files.read(place.head_segment, place.head_offset, together and head_bytes + body_bytes or head_bytes)
  local entry = bytes and heads.decode(bytes, head_bytes)
  if not entry or entry.key ~= key then return nil end
  if together then
    entry.body = text_of(bytes + head_bytes, body_bytes)
  elseif small then
    bytes = files.read(body_segment, body_offset, body_bytes)
    if not bytes then return nil end
    entry.body = text_of(bytes, body_bytes)
  end
  entry.place, entry.head_bytes = value, head_bytes
  entry.body_segment, entry.body_offset, entry.body_bytes = body_segment, body_offset, body_bytes
  if place.stale_s > 0 then entry.url_marked_s = place.stale_s end
  if entry.dictionary then dictionaries.note(entry) end
  return entry
end

return _M
