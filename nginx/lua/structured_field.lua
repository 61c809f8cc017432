-- Parses dictionaries of RFC 8941 §4.2.2, the format of targeted cache control (RFC 9213). Any mistake voids all of it.
local byte, find, match, sub = string.byte, string.find, string.match, string.sub

local _M = {}

local KEY = "^[a-z*][a-z0-9_%-.*]*"

-- Each reader returns the value (as Cache-Control would have it) and its end, or nil.
local function read_string(text, at)
  local stop = at + 1
  while true do
    local found = find(text, '["\\%c\127-\255]', stop)
    if not found then return nil end
    local char = sub(text, found, found)
    if char == '"' then return false, found end
    if char ~= "\\" or not find(text, '^["\\]', found + 1) then return nil end
    stop = found + 2
  end
end

local function read_number(text, at)
  local stop = select(2, find(text, "^%-?%d+", at))
  if not stop then return nil end
  local digits = #match(sub(text, at, stop), "%d+")
  if find(text, "^%.", stop + 1) then
    local fraction = match(text, "^%.(%d+)", stop + 1)
    if not fraction or #fraction > 3 or digits > 12 then return nil end
    return false, stop + 1 + #fraction
  end
  if digits > 15 then return nil end
  return sub(text, at, stop), stop
end

local function read_bare_item(text, at)
  local char = byte(text, at)
  if not char then return nil end
  if char == 34 then return read_string(text, at) end
  if char == 45 or (char >= 48 and char <= 57) then return read_number(text, at) end
  if char == 63 then
    local bit = match(text, "^%?([01])", at)
    if not bit then return nil end
    if bit == "1" then return true, at + 1 end
    return "absent", at + 1
  end
  if char == 58 then
    local stop = select(2, find(text, "^:[A-Za-z0-9+/=]*:", at))
    if not stop then return nil end
    return false, stop
  end
  local stop = select(2, find(text, "^[%a*][%w!#$%%&'*+%-.^_`|~:/]*", at))
  if not stop then return nil end
  return false, stop
end

local function skip_parameters(text, at)
  while true do
    local semicolon = match(text, "^;[ ]*()", at)
    if not semicolon then return at end
    local stop = select(2, find(text, KEY, semicolon))
    if not stop then return nil end
    at = stop + 1
    if byte(text, at) == 61 then
      local _, item_end = read_bare_item(text, at + 1)
      if not item_end then return nil end
      at = item_end + 1
    end
  end
end

local function skip_inner_list(text, at)
  at = match(text, "^%([ ]*()", at)
  while at do
    if find(text, "^%)", at) then return at end
    local _, stop = read_bare_item(text, at)
    if not stop then return nil end
    at = skip_parameters(text, stop + 1)
    if not at or not find(text, "^[ )]", at) then return nil end
    at = match(text, "^[ ]*()", at)
  end
end

--- For fields of other types than a dictionary.
_M.read_bare_item, _M.skip_parameters = read_bare_item, skip_parameters

--- Returns key → a string of digits, true, or false for a value that no cache directive has; nil when void or empty.
-- with_lists: an inner list is its text instead of false
function _M.dictionary(text, with_lists)
  text = match(text, "^[ ]*(.-)[ ]*$")
  if text == "" then return nil end
  local members, at = {}, 1
  while true do
    local key_end = select(2, find(text, KEY, at))
    if not key_end then return nil end
    local key, value = sub(text, at, key_end), true
    at = key_end + 1
    if byte(text, at) == 61 then
      local stop
      if byte(text, at + 1) == 40 then
        stop = skip_inner_list(text, at + 1)
        value = with_lists and stop and sub(text, at + 1, stop) or false
      else
        value, stop = read_bare_item(text, at + 1)
      end
      if not stop then return nil end
      at = stop + 1
    end
    at = skip_parameters(text, at)
    if not at then return nil end
    -- The last of two members with the same key counts, unlike in Cache-Control.
    if value == "absent" then members[key] = nil else members[key] = value end
    if at > #text then return members end
    at = match(text, "^[ \t]*,[ \t]*()", at)
    if not at or at > #text then return nil end
  end
end

return _M
