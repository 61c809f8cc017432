-- Serving stale on an error of the origin, RFC 5861 §4.
local freshness = require("freshness")
local purges = require("purges")

local _M = {}

--- Whether the entry, or nil, may replace an error now.
function _M.allows(entry)
  if not entry or entry.stale_if_error_s == 0 then return false end
  -- Purged during the fetch.
  if purges.judge(entry) or purges.address_purged_s(entry) then return false end
  return -freshness.left_s(entry, ngx.now()) <= entry.stale_if_error_s
end

return _M
