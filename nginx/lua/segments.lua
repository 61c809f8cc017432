-- Bytes on disk, within a limit: small pieces share a file, a large one has its own. There are two queues of files, as
-- in S3-FIFO (SOSP '23): what is new is on probation, and moves to main if it was used by the time that its file is
-- evicted. So a scan of many URLs, each used once, passes through a tenth of the limit, and the rest stays.
local files = require("segment_files")
local journal = require("journal")
local settings = require("settings")
local dict = ngx.shared.segments

local _M = {}

local SEGMENT_BYTES = 16 * 1024 * 1024
--- No file of several pieces is larger.
_M.SHARED_BYTES_MAX = SEGMENT_BYTES
-- A file that grows alone is not evicted for so long.
local WRITER_S = 600
local PROBATION_PART = 0.1
local SWEEP_S = 10

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

-- Returns how many bytes the file had.
local function remove(id)
  files.close(id)
  local bytes = dict:get("s" .. id)
  if not bytes then return 0 end
  dict:incr("bytes", -bytes)
  if dict:get("m" .. id) then
    dict:delete("m" .. id)
  else
    dict:incr("probation", -bytes)
  end
  dict:delete("s" .. id)
  dict:delete("k" .. id)
  dict:delete("w" .. id)
  os.remove(files.path_of(id))
  journal.add("r", id)
  return bytes
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
  return remove(id)
end

-- Returns the queue whose oldest file is next.
local function next_queue()
  local probation_bytes, limit_bytes = dict:get("probation") or 0, PROBATION_PART * settings.max_size_bytes
  local has_main = (dict:llen("main") or 0) > 0
  return (probation_bytes > limit_bytes or not has_main) and (dict:llen("order") or 0) > 0 and "order" or "main"
end

-- Frees room on a full disk by removing the oldest files, except `own`. Returns whether there was anything to remove.
local function give_way(own)
  local goal_bytes = math.max((dict:get("bytes") or 0) / 8, ROOM_BYTES)
  local freed_bytes = 0
  for _ = 1, (dict:llen("order") or 0) + (dict:llen("main") or 0) do
    if freed_bytes >= goal_bytes then break end
    local queue = next_queue()
    local oldest = dict:lpop(queue)
    if own and oldest == own.id then
      dict:rpush(queue, oldest)
      -- The other queue may have something.
      oldest = dict:lpop(queue == "order" and "main" or "order")
    end
    if oldest then freed_bytes = freed_bytes + evict(oldest) end
  end
  if freed_bytes == 0 then return false end
  ngx.log(ngx.WARN, "the disk is full: removed the oldest ", freed_bytes, " bytes of the cache")
  return true
end

-- Adds the file to a queue; removes the oldest files when the list itself is full.
local function register(id, queue)
  while not dict:safe_set("s" .. id, 0) or queue == "main" and not dict:safe_set("m" .. id, true)
    or not dict:rpush(queue, id) do
    dict:delete("s" .. id)
    dict:delete("m" .. id)
    local oldest = dict:lpop("order") or dict:lpop("main")
    if not oldest then return false end
    evict(oldest)
  end
  return true
end

local function create(queue)
  local id = dict:incr("id", 1, 0)
  journal.add("s", id, queue)
  local file, message, code = io.open(files.path_of(id), "wb")
  if not file and DISK_FULL[code] and give_way() then file, message = io.open(files.path_of(id), "wb") end
  if not file then return nil, message end
  -- Unbuffered: written bytes can be read at once, and a full disk fails the write that has no room.
  file:setvbuf("no")
  if not register(id, queue) then
    file:close()
    os.remove(files.path_of(id))
    journal.add("r", id)
    return nil, "too many files"
  end
  return { id = id, file = file, bytes = 0, queue = queue }
end

local function add_bytes(queue, bytes)
  dict:incr("bytes", bytes, 0)
  if queue ~= "main" then dict:incr("probation", bytes, 0) end
end

local making_room = false

-- What is moved from an evicted file to the end of main takes room, too, but less than the file had.
local function make_room()
  if making_room then return end
  making_room = true
  while (dict:get("bytes") or 0) > settings.max_size_bytes do
    local queue = next_queue()
    local oldest = dict:lpop(queue)
    if not oldest then break end
    end_file(oldest)
    local done, stays = true, queue == "order" and dict:get("w" .. oldest)
    if not stays then done, stays = pcall(rescue, oldest, dict:get("s" .. oldest) or 0, queue) end
    if not done then ngx.log(ngx.ERR, "nothing was kept of an evicted file: ", stays) end
    if not (done and stays and _M.move(oldest, queue)) then evict(oldest) end
  end
  making_room = false
end

--- Puts a file at the end of main. Returns whether it did.
function _M.move(id, from)
  local bytes = dict:get("s" .. id)
  if not bytes or not dict:safe_set("m" .. id, true) or not dict:rpush("main", id) then return false end
  if from ~= "main" then dict:incr("probation", -bytes) end
  journal.add("s", id, "main")
  return true
end

--- Whether what the file has was used since it was stored.
function _M.is_main(id) return dict:get("m" .. id) ~= nil end

--- Before a worker's first request.
function _M.init_worker()
  if settings.workers == 1 then return end
  ngx.timer.every(SWEEP_S, function()
    files.close_evicted(function(id) return dict:get("s" .. id) ~= nil end)
  end)
end

-- Returns true, or nil, a reason and the system's error number.
local function write(segment, data)
  local done, message, code = segment.file:write(data)
  if not done then return nil, message, code end
  segment.bytes = segment.bytes + #data
  -- nil when the file was the oldest and was evicted meanwhile.
  if not dict:incr("s" .. segment.id, #data) then return nil, "evicted" end
  add_bytes(dict:get("m" .. segment.id) and "main" or "order", #data)
  make_room()
  return true
end

local function append(data, queue)
  local segment = current[queue]
  local bytes_max = math.min(SEGMENT_BYTES, settings.max_size_bytes / (8 * settings.workers))
  local full = segment and segment.bytes + #data > bytes_max
  if full or segment and not dict:get("s" .. segment.id) then
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
  dict:safe_set("w" .. segment.id, true, WRITER_S)
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
      dict:delete("w" .. segment.id)
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

--- Notes whose body a file is alone.
function _M.name_owner(id, key)
  dict:safe_set("k" .. id, key)
end

--- Returns the key of name_owner; nil for a file of many pieces, and when it is not known.
function _M.owner_of(id)
  return dict:get("k" .. id)
end

-- A damaged journal does not name all files.
local UNKNOWN_MAX = 10000
-- The queues of the files of an earlier process, by id.
local left = {}

local function take_over(whole)
  local ids = {}
  for id in pairs(left) do ids[#ids + 1] = id end
  table.sort(ids)
  local queues = left
  left = {}
  for id = 1, whole and 0 or (dict:get("id") or 0) + UNKNOWN_MAX do os.remove(files.path_of(id)) end
  for _, id in ipairs(ids) do
    local bytes = whole and files.size_of(id)
    if bytes and register(id, queues[id]) then
      dict:set("s" .. id, bytes)
      add_bytes(queues[id], bytes)
    else
      os.remove(files.path_of(id))
    end
  end
  make_room()
end

journal.join("srn", {
  apply = function(kind, key, value)
    local id = tonumber(key)
    if kind ~= "n" then left[id] = kind == "s" and (value == "main" and "main" or "order") or nil end
    -- No id is used again: an entry that is left in the index would show what another one has stored there.
    dict:set("id", math.max(id, dict:get("id") or 0))
  end,
  each = function(write)
    write("n", dict:get("id") or 0)
    for _, name in ipairs(dict:get_keys(0)) do
      local id = string.match(name, "^s(%d+)$")
      if id then write("s", id, dict:get("m" .. id) and "main" or "order") end
    end
  end,
  done = take_over,
})

return _M
