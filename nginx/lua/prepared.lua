-- The headers of an entry, grouped by name as nginx takes them: a name with several lines has a list of values.
local cache_statuses = require("cache_status")
local compressible = require("compressible")
local dictionaries = require("dictionaries")

local lower = string.lower

--- Sets `names` and `values` of an entry, which are the same for every response from it; whether the edge may compress
-- it (`compressible`), whether it is a dictionary (`dictionary`), and whether one may help (`takes_dictionary`).
return function(entry)
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
  entry.names, entry.values = names, values
  entry.compressible = compressible.judge(entry.status, headers)
  entry.takes_dictionary = entry.compressible and compressible.takes_dictionary(headers)
  entry.dictionary = entry.compressible and positions["use-as-dictionary"] ~= nil
  if entry.dictionary then dictionaries.note(entry) end
  entry.hit_prefix = cache_statuses.hit_prefix(values[positions["cache-status"]])
end
