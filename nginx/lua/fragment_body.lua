-- The bytes of stored parts, see fragments.lua: a part has entry; first, the byte of the representation with which the
-- entry's body begins; and from and to, the bytes that are wanted.
local ffi = require("ffi")
local files = require("segment_files")
local responses = require("stored_response")
local segments = require("segments")

local min, sub = math.min, string.sub

local _M = {}

local READ_BYTES = 128 * 1024

--- Returns bytes of a stored part from `at` on; nil when its file was evicted.
function _M.read(part, at)
  local entry, offset = part.entry, at - part.first
  if entry.body then return sub(entry.body, offset + 1, part.to - part.first + 1) end
  local bytes = min(part.to - at + 1, READ_BYTES)
  local from = files.read(entry.body_segment, entry.body_offset + offset, bytes)
  return from and ffi.string(from, bytes)
end

-- Calls write(data) for all bytes of the parts. Other requests go on meanwhile. Returns whether all could be written.
local function each_piece(parts, write)
  for _, part in ipairs(parts) do
    local at = part.from
    while at <= part.to do
      local data = _M.read(part, at)
      if not data or not write(data) then return false end
      at = at + #data
      ngx.sleep(0)
    end
  end
  return true
end

--- Returns the body of the parts, as store.put takes it, or nil. It yields.
function _M.whole(parts, size)
  if size <= responses.SMALL_BYTES then
    local pieces = {}
    local function write(data) pieces[#pieces + 1] = data return true end
    return each_piece(parts, write) and table.concat(pieces) or nil
  end
  local writer = segments.writer()
  if not writer then return nil end
  if not each_piece(parts, writer.write) then return writer.discard() end
  local segment = writer.finish()
  return segment and { segment = segment, bytes = size }
end

return _M
