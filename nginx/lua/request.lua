-- A client's request as the cache sees it: its key, and what is forwarded to the origin.
local encodings = require("encodings")
local no_vary_search = require("no_vary_search")
local purge_log = require("purge_log")
local rays = require("ray")
local settings = require("settings")
local via = require("via")

local _M = {}

-- RFC 9110 §7.6.1, and headers that nginx or the edge itself sends to the origin.
local NOT_FORWARDED = {
  "host", "connection", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade",
  "content-length", "expect", "http2-settings", "proxy-authorization", "cf-connecting-ip", "cf-ray",
  "purge-log-after",
}
local CONDITIONS = {
  ["if-none-match"] = true, ["if-modified-since"] = true, ["if-match"] = true, ["if-unmodified-since"] = true,
  ["if-range"] = true, range = true,
}

-- The names that Connection lists, in lower case.
local function connection_listed(value)
  if value == nil then return {} end
  local listed = {}
  if type(value) == "table" then value = table.concat(value, ",") end
  for name in string.gmatch(string.lower(value), "[^%s,]+") do listed[name] = true end
  return listed
end

-- As one line, RFC 9110 §5.3.
local function joined(value)
  return type(value) == "table" and table.concat(value, ", ") or value
end

-- Turns the client's header fields into those of the canonical request: name in lower case → line or lines. The request
-- to the origin, the key and the decision to store all use these fields, so they cannot differ.
local function canonical(fields, var, keyed)
  for name in pairs(connection_listed(fields.connection)) do fields[name] = nil end
  for index = 1, #NOT_FORWARDED do fields[NOT_FORWARDED[index]] = nil end
  for index = 1, #keyed do
    local name = keyed[index]
    fields[name] = joined(fields[name])
  end
  if settings.profile == "cloudflare" then
    fields["accept-encoding"] = encodings.asked(joined(fields["accept-encoding"]))
  end
  -- Cloudflare documents no Via towards the origin.
  if settings.profile == "rfc9111" then fields.via = via.appended(joined(fields.via), var.server_protocol) end
  local before = joined(fields["x-forwarded-for"])
  fields["x-forwarded-for"] = (before and before .. ", " or "") .. var.remote_addr
  fields["cf-connecting-ip"] = var.remote_addr
  return fields
end

-- Host header → its part of the key, and its name without a port.
-- Clients send few different values; a client that sends many empties the table.
local HOSTS_MAX = 1000
local hosts, hosts_count = {}, 0

--- Returns the host's part of the key and its name; nil when the request names two hosts.
function _M.host(var)
  local said = var.http_host or ""
  local known = hosts[said]
  if not known then
    local lower = string.lower(said)
    -- The text after the last colon is a port, except inside the brackets of an IPv6 address: RFC 3986 §3.2.2.
    known = { key = string.gsub(lower, settings.default_port, ""), name = (string.gsub(lower, ":%d*$", "")) }
    if hosts_count >= HOSTS_MAX then hosts, hosts_count = {}, 0 end
    hosts[said], hosts_count = known, hosts_count + 1
  end
  -- A target in absolute form has its own host; two different hosts are an attempt at a wrong key. RFC 9112 §3.2.2.
  if known.name ~= var.host then return nil end
  return known.key, known.name
end

local function names_any(fields, names)
  for index = 1, #names do
    if fields[names[index]] ~= nil then return true end
  end
  return false
end

-- As `host`, with the cases that it leaves out: RFC 9112 §3.2.2 and HTTP/1.0. Returns nil and a reason without a host.
local function any_host(var)
  local authority = string.match(var.request, "^%S+ [%a][%w+.-]*://([^/?# ]*)")
  if (var.http_host or "") ~= "" then
    if authority and string.lower(authority) ~= string.lower(var.http_host) then
      return nil, "the request names two different hosts"
    end
    local host, name = _M.host(var)
    return host, host and name or "the request names two different hosts"
  end
  if var.server_protocol ~= "HTTP/1.0" then return nil, "the request names no host" end
  local address = string.find(var.server_addr, ":", 1, true) and "[" .. var.server_addr .. "]" or var.server_addr
  local said = string.lower(authority or address .. ":" .. var.server_port)
  local name = string.gsub(said, ":%d+$", "")
  return (string.gsub(said, settings.default_port, "")), name
end

-- The key of an address with the keyed headers in `all`.
-- A value may contain any byte except a line end, so its length precedes it.
local function key_of(address, all, keyed)
  local parts = { address, "\2" }
  for index = 1, #keyed do
    local name = keyed[index]
    local value = all[name]
    if value ~= nil then parts[#parts + 1] = name .. "=" .. #value .. ":" .. value end
  end
  return table.concat(parts)
end

--- Returns the key of a request, before Vary, under a No-Vary-Search (nil: none).
function _M.base(request, header)
  local keyed, address = settings.keyed_headers, request.host .. no_vary_search.canonical(request.uri, header)
  return names_any(request.fields, keyed) and key_of(address, request.fields, keyed) or address
end

--- Returns the canonical request: method, host (as in the key), host_name (without a port), uri, and
-- fields: see `canonical`
-- address: the key without the keyed headers; purges name it
-- base: the key, before Vary, under no_vary_search: the header that the path is known for, or nil
-- special: it has conditions, a range or directives; with_body
-- looped: this edge has forwarded the request before
-- leased: it follows a purge log, and may serve what is bounded by that
-- conditions_said: nginx has read conditions in the request, whether or not the canonical request has them
-- Returns nil and a reason when the request cannot be answered.
function _M.read()
  local var = ngx.var
  local host, host_name = any_host(var)
  if not host then return nil, host_name end
  local uri = var.request_uri
  if string.find(uri, "[%z\1-\32#\127]") or string.byte(uri) ~= 47 then
    return nil, "the request target is not a path"
  end

  local said = ngx.req.get_headers(0)
  -- Its metatable would look up every absent name in other spellings.
  setmetatable(said, nil)
  local length = said["content-length"]
  local with_body = said["transfer-encoding"] ~= nil or length ~= nil and length ~= "0"
  local conditions_said = names_any(said, settings.special_headers)
  local looped = via.lists_this_edge(joined(said.via))
  local keyed = settings.keyed_headers
  local fields = canonical(said, var, keyed)
  local address = host .. uri
  local request = {
    method = var.request_method, host = host, host_name = host_name, uri = uri, fields = fields,
    address = address, no_vary_search = no_vary_search.known(address),
    special = conditions_said and names_any(fields, settings.special_headers), conditions_said = conditions_said,
    with_body = with_body, looped = looped, leased = purge_log.is_leased(),
  }
  request.base = _M.base(request, request.no_vary_search)
  return request
end

--- Returns the header lines for the origin, without Host. `conditions`: also the client's conditions and range.
function _M.forwarded_lines(request, conditions)
  local var, lines = ngx.var, {}
  for name, value in pairs(request.fields) do
    if conditions or not CONDITIONS[name] then
      if type(value) == "table" then
        for index = 1, #value do lines[#lines + 1] = name .. ": " .. value[index] end
      else
        lines[#lines + 1] = name .. ": " .. value
      end
    end
  end
  if not request.fields["x-forwarded-proto"] then lines[#lines + 1] = "X-Forwarded-Proto: " .. var.scheme end
  lines[#lines + 1] = "CF-Ray: " .. rays.of(var)
  local reached = purge_log.reached()
  if reached then lines[#lines + 1] = "Purge-Log-After: " .. reached end
  return lines
end

--- Reads the request's body to its end. Returns nil, {text} or {file}, and its size in bytes.
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
