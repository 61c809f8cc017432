-- A record of what changes in shared memory, on disk: after a restart the cache is what it was. `journal-N` has the
-- changes, one record each; `state-N` has all that there was when `journal-N` began, and `current` has N.
local processes = require("process")
local records = require("journal_record")
local settings = require("settings")
-- number: of the journal that is written; bytes: its size; limit: the size at which the next one begins
local dict = ngx.shared.journal

local _M = {}

-- The next journal begins at twice the size of the state before, and not below this.
local BYTES_MIN = 4 * 1024 * 1024
local RECORDS_AT_ONCE = 1000
local RETRY_S = 60
local ROTATION_MAX_S = 600
local READY_PAUSE_US, BEGUN_S = 5000, 5

local parts, apply = {}, {}
-- Whether this worker has asked for the next journal.
local is_due = false
local SETTLED = { p = true, d = true }
-- Records of these kinds since the last `settle`.
local unsettled = {}
-- This worker's file, and its number.
local file, file_number

local function path_of(name, number)
  return settings.cache_directory .. "/" .. name .. (number and "-" .. number or "")
end

local function write_current(number)
  local temporary = path_of("current.new")
  local handle = io.open(temporary, "wb")
  local done = handle and handle:write(number)
  done = handle and handle:close() and done
  return done and os.rename(temporary, path_of("current"))
end

local function remove(first, last)
  for number = first, last do
    os.remove(path_of("state", number))
    os.remove(path_of("journal", number))
  end
end

-- Returns the file that all workers append to; each record is one write.
local function open()
  local number = dict:get("number")
  if file_number ~= number then
    if file then file:close() end
    file = io.open(path_of("journal", number), "ab")
    if file then file:setvbuf("no") end
    file_number = number
  end
  return file
end

-- nginx raises an error when no connection is left for a worker's first timer.
local function later(delay_s)
  local called, started = pcall(ngx.timer.at, delay_s, _M.rotate)
  return called and started
end

-- A purge that is not in the journal would be undone by the next start: that one has to begin with nothing.
local function give_up(message)
  os.remove(path_of("current"))
  if not dict:add("broken", true) then return end
  ngx.log(ngx.WARN, "a start would begin with an empty cache now: ", message)
  later(RETRY_S)
end

--- Notes that memory no longer has something that the journal has.
function _M.note_forgotten()
  if settings.warm then dict:set("forgotten", true) end
end

function _M.has_forgotten()
  return dict:get("forgotten") == true
end

-- Writes a record. Returns whether it is in the journal.
local function append(text)
  local handle, done, message = open(), nil, "its journal cannot be opened"
  if handle then done, message = handle:write(text) end
  if not done then
    give_up(message)
    return false
  end
  if dict:incr("bytes", #text) > dict:get("limit") and not is_due then is_due = later(0) end
  return true
end

--- Adds a change before it is made. kind: a letter; key, value: bytes; number: 0 or more; settles: `settle` follows
function _M.add(kind, key, value, number, settles)
  if not settings.warm or dict:get("broken") or not dict:get("number") then return end
  local text = records.encode(kind, tostring(key), tostring(value or ""), number or 0)
  if not append(text) or not (settles or SETTLED[kind]) or settings.workers == 1 then return end
  unsettled[#unsettled + 1] = { text = text, number = file_number }
end

--- Adds changes again, after they were made, if another worker has begun the next journal meanwhile: its state may be
-- from before them. Only what must not be undone by a start: purges, and what was removed.
function _M.settle()
  if #unsettled == 0 then return end
  local missed, number = unsettled, dict:get("number")
  unsettled = {}
  if dict:get("broken") then return end
  for _, one in ipairs(missed) do
    if one.number ~= number then append(one.text) end
  end
end

--- Takes part in the journal. kinds: of changes, letters; part: apply(kind, key, value, number) makes a change,
-- each(write) calls write(kind, key, value, number) for all that there is, done(whole) ends a replay; not whole: what
-- was applied must be undone
function _M.join(kinds, part)
  parts[#parts + 1] = part
  for kind in string.gmatch(kinds, "%l") do apply[kind] = part.apply end
end

-- Writes all that there is. Returns its bytes, or nil and a reason.
local function write_state(number)
  local temporary = path_of("state.new")
  local handle, failure = io.open(temporary, "wb")
  if not handle then return nil, failure end
  local bytes, count = 0, 0
  local function write(kind, key, value, flags)
    local text = records.encode(kind, tostring(key), tostring(value or ""), flags or 0)
    bytes, count = bytes + #text, count + 1
    local done, message = handle:write(text)
    failure = failure or not done and message
    -- Requests go on meanwhile.
    if count % RECORDS_AT_ONCE == 0 then ngx.sleep(0) end
  end
  for _, part in ipairs(parts) do part.each(write) end
  local closed, message = handle:close()
  failure = failure or not closed and message
  if not failure then
    local renamed
    renamed, failure = os.rename(temporary, path_of("state", number))
    if renamed then return bytes end
  end
  os.remove(temporary)
  return nil, failure
end

-- Begins the next journal. Changes go there from now on, so those that happen while the state is written are in both,
-- and a replay ends with the last of each.
local function begin(number)
  -- After a reload all workers do it at once.
  if not dict:safe_add("begun " .. number, true, BEGUN_S) then return false end
  local handle, message = io.open(path_of("journal", number), "wb")
  if not handle then return give_up(message) end
  handle:close()
  dict:set("bytes", 0)
  -- The limit of the one before: if this worker dies before the state is complete, the journal still ends.
  dict:safe_add("limit", BYTES_MIN)
  dict:set("number", number)
  return true
end

-- Completes the journal that has begun with its state, and removes those before.
local function complete()
  local number = dict:get("number")
  local bytes, message = write_state(number)
  if not bytes then return give_up(message) end
  -- A change that could not be written meanwhile may be missing in both.
  if dict:get("broken") then return end
  if not write_current(number) then return give_up("its state cannot be named") end
  if dict:get("broken") then return os.remove(path_of("current")) end
  dict:set("limit", math.max(BYTES_MIN, 2 * bytes))
  remove(dict:get("first"), number - 1)
  dict:set("first", number)
end

-- A worker that was killed over it keeps none from it.
local function take_rotation()
  local other = dict:get("rotating")
  if other and processes.is_gone(other) and dict:add("rotation of " .. other .. " ended", true, ROTATION_MAX_S) then
    dict:delete("rotating")
  end
  return dict:add("rotating", ngx.worker.pid(), ROTATION_MAX_S)
end

local function release_rotation()
  if dict:get("rotating") == ngx.worker.pid() then dict:delete("rotating") end
end

--- Begins a journal with the present state, in a timer.
function _M.rotate(premature)
  is_due = false
  if premature then return end
  if not take_rotation() then
    if dict:get("broken") then later(RETRY_S) end
    return
  end
  dict:delete("broken")
  if begin(dict:get("number") + 1) then complete() end
  release_rotation()
  -- It may have found this rotation under way.
  if dict:get("broken") then later(RETRY_S) end
end

-- Removes what a process left that was killed while it removed it, or whose journal was damaged.
local function remove_from(number, step)
  while os.remove(path_of("state", number)) or os.remove(path_of("journal", number)) do
    os.remove(path_of("journal", number))
    number = number + step
  end
end

local function read_current()
  local handle = io.open(path_of("current"), "rb")
  if not handle then return nil end
  local text = handle:read("*a")
  handle:close()
  return tonumber(string.match(text or "", "^%d+$"))
end

-- Returns whether all was replayed, and the number of the last journal.
local function replay_all(first)
  if records.replay(path_of("state", first), apply) ~= "whole" then return false, first end
  for number = first, math.huge do
    local outcome = records.replay(path_of("journal", number), apply)
    if outcome == "broken" then return false, number end
    if not outcome then return number > first, number - 1 end
  end
end

-- Waits until another worker has replayed. Returns false when that worker has died. No request is served meanwhile.
local function wait_ready()
  while not dict:get("ready") do
    if processes.is_gone(dict:get("opened")) then return false end
    processes.pause(READY_PAUSE_US)
  end
  return true
end

-- What was half replayed is undone.
local function start_empty()
  dict:set("opened", ngx.worker.pid())
  os.remove(path_of("current"))
  dict:safe_add("number", 0)
  dict:safe_add("first", 0)
  begin(dict:get("number") + 1)
  for _, part in ipairs(parts) do part.done(false) end
  dict:set("ready", true)
  later(0)
end

--- Replays what an earlier process has left, and begins a journal; once, before any request.
function _M.open()
  if not settings.warm then return end
  -- A worker that starts for the first time finds the journal of the others.
  local again = not dict:safe_add("worker " .. ngx.worker.id(), true)
  if not dict:safe_add("opened", ngx.worker.pid()) then
    while not wait_ready() do
      if dict:safe_add("emptied after " .. dict:get("opened"), true) then return start_empty() end
      processes.pause(READY_PAUSE_US)
    end
    -- The worker before may have died in the middle of a record, or of a rotation.
    if again and begin(dict:get("number") + 1) then later(0) end
    return
  end
  local first = read_current()
  local whole, last = true, 0
  if first then whole, last = replay_all(first) end
  if not whole then ngx.log(ngx.WARN, "begins with an empty cache: its journal is damaged") end
  if first then remove_from(first - 1, -1) end
  remove_from(last + 1, 1)
  dict:set("first", first or last + 1)
  dict:set("number", last)
  begin(last + 1)
  for _, part in ipairs(parts) do part.done(whole) end
  dict:set("ready", true)
  later(0)
end

return _M
