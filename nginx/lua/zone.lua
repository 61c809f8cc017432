-- What a purge call may name, and how many calls and items a plan allows.
-- https://developers.cloudflare.com/cache/how-to/purge-cache/
local dictionaries = require("dictionaries")
local purges = require("purges")
local settings = require("settings")
local store = require("store")
local calls = ngx.shared.calls

local _M = {}

local KINDS = { "files", "tags", "hosts", "prefixes" }
-- Limits of one call, for any plan.
local ITEMS_MAX = 10000
local TEXT_BYTES_MAX = 8192

-- A token bucket of `calls_bucket` calls that refills with `calls_per_minute`; single addresses have their own rate.
local PLANS = {
  free = { items_max = 100, calls_per_minute = 5, calls_bucket = 25, urls_per_second = 800 },
}

-- Takes `amount` from a bucket, or nothing when it holds less.
local function take(name, amount, capacity, per_second)
  local now = ngx.now()
  local level, at = calls:get(name), calls:get(name .. " at")
  level = math.min(capacity, (level or capacity) + (now - (at or now)) * per_second)
  local enough = level >= amount
  calls:set(name, enough and level - amount or level)
  calls:set(name .. " at", now)
  return enough
end

local function allowed(kind, count)
  local plan = PLANS[settings.plan]
  if not plan then return true end
  local items_max, urls_per_second = plan.items_max, plan.urls_per_second
  if count > items_max then return nil, 400, "a call of this plan takes at most " .. items_max .. " items" end
  if kind == "files" then
    if not take("urls", count, urls_per_second, urls_per_second) then
      return nil, 429, "this plan purges at most " .. urls_per_second .. " addresses a second"
    end
  elseif not take("calls", 1, plan.calls_bucket, plan.calls_per_minute / 60) then
    local limit = plan.calls_per_minute .. " such calls a minute, and " .. plan.calls_bucket .. " at once"
    return nil, 429, "this plan takes at most " .. limit
  end
  return true
end

-- Returns the addresses under which a purged URL may be stored: without a port it means every door of this edge.
local function addresses_of(item)
  local url = type(item) == "table" and item.url or item
  if type(url) ~= "string" then return nil end
  local authority, rest = url:match("^[hH][tT][tT][pP][sS]?://([^/?#]+)([^#]*)")
  if not authority then return nil end
  authority = authority:lower():gsub(settings.default_port, "")
  if rest == "" or rest:sub(1, 1) == "?" then rest = "/" .. rest end
  local addresses = { authority .. rest }
  if not authority:find(":%d+$") then
    for _, port in ipairs(settings.ports) do addresses[#addresses + 1] = authority .. ":" .. port .. rest end
  end
  return addresses
end

-- As in stored entries: answer.lua trims tags, request.lua drops the default port from hosts, nginx drops the last dot.
local function trimmed(text)
  return string.match(text, "^%s*(.-)%s*$")
end

local function host_of(text)
  return (trimmed(text):lower():gsub(settings.default_port, ""):gsub("%.$", ""))
end

local ACTIONS = {
  files = function(item, soft)
    for _, address in ipairs(addresses_of(item)) do store.purge_url(address, soft) end
  end,
  tags = function(item, soft) purges.tag(trimmed(item), soft) end,
  hosts = function(item, soft)
    purges.host(host_of(item), soft)
    dictionaries.forget()
  end,
  prefixes = function(item, soft)
    local host, rest = item:gsub("^[hH][tT][tT][pP][sS]?://", ""):match("^([^/]*)(.*)$")
    purges.prefix((rest == "" and host:lower() or host_of(host)) .. rest, soft)
  end,
}

local function well_formed(kind, items)
  for _, item in ipairs(items) do
    if kind == "files" then
      if not addresses_of(item) then return false end
    elseif type(item) ~= "string" or trimmed(item) == "" or #item > TEXT_BYTES_MAX then
      return false
    elseif kind == "hosts" and item:find("/", 1, true) then
      return false
    end
  end
  return true
end

--- Executes a purge call for control.lua.
function _M.purge(body, soft)
  if body.purge_everything == true then
    ngx.var.purge_kind = "everything"
    for _, kind in ipairs(KINDS) do
      if body[kind] ~= nil then return nil, 400, "purge_everything stands alone" end
    end
    local done, status, message = allowed("everything", 1)
    if not done then return nil, status, message end
    purges.everything(soft)
    dictionaries.forget()
    return true
  end
  local named
  for _, kind in ipairs(KINDS) do
    if body[kind] ~= nil then
      if named then return nil, 400, "name one of files, tags, hosts and prefixes in a call" end
      named = kind
    end
  end
  local items = named and body[named]
  if type(items) ~= "table" or #items == 0 then
    return nil, 400, 'send {"purge_everything":true}, or a list of files, tags, hosts or prefixes'
  end
  ngx.var.purge_kind, ngx.var.purge_items = named, #items
  if #items > ITEMS_MAX then return nil, 400, "at most " .. ITEMS_MAX .. " items in a call" end
  if not well_formed(named, items) then
    return nil, 400, named == "files" and "files are absolute http or https URLs" or named .. " are texts"
  end
  local done, status, message = allowed(named, #items)
  if not done then return nil, status, message end
  for _, item in ipairs(items) do ACTIONS[named](item, soft) end
  return true
end

return _M
