-- What was used last, within a limit of bytes: two generations. What is used moves to the young one; when that has half
-- of the limit, it becomes the old one, and what was old is dropped. So a lookup is one or two reads of a table.
local _M = {}
_M.__index = _M

--- bytes_max: of all together; bytes_of(entry): of one, about
function _M.new(bytes_max, bytes_of)
  return setmetatable({ young = {}, old = {}, bytes = 0, half = bytes_max / 2, bytes_of = bytes_of }, _M)
end

--- Keeps an entry, a table, under a key.
function _M:set(key, entry)
  self.young[key] = entry
  self.bytes = self.bytes + self.bytes_of(entry)
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
