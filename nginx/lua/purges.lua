-- Records what was purged, and when. An entry carries the purge clock from the moment of its request to the origin. It
-- is void when anything that it belongs to (everything, its host, a prefix of its address, one of its tags) was purged
-- later. So a purge costs the same for any size of the cache, and also covers responses that are in flight.
local journal = require("journal")
local lock = require("lock")
local no_vary_search = require("no_vary_search")
local dict = ngx.shared.purges

local _M = {}

-- Addresses share marks: any number of purged addresses needs bounded memory. This purges too much, never too little.
local URL_MARKS = 65536
-- Each length is looked up for every address. A prefix of one length more is cut to a known one, which purges too much.
local PREFIX_LENGTHS_MAX = 1024
-- One in so many marks is dropped when there is no room for another one.
local FORGOTTEN_PART = 8

local lengths, lengths_text = {}, ""

local COUNTS = { ["marked"] = true, ["others_marked"] = true }
local FLOORS = { ["floor"] = true, ["soft floor"] = true, ["tags"] = true, ["soft tags"] = true }

function _M.init()
  -- safe_add keeps the values over a reload.
  dict:safe_add("clock", 1)
  for name in pairs(COUNTS) do dict:safe_add(name, 1) end
  for name in pairs(FLOORS) do dict:safe_add(name, 0) end
end

--- The purges that have begun. A response that is requested after a purge has begun is newer than what it purges.
function _M.clock()
  return dict:get("clock")
end

--- The purges that are marked. While it stands, no response becomes void.
function _M.marked()
  return dict:get("marked")
end

--- The same without purges of a URL. While it stands, no response becomes void that is stored under its address alone.
function _M.others_marked()
  return dict:get("others_marked")
end

local function url_mark(key)
  return "u:" .. ngx.crc32_short(key) % URL_MARKS
end

-- Whether a mark is url_mark's or path_mark's.
local function is_of_url(name)
  local kind = name and string.sub(name, 1, 2)
  return kind == "u:" or kind == "n:"
end

local function set(name, clock)
  local now_s = ngx.time()
  journal.add("p", name, clock, now_s)
  dict:set(name, clock, 0, now_s)
end

-- Makes room by dropping the oldest marks. Every response requested before the newest of them becomes void, which is
-- never wrong, only slow.
local function forget_oldest()
  local names, clocks, sorted = {}, {}, {}
  for _ = 1, math.ceil((dict:llen("order") or 0) / FORGOTTEN_PART) do
    local name = dict:lpop("order")
    local clock = dict:get(name)
    if clock then
      names[#names + 1] = name
      clocks[name], sorted[#sorted + 1] = clock, clock
    end
  end
  table.sort(sorted)
  -- Names that were purged again after they entered the list stay.
  local floor = sorted[math.ceil(#sorted / 2)] or dict:get("clock")
  if floor > dict:get("floor") then set("floor", floor) end
  for _, name in ipairs(names) do
    if clocks[name] <= floor then dict:delete(name) else dict:rpush("order", name) end
  end
end

-- Stores a mark and drops old ones until there is room; returns whether there was. nginx itself would evict the mark
-- that was not used for longest.
local function keep(name, value, flags)
  for _ = 1, FORGOTTEN_PART do
    if dict:safe_set(name, value, 0, flags) then return true end
    forget_oldest()
  end
  return false
end

-- The flags of a mark are the time of the call, in seconds.
local function remember(name, clock, time_s)
  local known = dict:get(name) ~= nil
  local kept = keep(name, clock, time_s)
  if kept and not known and not dict:rpush("order", name) then
    forget_oldest()
    kept = dict:rpush("order", name) ~= nil
  end
  if not kept then set("floor", clock) end
end

-- Takes the next number before it writes the marks, so no two purges have the same, and counts the purge as marked
-- after it has: a reader that judges by that count finds the marks, or judges again.
local function write_marks(soft, name, and_set)
  local clock, kind = dict:incr("clock", 1), soft and "soft " or ""
  if name then
    local time_s = ngx.time()
    journal.add("p", kind .. name, clock, time_s)
    remember(kind .. name, clock, time_s)
  end
  if and_set then set(kind .. and_set, clock) end
  if not is_of_url(name) then dict:incr("others_marked", 1) end
  dict:incr("marked", 1)
  journal.settle()
end

local function mark(soft, name, and_set)
  lock.run("purges", write_marks, soft, name, and_set)
end

--- These record a purge. A soft one makes responses stale instead of void. "tags": when any tag was last purged.
function _M.everything(soft) mark(soft, nil, "floor") end
function _M.host(host, soft) mark(soft, "h:" .. string.lower(host)) end
function _M.tag(tag, soft) mark(soft, "t:" .. string.lower(tag), "tags") end

-- Which query a purged URL had does not matter for responses to several queries.
local function path_mark(address)
  return "n:" .. ngx.crc32_short(no_vary_search.path_of(address)) % URL_MARKS
end

function _M.url(key, soft)
  mark(soft, url_mark(key))
  if dict:get("paths") then mark(soft, path_mark(key)) end
end

--- From the first call on, the purge of an address reaches the responses to other queries of its path.
-- Returns whether that was so when the entry was requested.
function _M.marks_paths_since(entry)
  local since = dict:get("paths")
  if not since or since == math.huge then
    -- From here on purges mark paths; the clock is read after that, so those that did not are before it.
    if not dict:safe_set("paths", math.huge) then return false end
    since = dict:get("clock")
    journal.add("p", "paths", since)
    dict:safe_set("paths", since)
  end
  return entry.clock >= since
end

-- A host has no NUL.
local function group_mark(host, group)
  return "g:" .. host .. "\0" .. group
end

--- Records that a group of a host (RFC 9875) is invalid. "tags" moves, too: it stands for all that a response which is
-- not there yet may belong to.
function _M.group(host, group) mark(false, group_mark(host, group), "tags") end

-- The lengths of purged prefixes, in ascending order.
local function prefix_lengths()
  local text = dict:get("lengths") or ""
  if text ~= lengths_text then
    lengths, lengths_text = {}, text
    for length in string.gmatch(text, "%d+") do lengths[#lengths + 1] = tonumber(length) end
  end
  return lengths
end

local function mark_prefix(prefix, soft)
  local known, fits, at = prefix_lengths(), nil, 1
  while known[at] and known[at] <= #prefix do
    fits, at = known[at], at + 1
  end
  if fits ~= #prefix then
    local more = { unpack(known) }
    table.insert(more, at, #prefix)
    local text = table.concat(more, ",")
    if #known < PREFIX_LENGTHS_MAX and keep("lengths", text) then
      journal.add("p", "lengths", text)
      fits = #prefix
    elseif fits then
      prefix = string.sub(prefix, 1, fits)
    else
      return write_marks(soft, nil, "floor")
    end
  end
  write_marks(soft, "p:" .. prefix)
end

--- Records the purge of a prefix: host and the start of a path.
function _M.prefix(prefix, soft)
  lock.run("purges", mark_prefix, prefix, soft)
end

local function add_prefixes(names, address)
  local known = prefix_lengths()
  for index = 1, #known do
    if known[index] > #address then return end
    names[#names + 1] = "p:" .. string.sub(address, 1, known[index])
  end
end

-- Returns when the first of `names` was purged after the clock stood at `since`; nil when none was.
local function marked_s(since, soft, names)
  local first_s
  for index = 1, #names do
    local clock, time_s = dict:get((soft and "soft " or "") .. names[index])
    if clock and clock > since and (not first_s or time_s < first_s) then first_s = time_s end
  end
  return first_s
end

--- Returns when the address of a response that is to be stored was purged, if that was after its request. A purge of an
-- address removes the entry stored under the address alone; a response in flight is not there to be removed.
function _M.address_purged_s(entry, soft)
  local address = entry.host .. entry.uri
  return marked_s(entry.clock, soft, { url_mark(address), entry.no_vary_search and path_mark(address) })
end

--- entry: clock (of its request), host, host_name, uri, tags, groups (or nil), any_tag (it may have others, too),
-- shares_address (its key is not just the address), no_vary_search (or nil)
-- Returns whether it is void, and since when it is marked stale (nil: it is not).
function _M.judge(entry)
  local now = dict:get("marked")
  if entry.judged_at == now then return entry.void, entry.marked_s end
  local names = { "floor", "h:" .. entry.host_name }
  if entry.host ~= entry.host_name then names[3] = "h:" .. entry.host end
  if entry.shares_address then names[#names + 1] = url_mark(entry.host .. entry.uri) end
  if entry.no_vary_search then names[#names + 1] = path_mark(entry.host .. entry.uri) end
  if entry.any_tag then names[#names + 1] = "tags" end
  for index = 1, #entry.tags do names[#names + 1] = "t:" .. entry.tags[index] end
  local groups = entry.groups
  for index = 1, groups and #groups or 0 do names[#names + 1] = group_mark(entry.host, groups[index]) end
  add_prefixes(names, entry.host .. entry.uri)
  if entry.host ~= entry.host_name then add_prefixes(names, entry.host_name .. entry.uri) end
  entry.judged_at = now
  entry.void, entry.marked_s = marked_s(entry.clock, false, names) ~= nil, marked_s(entry.clock, true, names)
  return entry.void, entry.marked_s
end

-- The clock goes on where it was: entries have its times.
local function apply(_, name, value, time_s)
  local clock = tonumber(value)
  if name == "lengths" then
    dict:set(name, value)
  elseif name ~= "clock" and not COUNTS[name] then
    -- Marks that were dropped for room during the replay may have raised it further.
    if FLOORS[name] or name == "paths" then
      dict:set(name, math.max(clock, dict:get(name) or 0), 0, time_s)
    else
      remember(name, clock, time_s)
    end
  end
  if name ~= "lengths" and not COUNTS[name] and clock > dict:get("clock") then dict:set("clock", clock) end
end

journal.join("p", {
  apply = apply,
  each = function(write)
    for _, name in ipairs(dict:get_keys(0)) do
      local value, time_s = nil, nil
      if name ~= "order" then value, time_s = dict:get(name) end
      if value and value ~= math.huge then write("p", name, value, time_s) end
    end
  end,
  done = function(whole)
    if whole then return end
    dict:flush_all()
    _M.init()
  end,
})

return _M
