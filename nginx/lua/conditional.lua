-- Evaluates conditions and ranges of a request against a stored entry: RFC 9110 §13 and §14, RFC 9111 §4.3.2.
local http_date = require("http_date")

local find, match, sub = string.find, string.match, string.sub

local _M = {}

local function one_text(value)
  return type(value) == "table" and table.concat(value, ", ") or value
end

--- Returns an entity tag without its mark of weakness.
function _M.opaque(tag)
  return match(tag, "^W/(.*)$") or tag
end

-- Weak comparison of an entity tag with a list or "*": RFC 9110 §13.1.2.
local function lists(text, etag)
  if match(text, "^%s*%*%s*$") then return true end
  if not etag then return false end
  local at, wanted = 1, _M.opaque(etag)
  while true do
    local start = match(text, "^[%s,]*()", at)
    local tag, after = match(text, '^(W?/?"[^"]*")()', start)
    if not tag then
      tag, after = match(text, "^([^,%s]+)()", start)
      if not tag then return false end
    end
    if tag == etag or _M.opaque(tag) == wanted then return true end
    at = after
  end
end

--- Whether the client already has the entry's content. If-None-Match overrides If-Modified-Since, RFC 9110 §13.2.2.
function _M.not_modified(entry, fields, now_s)
  if entry.status ~= 200 then return false end
  local none_match = one_text(fields["if-none-match"])
  if none_match then return lists(none_match, entry.etag) end
  local since = fields["if-modified-since"]
  if type(since) ~= "string" then return false end
  local since_s = http_date.parse(since, now_s)
  if not since_s then return false end
  -- RFC 9111 §4.3.2: Date replaces a missing Last-Modified.
  local modified_s = entry.last_modified and http_date.parse(entry.last_modified, now_s)
    or entry.date and http_date.parse(entry.date, now_s)
  return modified_s ~= nil and modified_s <= since_s
end

--- Whether Last-Modified is a strong validator: the response is at least a second younger, RFC 9110 §8.8.2.2.
function _M.is_strong_date(entry, now_s)
  local modified_s = entry.last_modified and http_date.parse(entry.last_modified, now_s)
  local date_s = entry.date and http_date.parse(entry.date, now_s)
  return modified_s ~= nil and date_s ~= nil and date_s - modified_s >= 1
end

-- If-Range, RFC 9110 §13.1.5: requires a strong comparison, or exactly the same date.
local function range_allowed(entry, condition, now_s)
  if condition == nil then return true end
  if type(condition) ~= "string" then return false end
  if find(condition, '^"') then return condition == entry.etag end
  -- Its date is also that of the compressed bytes that the client may have a part of.
  if entry.compressible then return false end
  return condition == entry.last_modified and _M.is_strong_date(entry, now_s)
end

--- Returns "all" (send the whole body), "none" (416), or the first and last byte.
-- Several ranges get the whole body, which RFC 9110 §14.2 allows.
function _M.range(entry, fields, size, now_s)
  local range = fields.range
  if type(range) ~= "string" or entry.status ~= 200 then return "all" end
  if not range_allowed(entry, fields["if-range"], now_s) then return "all" end
  local first, last = match(range, "^[bB][yY][tT][eE][sS]=[ \t]*(%d*)%-(%d*)[ \t]*$")
  if not first or first == "" and last == "" then return "all" end
  if first == "" then
    local count = tonumber(last)
    if count == 0 then return "none" end
    -- RFC 9110 §14.1.2: satisfiable, but no Content-Range can say so.
    if size == 0 then return "all" end
    return size - math.min(count, size), size - 1
  end
  local from, to = tonumber(first), last == "" and size - 1 or tonumber(last)
  if to < from and last ~= "" then return "all" end
  if from >= size then return "none" end
  return from, math.min(to, size - 1)
end

--- Returns bytes `first` to `last`, counted from 0, both included.
function _M.slice(text, first, last)
  return sub(text, first + 1, last + 1)
end

return _M
