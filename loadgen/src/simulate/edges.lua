-- Several edges in one Lua, for the simulation: the modules of nginx/lua that decide, each edge with its own copies,
-- and in place of nginx shared memory in tables and a clock that the simulation sets. Reads commands from standard
-- input, one JSON text a line, and answers each with a line.
local cjson = require("cjson")
local folder, mutations = ...

local MODULES = {
  purges = true, purge_log = true, log_answer = true, freshness = true, decide = true, cache_control = true,
  http_date = true, structured_field = true, structured_list = true,
  lock = true, no_vary_search = true, settings = true,
}

local function read(path)
  local file = assert(io.open(path))
  local text = file:read("*a")
  file:close()
  return text
end

local sources = {}
local function source_of(name)
  if not sources[name] then
    local text = read(folder .. "/" .. name .. ".lua")
    for _, mutation in ipairs(mutations) do
      if mutation.file == name .. ".lua" then
        local from, to = string.find(text, mutation.from, 1, true)
        assert(from, "a planted fault does not fit: " .. mutation.from)
        text = string.sub(text, 1, from - 1) .. mutation.to .. string.sub(text, to + 1)
      end
    end
    sources[name] = assert(loadstring(text, "@" .. name .. ".lua"))
  end
  return sources[name]
end

-- What the modules use of ngx.shared; nothing is ever evicted.
local function new_dict()
  local values, flags, lists = {}, {}, {}
  local dict = {}
  function dict.get(_, name) return values[name], flags[name] end
  function dict.set(_, name, value, _, flag)
    values[name], flags[name] = value, flag
    return true
  end
  dict.safe_set = dict.set
  function dict.safe_add(_, name, value)
    if values[name] ~= nil then return false, "exists" end
    values[name] = value
    return true
  end
  dict.add = dict.safe_add
  function dict.incr(_, name, by)
    if values[name] == nil then return nil, "not found" end
    values[name] = values[name] + by
    return values[name]
  end
  function dict.clear()
    values, flags, lists = {}, {}, {}
  end
  function dict.delete(_, name) values[name], flags[name] = nil, nil end
  function dict.rpush(_, name, value)
    lists[name] = lists[name] or {}
    table.insert(lists[name], value)
    return #lists[name]
  end
  function dict.lpop(_, name) return lists[name] and table.remove(lists[name], 1) end
  function dict.llen(_, name) return lists[name] and #lists[name] or 0 end
  return dict
end

-- Each edge declares the same functions of C.
local declared = {}
local ffi = setmetatable({
  cdef = function(text)
    if not declared[text] then require("ffi").cdef(text) end
    declared[text] = true
  end,
}, { __index = require("ffi") })

local function crc32_short(text)
  local sum = 0
  for index = 1, #text do sum = (sum * 33 + string.byte(text, index)) % 4294967296 end
  return sum
end

local now_ms = 0

-- Returns the modules of an edge: its cache is empty, as after a start.
local function new_edge(follow)
  local shared = setmetatable({}, { __index = function(all, name)
    local dict = new_dict()
    rawset(all, name, dict)
    return dict
  end })
  local ngx = {
    shared = shared, crc32_short = crc32_short,
    now = function() return now_ms / 1000 end, time = function() return math.floor(now_ms / 1000) end,
    worker = { pid = function() return 1 end, id = function() return 0 end }, log = function() end, ERR = 1, WARN = 2,
  }
  local loaded = {
    journal = { add = function() end, join = function() end, settle = function() end },
    ["cjson.safe"] = require("cjson.safe"), ffi = ffi,
  }
  local environment = setmetatable({ ngx = ngx }, { __index = _G })
  function environment.require(name)
    if loaded[name] then return loaded[name] end
    if not MODULES[name] then return require(name) end
    local chunk = loadstring(string.dump(source_of(name)), "@" .. name .. ".lua")
    setfenv(chunk, environment)
    loaded[name] = chunk() or true
    return loaded[name]
  end
  local edge = { entries = {}, flights = {}, count = 0 }
  local require = environment.require
  require("settings").set({ profile = "rfc9111", workers = 1, collapse = true, follow = follow })
  edge.shared = shared
  edge.settings, edge.purges, edge.purge_log = require("settings"), require("purges"), require("purge_log")
  edge.purges.init()
  edge.purge_log.now_ms = function() return now_ms end
  edge.decide, edge.freshness, edge.log_answer = require("decide").decide, require("freshness"), require("log_answer")
  return edge
end

local edges = {}

-- As edge.lua and flight.lua: the lease is looked at first, then the purges.
local function request_of(edge, page)
  return {
    method = "GET", fields = {}, special = false, leased = edge.purge_log.is_leased(), host = "wiki", host_name = "wiki",
    uri = "/wiki/" .. page,
  }
end

local function find(edge, page)
  local entry = edge.entries[page]
  if not entry then return nil end
  local void, stale_since_s = edge.purges.judge(entry)
  if void then
    edge.entries[page] = nil
    return nil
  end
  entry.stale_since_s = stale_since_s
  return entry
end

local function begin(edge, page, fetch, request)
  edge.count = edge.count + 1
  local flight = {
    id = edge.count, page = page, entry = fetch.entry, collapsing = fetch.collapsing, clock = edge.purges.clock(),
    requested_s = now_ms / 1000,
  }
  flight.log_reached = edge.purge_log.reached()
  flight.subject = {
    clock = flight.clock, host = request.host, host_name = request.host_name, uri = request.uri, tags = {},
    any_tag = true, shares_address = true,
  }
  edge.flights[flight.id] = flight
  return { fetch = flight.id, after = flight.log_reached, etag = flight.entry and flight.entry.etag or nil }
end

-- As flight.lua: a fetch that may be purged is nobody's to wait for.
local function running(edge, page)
  for _, flight in pairs(edge.flights) do
    if flight.page == page and flight.collapsing then
      local void, stale_since_s = edge.purges.judge(flight.subject)
      if not void and not stale_since_s then return flight end
    end
  end
  return nil
end

local commands = {}

function commands.start(_, name, command)
  edges[name] = new_edge(command.follow)
  return {}
end

-- Warm: what is stored and what is purged is on disk, what the log says is not.
function commands.restart(edge)
  edge.flights = {}
  edge.shared.purge_log:clear()
  return {}
end

-- Returns the revision; or the fetch to make, or to wait for.
function commands.get(edge, _, command)
  local request = request_of(edge, command.page)
  local entry = find(edge, command.page)
  local rules = command.alone and edge.settings.alone or edge.settings.collapsing
  local action = edge.decide(entry, request, now_ms / 1000, rules)
  if action.cache_status then return { revision = entry.revision, status = action.cache_status } end
  local flight = action.may_wait and running(edge, command.page)
  if flight then return { wait = flight.id } end
  return begin(edge, command.page, action.fetch, request)
end

-- As fetch.lua, validation.lua and store.lua. Returns whether other requests may get what is stored.
function commands.fetched(edge, _, command)
  local flight = edge.flights[command.fetch]
  edge.flights[command.fetch] = nil
  if not flight or not command.fields then return { stored = false } end
  local fields, old = {}, flight.entry
  for name, value in pairs(command.fields) do fields[name] = { value } end
  local judgement = edge.freshness.judge({
    status = 200, fields = fields, requested_s = flight.requested_s, received_s = now_ms / 1000,
  }, edge.settings.freshness)
  local confirmed, stored = command.status == 304, edge.entries[flight.page]
  if confirmed and (not old or stored ~= old or edge.purges.judge(old)) then return { stored = false } end
  if not judgement.storable then return { stored = false } end
  if judgement.bounded and not edge.purge_log.covers(flight.log_reached, judgement.log_position) then
    return { stored = false }
  end
  local entry = {
    status = 200, requested_s = flight.requested_s, received_s = now_ms / 1000, clock = flight.clock, host = "wiki",
    host_name = "wiki", uri = "/wiki/" .. flight.page, tags = { string.lower(command.fields["cache-tag"]) }, etag = fields.etag[1],
    revision = confirmed and old.revision or command.revision, bounded = judgement.bounded,
    lifetime_s = judgement.lifetime_s, initial_age_s = judgement.initial_age_s,
    always_validate = judgement.always_validate, stale_forbidden = judgement.stale_forbidden,
    stale_while_revalidate_s = 0, stale_if_error_s = 0,
  }
  if edge.purges.address_purged_s(entry) or edge.purges.judge(entry) then return { stored = false } end
  if stored and stored.requested_s > entry.requested_s and not edge.purges.judge(stored) then
    return { stored = false }
  end
  edge.entries[flight.page] = entry
  return { stored = not judgement.always_validate }
end

-- As zone.lua and store.lua.
function commands.purge(edge, _, command)
  if command.everything then edge.purges.host("wiki") end
  for _, uri in ipairs(command.urls or {}) do
    edge.purges.url("wiki" .. uri)
    local page = string.match(uri, "^/wiki/(.+)$")
    if page then edge.entries[page] = nil end
  end
  for _, tag in ipairs(command.tags or {}) do edge.purges.tag(tag) end
  return {}
end

-- What it answers without asking, if it does.
function commands.peek(edge, _, command)
  local action = edge.decide(find(edge, command.page), request_of(edge, command.page), now_ms / 1000,
    edge.settings.collapsing)
  return { revision = action.cache_status and edge.entries[command.page].revision or nil }
end

-- Processor time of this process since its start.
function commands.time()
  return { cpu_s = os.clock() }
end

function commands.position(edge)
  return { after = edge.purge_log.position() }
end

function commands.followed(edge, _, command)
  local said = edge.log_answer.decode(cjson.encode(command.said))
  if said then edge.log_answer.apply(said, command.asked_ms) end
  return {}
end

io.stdout:setvbuf("no")
for line in io.lines() do
  local command = cjson.decode(line)
  -- Each edge has its own clock.
  now_ms = command.now_ms or now_ms
  local answer = commands[command.what](edges[command.edge or ""], command.edge, command)
  io.stdout:write(cjson.encode(answer), "\n")
end
