-- Parses Cache-Control (RFC 9111 §5.2): directives with an optional token or quoted string; names ignore case.
local byte, find, lower, match, sub = string.byte, string.find, string.lower, string.match, string.sub

local _M = {}

local QUOTE, EQUALS = byte('"'), byte("=")
-- RFC 9111 §1.2.2: a number too large to represent counts as this value. No cache keeps a response for so long.
local DELTA_MAX_S = 2147483648

-- Returns the end and the content of the quoted string that starts at `from`; nil when it is not closed.
local function quoted(text, from)
  local at, parts = from + 1, {}
  while true do
    local stop = find(text, '["\\]', at)
    if not stop then return nil end
    parts[#parts + 1] = sub(text, at, stop - 1)
    if byte(text, stop) == QUOTE then return stop, table.concat(parts) end
    parts[#parts + 1] = sub(text, stop + 1, stop + 1)
    at = stop + 2
  end
end

--- Returns directive name → argument; true without an argument, false for an unreadable one.
-- The first of two directives with the same name counts, RFC 9111 §4.2.1.
function _M.parse(text)
  local directives, at, length = {}, 1, #text
  while at <= length do
    local name_end = select(2, find(text, "^[ \t,]*[^ \t,=\"]*", at))
    local name = lower(match(sub(text, at, name_end), "[^ \t,]*$"))
    local value = true
    at = name_end + 1
    if byte(text, at) == EQUALS then
      if byte(text, at + 1) == QUOTE then
        local stop, content = quoted(text, at + 1)
        -- Not closed: read on as if the quote were a letter, so that a later no-store is not missed.
        if stop then value, at = content, stop + 1 else value, at = false, at + 2 end
      else
        local stop = select(2, find(text, "^=[^,]*", at))
        value, at = match(sub(text, at + 1, stop), "^([^ \t\"]+)[ \t]*$") or false, stop + 1
      end
    end
    local rest = select(2, find(text, "^[^,]*", at))
    if find(sub(text, at, rest), "[^ \t]") then value = false end
    at = rest + 1
    if name ~= "" and directives[name] == nil then directives[name] = value end
  end
  return directives
end

--- Returns seconds; nil when the value is not a number as defined in RFC 9111 §1.2.2.
function _M.delta_s(value)
  if type(value) ~= "string" or not find(value, "^%d+$") then return nil end
  return math.min(tonumber(value), DELTA_MAX_S)
end

return _M
