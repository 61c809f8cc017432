-- Which files of segments.lua there are, in shared memory and the journal: their bytes, their queue, and whose body a
-- file is alone.
local files = require("segment_files")
local journal = require("journal")
local processes = require("process")
local dict = ngx.shared.segments

local _M = {}

--- Returns a number that no file had.
function _M.next_id()
  return dict:incr("id", 1, 0)
end

--- The bytes of all files, and of those in the queue "order".
function _M.bytes() return dict:get("bytes") or 0 end
function _M.order_bytes() return dict:get("probation") or 0 end

--- Returns how many files a queue has. queue: "order" or "main"
function _M.count(queue) return dict:llen(queue) or 0 end

--- Returns the bytes of a file; nil when it is not in the list.
function _M.bytes_of(id) return dict:get("s" .. id) end

--- Whether what the file has was used since it was stored.
function _M.is_main(id) return dict:get("m" .. id) ~= nil end

local function add_bytes(id, bytes)
  dict:incr("bytes", bytes, 0)
  if not _M.is_main(id) then dict:incr("probation", bytes, 0) end
end

--- Notes that a file has grown. Returns false when it was removed.
function _M.grow(id, bytes)
  if not dict:incr("s" .. id, bytes) then return false end
  add_bytes(id, bytes)
  return true
end

--- Removes a file. Returns how many bytes it had.
function _M.remove(id)
  files.close(id)
  local bytes = _M.bytes_of(id)
  if not bytes then return 0 end
  -- First: a kill in between must not subtract them twice.
  dict:delete("s" .. id)
  add_bytes(id, -bytes)
  for _, kind in ipairs({ "m", "k", "w" }) do dict:delete(kind .. id) end
  os.remove(files.path_of(id))
  journal.add("r", id)
  return bytes
end

--- Adds a file at the end of a queue; removes the oldest when the list itself is full. Returns whether it could.
function _M.add(id, queue, bytes)
  while not dict:safe_set("s" .. id, 0) or queue == "main" and not dict:safe_set("m" .. id, true)
    or not dict:rpush(queue, id) do
    dict:delete("s" .. id)
    dict:delete("m" .. id)
    local oldest = dict:lpop("order") or dict:lpop("main")
    if not oldest then return false end
    _M.remove(oldest)
  end
  return bytes == 0 or _M.grow(id, bytes)
end

--- Notes it in the journal, before the file is there.
function _M.announce(id, queue) journal.add("s", id, queue) end

--- Undoes that, when the file could not be made.
function _M.withdraw(id)
  os.remove(files.path_of(id))
  journal.add("r", id)
end

local function evicting()
  return "evicting " .. ngx.worker.id()
end

--- Takes the oldest file out of a queue, to move or to remove it; `popped` ends that.
function _M.pop(queue)
  local id = dict:lpop(queue)
  -- Without room for the note, nothing else must give way to it.
  if id then dict:safe_set(evicting(), id .. " " .. ngx.worker.pid()) end
  return id
end

function _M.popped() dict:delete(evicting()) end

--- Puts a file back at the end of its queue.
function _M.put_back(id, queue) dict:rpush(queue, id) end

--- Puts a file at the end of main. Returns whether it did.
function _M.move(id, from)
  local bytes = _M.bytes_of(id)
  if not bytes or not dict:safe_set("m" .. id, true) or not dict:rpush("main", id) then return false end
  if from ~= "main" then dict:incr("probation", -bytes) end
  journal.add("s", id, "main")
  return true
end

--- For so long, a file that grows is not evicted.
function _M.hold(id, duration_s) dict:safe_set("w" .. id, true, duration_s) end
function _M.release(id) dict:delete("w" .. id) end
function _M.is_held(id) return dict:get("w" .. id) end

--- Notes whose body a file is alone, if the file is still there.
function _M.name_owner(id, key)
  if not _M.bytes_of(id) then return end
  journal.add("o", id, key)
  dict:safe_set("k" .. id, key)
end

--- Returns the key of name_owner; nil for a file of many pieces.
function _M.owner_of(id)
  return dict:get("k" .. id)
end

--- Before a worker's first request: removes what the worker before was killed over.
function _M.init_worker()
  local id, pid = string.match(dict:get(evicting()) or "", "^(%d+) (%d+)$")
  -- After a reload the worker before still runs.
  if not id or not processes.is_gone(tonumber(pid)) then return end
  _M.remove(id)
  _M.popped()
end

-- A damaged journal does not name all files.
local UNKNOWN_MAX = 10000
-- The queues and owners of the files of an earlier process, by id.
local left, owners = {}, {}

local function take_over(whole)
  local ids = {}
  for id in pairs(left) do ids[#ids + 1] = id end
  table.sort(ids)
  local queues, keys = left, owners
  left, owners = {}, {}
  for id = 1, whole and 0 or (dict:get("id") or 0) + UNKNOWN_MAX do os.remove(files.path_of(id)) end
  for _, id in ipairs(ids) do
    local bytes = whole and files.size_of(id)
    if not bytes or not _M.add(id, queues[id], bytes) then os.remove(files.path_of(id)) end
    if keys[id] and _M.bytes_of(id) then dict:safe_set("k" .. id, keys[id]) end
  end
end

journal.join("sron", {
  apply = function(kind, key, value)
    local id = tonumber(key)
    if kind == "o" then
      owners[id] = value
    elseif kind ~= "n" then
      left[id] = kind == "s" and (value == "main" and "main" or "order") or nil
      if kind == "r" then owners[id] = nil end
    end
    -- No id is used again: an entry that is left in the index would show what another one has stored there.
    dict:set("id", math.max(id, dict:get("id") or 0))
  end,
  each = function(write)
    write("n", dict:get("id") or 0)
    for _, name in ipairs(dict:get_keys(0)) do
      local id = string.match(name, "^s(%d+)$")
      if id then
        write("s", id, _M.is_main(id) and "main" or "order")
        local owner = _M.owner_of(id)
        if owner then write("o", id, owner) end
      end
    end
  end,
  done = take_over,
})

return _M
