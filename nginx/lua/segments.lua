-- Bytes on disk, within a limit: small pieces share a file, a large one has its own. There are two queues of files, as
-- in S3-FIFO (SOSP '23): what is new is on probation, and moves to main if it was used by the time that its file is
-- evicted. So a scan of many URLs, each used once, passes through a tenth of the limit, and the rest stays.
local files = require("segment_files")
local list = require("segment_list")
local settings = require("settings")

local _M = {}

local SEGMENT_BYTES = 16 * 1024 * 1024
--- No file of several pieces is larger.
_M.SHARED_BYTES_MAX = SEGMENT_BYTES
-- A file that grows alone is not evicted for so long.
local WRITER_S = 600
local PROBATION_PART = 0.1
local SWEEP_S = 1

-- The least that is freed on a full disk; request bodies may need some, too.
local ROOM_BYTES = 16 * 1024 * 1024
-- ENOSPC and EDQUOT of Linux.
local DISK_FULL = { [28] = true, [122] = true }

-- The files to which this worker appends small pieces, by queue.
local current = {}

-- Moves what was used from a file that is evicted; see rescue.lua.
local rescue = function() end

--- rescue(id, bytes, queue) is called before a file is evicted. Returns true when the file itself is to stay.
function _M.before_eviction(call)
  rescue = call
end

-- Nothing more is appended to the file.
local function end_file(id)
  for queue, segment in pairs(current) do
    if segment.id == id then
      segment.file:close()
      current[queue] = nil
    end
  end
end

local function evict(id)
  end_file(id)
  return list.remove(id)
end

-- Returns the queue whose oldest file is next.
local function next_queue()
  local is_much, has_main = list.order_bytes() > PROBATION_PART * settings.max_size_bytes, list.count("main") > 0
  return (is_much or not has_main) and list.count("order") > 0 and "order" or "main"
end

-- Frees room on a full disk by removing the oldest files, except `own`. Returns whether there was anything to remove.
local function give_way(own)
  local goal_bytes = math.max(list.bytes() / 8, ROOM_BYTES)
  local freed_bytes = 0
  for _ = 1, list.count("order") + list.count("main") do
    if freed_bytes >= goal_bytes then break end
    local queue = next_queue()
    local oldest = list.pop(queue)
    if own and oldest == own.id then
      list.put_back(oldest, queue)
      -- The other queue may have something.
      oldest = list.pop(queue == "order" and "main" or "order")
    end
    if oldest then freed_bytes = freed_bytes + evict(oldest) end
    list.popped()
  end
  if freed_bytes == 0 then return false end
  ngx.log(ngx.WARN, "the disk is full: removed the oldest ", freed_bytes, " bytes of the cache")
  return true
end

local function create(queue)
  local id = list.next_id()
  list.announce(id, queue)
  local file, message, code = io.open(files.path_of(id), "wb")
  if not file and DISK_FULL[code] and give_way() then file, message = io.open(files.path_of(id), "wb") end
  if not file then return nil, message end
  -- Unbuffered: written bytes can be read at once, and a full disk fails the write that has no room.
  file:setvbuf("no")
  if not list.add(id, queue, 0) then
    file:close()
    list.withdraw(id)
    return nil, "too many files"
  end
  return { id = id, file = file, bytes = 0, queue = queue }
end

local making_room = false

-- What is moved from an evicted file to the end of main takes room, too, but less than the file had.
local function make_room()
  if making_room then return end
  making_room = true
  -- No file stays a second time.
  local stays_max = list.count("order") + list.count("main")
  while list.bytes() > settings.max_size_bytes do
    local queue = next_queue()
    local oldest = list.pop(queue)
    if not oldest then break end
    end_file(oldest)
    local done, stays = true, queue == "order" and list.is_held(oldest)
    if not stays then done, stays = pcall(rescue, oldest, list.bytes_of(oldest) or 0, queue) end
    if not done then ngx.log(ngx.ERR, "nothing was kept of an evicted file: ", stays) end
    stays_max = stays_max - 1
    if not (done and stays and stays_max >= 0 and list.move(oldest, queue)) then evict(oldest) end
    list.popped()
  end
  making_room = false
end

--- Before a worker's first request.
function _M.init_worker()
  list.init_worker()
  -- The limit may be lower than that of the process before.
  make_room()
  if settings.workers == 1 then return end
  ngx.timer.every(SWEEP_S, function()
    files.close_evicted(function(id) return list.bytes_of(id) ~= nil end)
  end)
end

-- Returns true, or nil, a reason and the system's error number.
local function write(segment, data)
  local done, message, code = segment.file:write(data)
  if not done then return nil, message, code end
  segment.bytes = segment.bytes + #data
  -- nil when the file was the oldest and was evicted meanwhile.
  if not list.grow(segment.id, #data) then return nil, "evicted" end
  make_room()
  return true
end

local function append(data, queue)
  local segment = current[queue]
  local bytes_max = math.min(SEGMENT_BYTES, settings.max_size_bytes / (8 * settings.workers))
  local full = segment and segment.bytes + #data > bytes_max
  if full or segment and not list.bytes_of(segment.id) then
    segment.file:close()
    current[queue], segment = nil, nil
  end
  if not segment then
    local message
    segment, message = create(queue)
    if not segment then return nil, message end
    current[queue] = segment
  end
  local offset = segment.bytes
  local done, message, code = write(segment, data)
  if done then return segment.id, offset end
  -- It is unknown how much was written: nothing more is appended.
  if current[queue] == segment then
    segment.file:close()
    current[queue] = nil
  end
  return nil, message, code
end

--- Returns the file's id and the offset, or nil and a reason.
-- queue: "order" for what is on probation, or "main"
function _M.append(data, queue)
  local id, offset, code = append(data, queue)
  if not id and DISK_FULL[code] and give_way() then id, offset = append(data, queue) end
  return id, offset
end

--- A file for one large piece that arrives in parts: write(data), then finish() or discard().
function _M.writer()
  local segment, message = create("order")
  if not segment then return nil, message end
  local gave_way = false
  list.hold(segment.id, WRITER_S)
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
      list.release(segment.id)
      local done, reason = segment.file:close()
      if done then return segment.id end
      list.remove(segment.id)
      return nil, reason
    end,
    discard = function()
      segment.file:close()
      list.remove(segment.id)
    end,
  }
end

return _M
