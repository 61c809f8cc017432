-- The settings of this edge from the rendered configuration; set once, before any request.
local _M = {}

function _M.set(values)
  for name, value in pairs(values) do _M[name] = value end
  local cloudflare = values.profile == "cloudflare"
  _M.freshness = { cloudflare = cloudflare, default_ttls = values.default_ttls, heuristics = not cloudflare }
end

return _M
