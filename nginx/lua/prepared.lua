-- The header lines of an entry, grouped by name as nginx takes them: a name with several lines has a list of values.
local cache_statuses = require("cache_status")
local compressible = require("compressible")
local settings = require("settings")

local lower = string.lower

local _M = {}

--- Sets what is the same for every response from the entry. at: the index of its Cache-Status, 0 for none
function _M.complete(entry, at)
  if not settings.cache_status then return end
  entry.cache_status_at = at
  entry.hit_prefix = cache_statuses.hit_prefix(at > 0 and entry.values[at] or nil)
end

--- Sets `names` and `values` from its `headers`, which it no longer needs; whether the edge may compress it
-- (`compressible`), whether it is a dictionary (`dictionary`), and whether one may help (`takes_dictionary`).
function _M.set(entry)
  local names, values, positions = {}, {}, {}
  local headers = entry.headers
  for index = 1, #headers do
    local name, value = headers[index][1], headers[index][2]
    local position = positions[lower(name)]
    if not position then
      position = #names + 1
      positions[lower(name)], names[position], values[position] = position, name, value
    elseif type(values[position]) == "table" then
      table.insert(values[position], value)
    else
      values[position] = { values[position], value }
    end
  end
  entry.compressible = compressible.judge(entry.status, headers)
  entry.takes_dictionary = entry.compressible and compressible.takes_dictionary(headers)
  entry.dictionary = entry.compressible and positions["use-as-dictionary"] ~= nil
  entry.names, entry.values, entry.headers = names, values, nil
  _M.complete(entry, positions["cache-status"] or 0)
end

--- Returns the lines again, {name, value} each.
function _M.lines(entry)
  if entry.headers then return entry.headers end
  local lines = {}
  for index, name in ipairs(entry.names) do
    local value = entry.values[index]
    for _, line in ipairs(type(value) == "table" and value or { value }) do lines[#lines + 1] = { name, line } end
  end
  return lines
end

return _M
