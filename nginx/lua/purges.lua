-- What was purged, and when. An answer carries the clock of the moment when it was asked for; it is void when anything that it
-- belongs to (everything, its host, a prefix of its address, one of its tags) was purged later. So a purge costs the same
-- whatever the cache holds, and holds for answers that were on their way to the cache, too.
local cjson = require("cjson.safe")
local dict = ngx.shared.purges

local _M = {}

-- More purged prefixes than this: everything older is void, which is never wrong, only slow.
local PREFIXES_MAX = 1000
-- Addresses share marks, so that any number of purged addresses takes bounded room; sharing one purges too much, never too little.
local URL_MARKS = 65536

local prefixes, prefixes_clock = {}, nil

function _M.init()
  -- safe_add keeps the values over a reload.
  dict:safe_add("clock", 1)
  dict:safe_add("floor", 0)
  dict:safe_add("soft floor", 0)
end

-- Changes with every purge.
function _M.clock()
  return dict:get("clock")
end

local function url_mark(key)
  return "u" .. ngx.crc32_short(key) % URL_MARKS
end

-- Writes a mark first and moves the clock after it: who reads the new clock finds the mark. Its flags are the time of the call,
-- in seconds.
local function mark(name, soft)
  local clock = dict:get("clock") + 1
  if not dict:safe_set((soft and "soft " or "") .. name, clock, 0, ngx.time()) then
    -- No room for the mark: void everything that is older instead.
    dict:flush_all()
    dict:flush_expired()
    dict:set("soft floor", 0)
    dict:set("floor", clock)
    dict:set("clock", clock)
    return
  end
  dict:incr("clock", 1)
end

function _M.everything(soft) mark("floor", soft) end
function _M.host(host, soft) mark("h" .. string.lower(host), soft) end
function _M.tag(tag, soft) mark("t" .. string.lower(tag), soft) end
function _M.url(key, soft) mark(url_mark(key), soft) end

function _M.prefix(prefix, soft)
  local list = cjson.decode(dict:get("prefixes") or "[]")
  local clock = dict:get("clock") + 1
  list[#list + 1] = { prefix, clock, soft, ngx.time() }
  if #list > PREFIXES_MAX or not dict:safe_set("prefixes", cjson.encode(list)) then
    dict:set("floor", clock)
    dict:delete("prefixes")
  end
  dict:incr("clock", 1)
end

local function purged_prefixes(clock)
  if prefixes_clock ~= clock then
    prefixes = cjson.decode(dict:get("prefixes") or "[]")
    prefixes_clock = clock
  end
  return prefixes
end

-- When the first of `names` was purged that was purged after the clock stood at `since`; nil when none was.
local function marked_s(since, soft, names)
  local first_s
  for index = 1, #names do
    local clock, time_s = dict:get((soft and "soft " or "") .. names[index])
    if clock and clock > since and (not first_s or time_s < first_s) then first_s = time_s end
  end
  return first_s
end

-- When the address of an answer that is to be stored was purged, if it was after it was asked for. What is stored under its
-- address alone is removed by a purge of that; what was on its way then was not there to be removed.
function _M.address_purged_s(entry, soft)
  return marked_s(entry.clock, soft, { url_mark(entry.host .. entry.uri) })
end

-- entry: clock (when it was asked for), host, host_name, uri, tags, shares_address (its key is not the address alone)
-- Returns whether it is void, and since when it is marked stale (nil: it is not).
function _M.judge(entry)
  local now = _M.clock()
  if entry.judged_at == now then return entry.void, entry.marked_s end
  local names = { "floor", "h" .. entry.host_name }
  if entry.host ~= entry.host_name then names[3] = "h" .. entry.host end
  if entry.shares_address then names[#names + 1] = url_mark(entry.host .. entry.uri) end
  for index = 1, #entry.tags do names[#names + 1] = "t" .. entry.tags[index] end
  local void, stale_s = marked_s(entry.clock, false, names) ~= nil, marked_s(entry.clock, true, names)
  for _, purged in ipairs(purged_prefixes(now)) do
    local prefix, clock, soft, time_s = purged[1], purged[2], purged[3], purged[4]
    if clock > entry.clock and (string.find(entry.host .. entry.uri, prefix, 1, true) == 1 or string.find(entry.host_name .. entry.uri, prefix, 1, true) == 1) then
      if soft then stale_s = math.min(stale_s or time_s, time_s) else void = true end
    end
  end
  entry.judged_at, entry.void, entry.marked_s = now, void, stale_s
  return void, stale_s
end

return _M
