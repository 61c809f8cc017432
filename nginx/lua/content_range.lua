-- What the head of a 206 says of its representation, RFC 9110 §14.4 and §15.3.7.
local settings = require("settings")

local find, lower, match, max = string.find, string.lower, string.match, math.max

local _M = {}

local ETAG_BYTES_MAX = 256
-- Lua writes a number of more digits with an exponent.
local DIGITS_MAX = 14
local CONTENT_RANGE = "^[bB][yY][tT][eE][sS] (%d+)%-(%d+)/(%d+)$"

--- Returns the strong entity tag of a response. A date is none: all codings of a page have the same.
function _M.validator_of(answer)
  local lines = answer.fields.etag
  local etag = lines and #lines == 1 and lines[1]
  return etag and #etag <= ETAG_BYTES_MAX and match(etag, '^"[^"]*"$') or nil
end

--- Returns what a 206 has of its representation: first, last, size; nil when it cannot be a part.
function _M.of(answer)
  local said, kind = answer.fields["content-range"], answer.fields["content-type"]
  if not settings.fragments or answer.status ~= 206 or not _M.validator_of(answer) then return nil end
  if not said or #said ~= 1 or kind and find(lower(kind[1]), "^multipart/") then return nil end
  local first, last, size = match(said[1], CONTENT_RANGE)
  if not first or max(#first, #last, #size) > DIGITS_MAX then return nil end
  first, last, size = tonumber(first), tonumber(last), tonumber(size)
  if last < first or last >= size then return nil end
  if answer.length and answer.length ~= last - first + 1 then return nil end
  return { first = first, last = last, size = size }
end

return _M
