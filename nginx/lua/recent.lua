-- What was used last, within a limit of bytes: two generations. What is used moves to the young one; when that has half
-- of the limit, it becomes the old one, and what was old is dropped. So a lookup is one or two reads of a table.
local _M = {}
_M.__index = _M

-- What the tables of an entry take beside its body, about; a long head takes several times its length.
local ENTRY_BYTES = 4096
local HEAD_FACTOR = 4

--- bytes_max: of all bodies and tables, about
function _M.new(bytes_max)
  return setmetatable({ young = {}, old = {}, bytes = 0, half = bytes_max / 2 }, _M)
end

--- Keeps an entry under a key; `body`: a string or nil.
function _M:set(key, entry)
  self.young[key] = entry
  self.bytes = self.bytes + ENTRY_BYTES + HEAD_FACTOR * (entry.head_bytes or 0) + #(entry.body or "")
  if self.bytes > self.half then self.young, self.old, self.bytes = {}, self.young, 0 end
end

function _M:get(key)
  local entry = self.young[key]
  if entry then return entry end
  entry = self.old[key]
  if entry then self:set(key, entry) end
  return entry
end

return _M
