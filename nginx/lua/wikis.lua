-- Which wikis get requests. A timer asks each wiki's /readyz, and requests go to the upstream group of those that are
-- ready; if none is, to all of them. See docs/decisions/0042.
local _M = {}

local EVERY_S = 0.5
-- Less than the period: a check that is still waiting would make the next one be left out.
local ANSWER_MAX_MS = 400
-- Checks in a row that change what is known of a wiki.
local BAD, GOOD = 3, 2
local ALL = "wiki"

-- Of this worker: { address, host, port, ready, streak, answered_s }, in the order of the upstream group.
local wikis, by_address = {}, {}
local group = ALL

local function choose()
  local ready = {}
  for index, wiki in ipairs(wikis) do
    if wiki.ready then ready[#ready + 1] = index end
  end
  local some = #ready > 0 and #ready < #wikis
  group = some and ALL .. "_" .. table.concat(ready, "_") or ALL
end

local function note(wiki, good, why)
  if good == wiki.ready then
    wiki.streak = 0
    return
  end
  wiki.streak = wiki.streak + 1
  if wiki.streak < (good and GOOD or BAD) then return end
  wiki.ready, wiki.streak = good, 0
  choose()
  ngx.log(ngx.WARN, "the wiki at ", wiki.address, good and " is ready" or " is not ready: " .. why,
    "; requests go to the group ", group)
end

-- The status of /readyz; nil and the reason if there is none in time.
local function ask(wiki)
  local socket = ngx.socket.tcp()
  socket:settimeout(ANSWER_MAX_MS)
  local ok, why = socket:connect(wiki.host, wiki.port)
  if not ok then return nil, why end
  local line
  ok, why = socket:send("GET /readyz HTTP/1.1\r\nHost: " .. wiki.address .. "\r\nConnection: close\r\n\r\n")
  if ok then line, why = socket:receive("*l") end
  socket:close()
  if not line then return nil, why end
  return tonumber(line:match("^HTTP/1%.[01] (%d%d%d)"))
end

local function check(premature, wiki)
  if premature or wiki.asked then return end
  wiki.asked = true
  local began_s = ngx.now()
  local called, status, why = pcall(ask, wiki)
  wiki.asked = false
  if not called then status, why = nil, status end
  -- A wiki that answers others is busy, and does not hang: under load, a check waits like any request.
  if not status and why == "timeout" and wiki.answered_s >= began_s then return end
  note(wiki, status == 200, status and "status " .. status or why or "no HTTP")
end

--- Called by each worker as it starts. addresses: of the wikis, ip:port
function _M.start(addresses)
  for index, address in ipairs(addresses) do
    local host, port = address:match("^(.+):(%d+)$")
    local wiki = { address = address, host = host, port = tonumber(port), ready = true, streak = 0, answered_s = 0 }
    wikis[index], by_address[address] = wiki, wiki
    assert(ngx.timer.every(EVERY_S, check, wiki))
  end
end

--- The name of the upstream group for a request.
function _M.group() return group end

--- Called for the header of each response, which is when a wiki has answered; the client may read the body for long.
-- method: of a request that was sent to a wiki as another one. The log has its own.
function _M.answered(var, method)
  local wiki = by_address[var.upstream_addr]
  if wiki and tonumber(var.upstream_header_time) then wiki.answered_s = ngx.now() end
  if method == "PUT" or method == "DELETE" then ngx.req.set_method(ngx["HTTP_" .. method]) end
end

return _M
