-- Selects the stored response for a request by Vary, RFC 9111 §4.1.
local encodings = require("encodings")
local http_date = require("http_date")
local settings = require("settings")

local _M = {}

local NAMES_MAX = 16

--- Returns the sorted header names that select a response, "a,b", and whether there are more than NAMES_MAX; nil when
-- one response serves all requests. `fields`: those of the response.
function _M.selection(fields)
  local lines = fields.vary
  -- An origin may encode its response and forget Vary.
  local encoded = settings.profile == "cloudflare" and fields["content-encoding"] ~= nil
  if not lines and not encoded then return nil end
  local seen, names = {}, {}
  local listed = (encoded and "accept-encoding," or "") .. string.lower(table.concat(lines or {}, ","))
  for name in string.gmatch(listed, "[^%s,]+") do
    -- Cloudflare keeps one response for an address, whatever else Vary names.
    local counts = settings.profile ~= "cloudflare" or name == "accept-encoding"
    if counts and not seen[name] and not string.find(name, "[|=]") then
      seen[name] = true
      names[#names + 1] = name
    end
  end
  if #names == 0 then return nil end
  table.sort(names)
  return table.concat(names, ",", 1, math.min(#names, NAMES_MAX)), #names > NAMES_MAX
end

--- Whether the first of two entries for a request is the more recent one by its Date, RFC 9111 §4.
function _M.is_newer(one, other, now_s)
  local one_s = one.date and http_date.parse(one.date, now_s) or one.received_s
  local other_s = other.date and http_date.parse(other.date, now_s) or other.received_s
  if one_s == other_s then return one.received_s > other.received_s end
  return one_s > other_s
end

-- White space around commas and the split over lines do not matter, RFC 9111 §4.1.
local function normal(value)
  if type(value) == "table" then value = table.concat(value, ",") end
  if value == nil then return "-" end
  -- It may be inside a quoted string, where every space counts.
  if string.find(value, '"', 1, true) then return "+" .. value end
  return "+" .. string.gsub(string.gsub(string.gsub(value, "[ \t]*,[ \t]*", ","), "^[ \t]+", ""), "[ \t]+$", "")
end

local BY_ENCODING = "|accept-encoding"
-- A request may name Accept-Encoding in Connection, and then it has none.
local CONNECTIONS = { ["keep-alive"] = true, ["close"] = true, ["Keep-Alive"] = true }

local function is_once(raw, name)
  local at = string.find(raw, name, 1, true)
  return not at or not string.find(raw, name, at + 1, true)
end

-- nginx's variables have the first of several lines only. Of HTTP/2 there is no raw header.
local function has_single_lines(var)
  if var.server_protocol == "HTTP/2.0" then return false end
  local raw = string.lower(ngx.req.raw_header(true))
  return is_once(raw, "accept-encoding:") and is_once(raw, "connection:")
end

--- Returns the same key as below when all responses of a base are selected by Accept-Encoding, and this edge knows its
-- canonical value without the other header fields; else nil. selections: the value of the base in the index
function _M.plain_key(base, selections, var)
  if selections ~= BY_ENCODING or settings.profile ~= "cloudflare" then return nil end
  local connection = var.http_connection
  if connection and not CONNECTIONS[connection] then return nil end
  if not has_single_lines(var) then return nil end
  return base .. encodings.key_part(var.http_accept_encoding)
end

--- Returns the key of the response that a request selects. base: the key before Vary; selection: see above
function _M.key(base, selection, request)
  local parts = { base, "\1", selection }
  for name in string.gmatch(selection, "[^,]+") do
    local value = normal(request.fields[name])
    parts[#parts + 1] = "=" .. #value .. ":" .. value
  end
  return table.concat(parts)
end

return _M
