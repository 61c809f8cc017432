-- Cache-Control, RFC 9111 §5.2: a list of directives with a token or a quoted string each, names in any case.
local byte, find, lower, match, sub = string.byte, string.find, string.lower, string.match, string.sub

local _M = {}

local QUOTE, EQUALS = byte('"'), byte("=")
-- RFC 9111 §1.2.2: what is larger than can be counted means this, and it is more than a cache ever keeps anything.
local DELTA_MAX_S = 2147483648

-- The end of a quoted string that starts at `from`, and what it says; nil when it is not closed.
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

-- Directive name → its argument, true when it has none, false when the argument cannot be read.
-- Of a directive that is there twice the first counts, RFC 9111 §4.2.1.
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
        -- Not closed: read on as if the quote were a letter, so that a no-store behind it is not overlooked.
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

-- Seconds, or nil when it is not a number that RFC 9111 §1.2.2 knows.
function _M.delta_s(value)
  if type(value) ~= "string" or not find(value, "^%d+$") then return nil end
  return math.min(tonumber(value), DELTA_MAX_S)
end

return _M
