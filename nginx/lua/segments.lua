-- Bytes on disk, within a limit: small pieces share a file, a large one has its own. The oldest file is evicted first.
local journal = require("journal")
local settings = require("settings")
local dict = ngx.shared.segments

local _M = {}

local SEGMENT_BYTES = 16 * 1024 * 1024

-- The least that is freed on a full disk; request bodies may need some, too.
local ROOM_BYTES = 16 * 1024 * 1024
-- ENOSPC and EDQUOT of Linux.
local DISK_FULL = { [28] = true, [122] = true }

local HANDLES_MAX = 64

-- The file to which this worker appends small pieces.
local current
-- Files that this worker has open for reading, by id: opening one takes longer than reading a piece of it.
local handles, handle_count = {}, 0

local function path_of(id)
  return settings.cache_directory .. "/" .. id
end

local function close_handle(id)
  if not handles[id] then return end
  handles[id]:close()
  handles[id], handle_count = nil, handle_count - 1
end

-- Returns how many bytes the file had.
local function remove(id)
  close_handle(id)
  local bytes = dict:get("s" .. id)
  if not bytes then return 0 end
  dict:delete("s" .. id)
  dict:incr("bytes", -bytes)
  os.remove(path_of(id))
  journal.add("r", id)
  return bytes
end

local function evict(id)
  if current and current.id == id then
    current.file:close()
    current = nil
  end
  return remove(id)
end

-- Frees room on a full disk by removing the oldest files, except `own`. Returns whether there was anything to remove.
local function give_way(own)
  local goal_bytes = math.max((dict:get("bytes") or 0) / 8, ROOM_BYTES)
  local freed_bytes = 0
  for _ = 1, dict:llen("order") do
    if freed_bytes >= goal_bytes then break end
    local oldest = dict:lpop("order")
    if own and oldest == own.id then
      dict:rpush("order", oldest)
    else
      freed_bytes = freed_bytes + evict(oldest)
    end
  end
  if freed_bytes == 0 then return false end
  ngx.log(ngx.WARN, "the disk is full: removed the oldest ", freed_bytes, " bytes of the cache")
  return true
end

-- Adds the file to the eviction order; removes the oldest files when the list itself is full.
local function register(id)
  while not dict:safe_set("s" .. id, 0) or not dict:rpush("order", id) do
    dict:delete("s" .. id)
    local oldest = dict:lpop("order")
    if not oldest then return false end
    evict(oldest)
  end
  return true
end

local function create()
  local id = dict:incr("id", 1, 0)
  journal.add("s", id)
  local file, message, code = io.open(path_of(id), "wb")
  if not file and DISK_FULL[code] and give_way() then file, message = io.open(path_of(id), "wb") end
  if not file then return nil, message end
  -- Unbuffered: written bytes can be read at once, and a full disk fails the write that has no room.
  file:setvbuf("no")
  if not register(id) then
    file:close()
    os.remove(path_of(id))
    journal.add("r", id)
    return nil, "too many files"
  end
  dict:incr("bytes", 0, 0)
  return { id = id, file = file, bytes = 0 }
end

local function make_room()
  while (dict:get("bytes") or 0) > settings.max_size_bytes do
    local oldest = dict:lpop("order")
    if not oldest then return end
    evict(oldest)
  end
end

-- Returns true, or nil, a reason and the system's error number.
local function write(segment, data)
  local done, message, code = segment.file:write(data)
  if not done then return nil, message, code end
  segment.bytes = segment.bytes + #data
  -- nil when the file was the oldest and was evicted meanwhile.
  if not dict:incr("s" .. segment.id, #data) then return nil, "evicted" end
  dict:incr("bytes", #data)
  make_room()
  return true
end

local function append(data)
  local full = current and current.bytes + #data > math.min(SEGMENT_BYTES, settings.max_size_bytes / 8)
  if full or current and not dict:get("s" .. current.id) then
    current.file:close()
    current = nil
  end
  if not current then
    local message
    current, message = create()
    if not current then return nil, message end
  end
  local segment = current
  local offset = segment.bytes
  local done, message, code = write(segment, data)
  if done then return segment.id, offset end
  -- It is unknown how much was written: nothing more is appended.
  if current == segment then
    segment.file:close()
    current = nil
  end
  return nil, message, code
end

--- Returns the file's id and the offset, or nil and a reason.
function _M.append(data)
  local id, offset, code = append(data)
  if not id and DISK_FULL[code] and give_way() then id, offset = append(data) end
  return id, offset
end

--- A file for one large piece that arrives in parts: write(data), then finish() or discard().
function _M.writer()
  local segment, message = create()
  if not segment then return nil, message end
  local gave_way = false
  return {
    id = segment.id,
    write = function(data)
      local done, reason, code = write(segment, data)
      -- Once per file: a piece that is too large for the disk does not empty the cache.
      if done or gave_way or not DISK_FULL[code] then return done, reason end
      gave_way = true
      if not give_way(segment) then return nil, reason end
      -- Overwrites what was written of the piece.
      segment.file:seek("set", segment.bytes)
      return write(segment, data)
    end,
    finish = function()
      local done, reason = segment.file:close()
      if done then return segment.id end
      remove(segment.id)
      return nil, reason
    end,
    discard = function()
      segment.file:close()
      remove(segment.id)
    end,
  }
end

--- Returns the file, open for reading; nil when it was evicted.
function _M.open(id)
  return (io.open(path_of(id), "rb"))
end

-- Returns an open file, to be used at once; nil when it was evicted.
local function handle_of(id)
  local handle = handles[id]
  if handle then return handle end
  handle = _M.open(id)
  if not handle then return nil end
  if handle_count >= HANDLES_MAX then close_handle((next(handles))) end
  handles[id], handle_count = handle, handle_count + 1
  return handle
end

--- Returns all bytes, or nil when they are no longer there.
function _M.read(id, offset, length)
  id = tonumber(id)
  local file = handle_of(id)
  if not file then return nil end
  file:seek("set", offset)
  local data = length == 0 and "" or file:read(length)
  return data and #data == length and data or nil
end

-- A damaged journal does not name all files.
local UNKNOWN_MAX = 10000
-- Files of an earlier process, by id.
local left = {}

local function size_of(id)
  local file = io.open(path_of(id), "rb")
  if not file then return nil end
  local bytes = file:seek("end")
  file:close()
  return bytes
end

local function take_over(whole)
  local ids = {}
  for id in pairs(left) do ids[#ids + 1] = id end
  table.sort(ids)
  left = {}
  for after = 1, whole and 0 or UNKNOWN_MAX do os.remove(path_of((dict:get("id") or 0) + after)) end
  for _, id in ipairs(ids) do
    local bytes = whole and size_of(id)
    if bytes and register(id) then
      dict:set("s" .. id, bytes)
      dict:incr("bytes", bytes, 0)
    else
      os.remove(path_of(id))
    end
  end
  make_room()
end

journal.join("srn", {
  apply = function(kind, key)
    local id = tonumber(key)
    if kind ~= "n" then left[id] = kind == "s" or nil end
    -- No id is used again: an entry that is left in the index would show what another one has stored there.
    dict:set("id", math.max(id, dict:get("id") or 0))
  end,
  each = function(write)
    write("n", dict:get("id") or 0)
    for _, name in ipairs(dict:get_keys(0)) do
      local id = string.match(name, "^s(%d+)$")
      if id then write("s", id) end
    end
  end,
  done = take_over,
})

return _M
