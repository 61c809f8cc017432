-- The files of segments.lua, for reading. A worker keeps some open: opening one takes longer than reading a piece.
local ffi = require("ffi")
local settings = require("settings")

local _M = {}

local OPEN_MAX = 256

-- POSIX.1-2017, fileno and pread; with offsets of 64 bits on any machine.
ffi.cdef([[
  int fileno(void *);
  long pread64(int, void *, size_t, int64_t);
]])
local C = ffi.C
local BUFFER = ffi.typeof("uint8_t[?]")
local buffer_bytes = 128 * 1024
local buffer = BUFFER(buffer_bytes)

-- By id.
local files, descriptors, count = {}, {}, 0

function _M.path_of(id)
  return settings.cache_directory .. "/" .. id
end

--- Returns the file, open for reading; nil when it was evicted.
function _M.open(id)
  return (io.open(_M.path_of(id), "rb"))
end

--- Closes a file that was evicted.
function _M.close(id)
  if not files[id] then return end
  files[id]:close()
  files[id], descriptors[id], count = nil, nil, count - 1
end

--- Closes the files of which exists(id) says that another worker has evicted them: until then they take room on disk.
function _M.close_evicted(exists)
  for id in pairs(files) do
    if not exists(id) then _M.close(id) end
  end
end

local function descriptor_of(id)
  local descriptor = descriptors[id]
  if descriptor then return descriptor end
  local file = _M.open(id)
  if not file then return nil end
  if count >= OPEN_MAX then _M.close((next(files))) end
  descriptor = C.fileno(file)
  files[id], descriptors[id], count = file, descriptor, count + 1
  return descriptor
end

--- Returns a pointer to the bytes, valid until the next call; nil when they are no longer there.
function _M.read(id, offset, bytes)
  local descriptor = descriptor_of(id)
  if not descriptor then return nil end
  if bytes > buffer_bytes then buffer_bytes, buffer = bytes, BUFFER(bytes) end
  if C.pread64(descriptor, buffer, bytes, offset) ~= bytes then return nil end
  return buffer
end

--- Returns the size of a file in bytes; nil when there is none.
function _M.size_of(id)
  local file = _M.open(id)
  if not file then return nil end
  local bytes = file:seek("end")
  file:close()
  return bytes
end

return _M
