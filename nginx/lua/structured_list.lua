-- Parses lists of strings, RFC 9651 §4.2.1, such as Cache-Groups. Parameters are ignored; any mistake voids the field.
local structured_field = require("structured_field")

local byte, gsub, match, sub = string.byte, string.gsub, string.match, string.sub

local _M = {}

--- Returns the text of the string whose quotes are at these places.
function _M.text(field, first, last)
  return (gsub(sub(field, first + 1, last - 1), "\\(.)", "%1"))
end

--- Returns the strings in their order; nil when a member is something else, or not well formed.
function _M.strings(field)
  field = match(field, "^[ ]*(.-)[ ]*$")
  local strings, at = {}, 1
  while at <= #field do
    if byte(field, at) ~= 34 then return nil end
    local _, last = structured_field.read_bare_item(field, at)
    if not last then return nil end
    strings[#strings + 1] = _M.text(field, at, last)
    at = structured_field.skip_parameters(field, last + 1)
    if not at then return nil end
    if at > #field then break end
    at = match(field, "^[ \t]*,[ \t]*()", at)
    if not at or at > #field then return nil end
  end
  return strings
end

return _M
