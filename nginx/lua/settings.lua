-- The settings of this edge from the rendered configuration; set once, before any request.
local _M = {}

--- values: see templates/edge.eta. Adds the options of freshness.lua, and the rules of decide.lua for a request that
-- may share a fetch with others (`collapsing`) and for one that may not (`alone`).
function _M.set(values)
  for name, value in pairs(values) do _M[name] = value end
  -- A pattern: clients leave the default port of the scheme out of Host, RFC 9110 §7.2.
  _M.default_port = values.tls and ":443$" or ":80$"
  local cloudflare = values.profile == "cloudflare"
  -- Cloudflare documents no Cache-Status.
  _M.cache_status = not cloudflare
  -- Cloudflare documents that it stores no part.
  _M.fragments = not cloudflare
  _M.collapsing = { cloudflare = cloudflare, collapse = values.collapse, follows = values.follow ~= nil }
  _M.alone = { cloudflare = cloudflare, collapse = false }
  _M.freshness = {
    cloudflare = cloudflare, default_ttls = values.default_ttls, heuristics = not cloudflare,
    follows = values.follow ~= nil,
  }
end

return _M
