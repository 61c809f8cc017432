-- Which responses the edge may compress, and what it says of them. RFC 9110 §8.4 and §12.5.5.
local settings = require("settings")

local lower, match, find = string.lower, string.match, string.find

local _M = {}

local TYPES = {
  ["application/javascript"] = true, ["application/x-javascript"] = true, ["application/json"] = true,
  ["application/xml"] = true, ["application/wasm"] = true, ["application/x-ndjson"] = true,
  ["application/vnd.ms-fontobject"] = true, ["font/ttf"] = true, ["font/otf"] = true, ["image/bmp"] = true,
  ["image/x-icon"] = true, ["image/vnd.microsoft.icon"] = true,
}
-- They would become false with the bytes. A response with a coding keeps it.
local FORBIDDING = {
  ["content-encoding"] = true, ["content-range"] = true, ["content-md5"] = true, digest = true,
  ["content-digest"] = true, ["repr-digest"] = true,
}

local function is_text(value)
  local kind = lower(match(value, "^[^;%s]*"))
  -- Its events have to arrive one by one.
  if kind == "text/event-stream" then return false end
  return TYPES[kind] or find(kind, "^text/") ~= nil or find(kind, "%+json$") ~= nil or find(kind, "%+xml$") ~= nil
end

--- Whether the edge may compress a response. headers: a list of {name, value}
function _M.judge(status, headers)
  if not settings.compression or status ~= 200 then return false end
  local text = false
  for index = 1, #headers do
    local name, value = lower(headers[index][1]), headers[index][2]
    if FORBIDDING[name] then return false end
    -- RFC 9110 §7.7.
    if name == "cache-control" and find(lower(value), "no-transform", 1, true) then return false end
    if name == "content-type" then text = is_text(value) end
  end
  return text
end

-- Adds a name to Vary, unless it is there.
local function add_vary(headers, wanted)
  local last
  for index = 1, #headers do
    if lower(headers[index][1]) == "vary" then
      last = index
      for name in string.gmatch(lower(headers[index][2]), "[^%s,]+") do
        if name == "*" or name == lower(wanted) then return end
      end
    end
  end
  if not last then
    headers[#headers + 1] = { "Vary", wanted }
  else
    headers[last] = { headers[last][1], headers[last][2] .. ", " .. wanted }
  end
end

--- Whether the next response of the same URL may be sent by a dictionary: this one is a dictionary, or links to one.
function _M.takes_dictionary(headers)
  for index = 1, #headers do
    local name = lower(headers[index][1])
    if name == "use-as-dictionary" then return true end
    -- RFC 9842 §3.
    if name == "link" and find(lower(headers[index][2]), "compression-dictionary", 1, true) then return true end
  end
  return false
end

--- Adds to the list `headers` by which request headers the edge selects the coding. Returns the list.
function _M.mark(status, headers)
  if not _M.judge(status, headers) then return headers end
  add_vary(headers, "Accept-Encoding")
  -- RFC 9842 §6.2: what a dictionary changes.
  if _M.takes_dictionary(headers) then add_vary(headers, "Available-Dictionary") end
  return headers
end

return _M
