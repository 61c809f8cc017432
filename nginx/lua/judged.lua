-- Which stored responses no purge had reached, and at which count of purges.lua that was: while the count stands, they
-- need no second look.
local heads = require("head")
local purges = require("purges")
local remembered = require("remembered")

local _M = {}

local judged = remembered.new(2 ^ 19)

--- Whether no purge has reached the response whose head is at `from`; by a look at its tags and groups, unless it was
-- found untouched when the count stood where it is now.
-- hash: the CRC-32 of its key; place: a pointer to it, see place.lua; marked: the count
function _M.is_untouched(hash, place, marked, from)
  if judged:is(hash, place, marked) then return true end
  local entry = heads.decode(from, place.head_bytes)
  if not entry then return false end
  local void, stale_since_s = purges.judge(entry)
  if void or stale_since_s then return false end
  judged:set(hash, place, marked)
  return true
end

return _M
