-- Cache groups, RFC 9875: which groups a response belongs to, and which ones the response to an unsafe request names.
local purges = require("purges")
local structured_list = require("structured_list")

local _M = {}

-- RFC 9875 asks for 32 at least. A response with more is void when any group is invalidated.
local GROUPS_MAX = 1000

-- A field that is not a list of strings counts as absent, RFC 9651 §2.
local function listed(lines)
  return lines and structured_list.strings(table.concat(lines, ", ")) or {}
end

--- Returns the groups, nil for none, and true when there are more than GROUPS_MAX.
function _M.of(fields)
  local groups = listed(fields["cache-groups"])
  if #groups <= GROUPS_MAX then return groups[1] and groups or nil, nil end
  return { unpack(groups, 1, GROUPS_MAX) }, true
end

--- Makes all stored responses of the groups that the answer names void, on the request's host only. No more groups
-- follow from their other groups, RFC 9875 §2.2.1.
function _M.invalidate(request, answer)
  local groups = listed(answer.fields["cache-group-invalidation"])
  if #groups > GROUPS_MAX then return purges.host(request.host) end
  for index = 1, #groups do purges.group(request.host, groups[index]) end
end

return _M
