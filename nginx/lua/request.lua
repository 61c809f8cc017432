-- A client's request as the cache sees it: its key, and what of it goes on to the origin.
local rays = require("ray")
local settings = require("settings")

local _M = {}

-- Headers that an application may build its answer from although no Vary says so: they are part of the key, as in
-- https://developers.cloudflare.com/cache/how-to/cache-keys/, or one client could choose what all others get.
local KEYED = {
  "x-forwarded-host", "x-host", "x-forwarded-scheme", "x-forwarded-proto", "x-forwarded-port", "x-forwarded-prefix", "x-forwarded-server",
  "x-original-url", "x-rewrite-url", "forwarded",
  "x-http-method-override", "x-http-method", "x-method-override",
}
-- What makes an answer from the cache more than sending what is stored.
local SPECIAL = { "range", "if-none-match", "if-modified-since", "if-match", "if-unmodified-since", "cache-control", "pragma" }
-- RFC 9110 §7.6.1, and what nginx or the edge itself says to the origin.
local NOT_FORWARDED = {
  host = true, connection = true, ["keep-alive"] = true, ["proxy-connection"] = true, te = true, trailer = true, ["transfer-encoding"] = true,
  upgrade = true, ["content-length"] = true, expect = true, ["http2-settings"] = true, ["proxy-authorization"] = true,
  ["x-forwarded-for"] = true, ["cf-connecting-ip"] = true, ["cf-ray"] = true,
}
local CONDITIONS = { ["if-none-match"] = true, ["if-modified-since"] = true, ["if-match"] = true, ["if-unmodified-since"] = true, ["if-range"] = true, range = true }
-- A client cannot have these dropped by naming them in Connection.
local NEVER_HOP_BY_HOP = { host = true, ["content-length"] = true, ["transfer-encoding"] = true }

local function each_line(value, act)
  if type(value) ~= "table" then return act(value) end
  for index = 1, #value do act(value[index]) end
end

-- The names that Connection lists, in lower case.
function _M.connection_listed(value)
  local listed = {}
  if value == nil then return listed end
  if type(value) == "table" then value = table.concat(value, ",") end
  for name in string.gmatch(string.lower(value), "[^%s,]+") do
    if not NEVER_HOP_BY_HOP[name] then listed[name] = true end
  end
  return listed
end

-- What was said in Host → the part of a key that it becomes, and its name without a port. Clients say few different things;
-- one that says many empties the table.
local HOSTS_MAX = 1000
local hosts, hosts_count = {}, 0

--- The host's part of a key and its name; nil when the request names two.
function _M.host(var)
  local said = var.http_host or ""
  local known = hosts[said]
  if not known then
    local lower = string.lower(said)
    -- What follows the last colon is a port, but not inside the brackets of an IPv6 address. RFC 3986 §3.2.2.
    known = { key = string.gsub(lower, ":80$", ""), name = (string.gsub(lower, ":%d*$", "")) }
    if hosts_count >= HOSTS_MAX then hosts, hosts_count = {}, 0 end
    hosts[said], hosts_count = known, hosts_count + 1
  end
  -- In absolute form the target has a host of its own; two different ones are an attempt at a wrong key. RFC 9112 §3.2.2.
  if known.name ~= var.host then return nil end
  return known.key, known.name
end

local function names_any(fields, names)
  for index = 1, #names do
    if fields[names[index]] ~= nil then return true end
  end
  return false
end

-- The host of a request as in `host`, with what that leaves out: RFC 9112 §3.2.2 and HTTP/1.0. nil and why when there is none.
local function any_host(var)
  local authority = string.match(var.request, "^%S+ [%a][%w+.-]*://([^/?# ]*)")
  if (var.http_host or "") ~= "" then
    if authority and string.lower(authority) ~= string.lower(var.http_host) then return nil, "the request names two different hosts" end
    local host, name = _M.host(var)
    return host, host and name or "the request names two different hosts"
  end
  if var.server_protocol ~= "HTTP/1.0" then return nil, "the request names no host" end
  local address = string.find(var.server_addr, ":", 1, true) and "[" .. var.server_addr .. "]" or var.server_addr
  local said = string.lower(authority or address .. ":" .. var.server_port)
  local name = string.gsub(said, ":%d+$", "")
  return (string.gsub(said, ":80$", "")), name
end

-- nil and a reason when it cannot be answered.
function _M.read()
  local var = ngx.var
  local host, host_name = any_host(var)
  if not host then return nil, host_name end
  local uri = var.request_uri
  if string.find(uri, "[%z\1-\32#\127]") or string.byte(uri) ~= 47 then return nil, "the request target is not a path" end

  local fields
  local request = { method = var.request_method, host = host, host_name = host_name, uri = uri, address = host .. uri, special = false, keyed = false, with_body = false }
  function request.fields()
    fields = fields or ngx.req.get_headers(0)
    return fields
  end
  request.base = request.address
  if var.unusual ~= "" then
    local all = request.fields()
    request.special = names_any(all, SPECIAL)
    request.keyed = names_any(all, KEYED) or settings.profile == "cloudflare" and all.origin ~= nil
    request.with_body = all["transfer-encoding"] ~= nil or all["content-length"] ~= nil and all["content-length"] ~= "0"
  end
  if request.keyed then
    local all, parts = request.fields(), { request.address }
    for _, name in ipairs(KEYED) do
      if all[name] then parts[#parts + 1] = name .. "=" .. (type(all[name]) == "table" and table.concat(all[name], ",") or all[name]) end
    end
    if settings.profile == "cloudflare" and all.origin then parts[#parts + 1] = "origin=" .. tostring(all.origin) end
    request.base = table.concat(parts, "\2")
  end
  return request
end

-- The header lines that go on to the origin, without Host. `conditions`: also the client's conditions and range.
function _M.forwarded_lines(request, conditions)
  local var = ngx.var
  local listed = _M.connection_listed(request.fields().connection)
  local lines = {}
  for name, value in pairs(ngx.req.get_headers(0, true)) do
    local lower = string.lower(name)
    if not NOT_FORWARDED[lower] and not listed[lower] and (conditions or not CONDITIONS[lower]) then
      each_line(value, function(line) lines[#lines + 1] = name .. ": " .. (line == true and "" or line) end)
    end
  end
  local before = var.http_x_forwarded_for
  lines[#lines + 1] = "X-Forwarded-For: " .. (before and before .. ", " or "") .. var.remote_addr
  if not request.fields()["x-forwarded-proto"] then lines[#lines + 1] = "X-Forwarded-Proto: " .. var.scheme end
  lines[#lines + 1] = "CF-Connecting-IP: " .. var.remote_addr
  lines[#lines + 1] = "CF-Ray: " .. rays.of(var)
  return lines
end

--- The body of a client's request, read to its end: nil, {text} or {file}, and its size in bytes.
function _M.body()
  ngx.req.read_body()
  local text = ngx.req.get_body_data()
  if text then return { text = text }, #text end
  local path = ngx.req.get_body_file()
  if not path then return nil, 0 end
  local file = assert(io.open(path, "rb"))
  local bytes = file:seek("end")
  file:close()
  return { file = path }, bytes
end

return _M
