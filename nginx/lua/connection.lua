-- Connections to the origin.
local settings = require("settings")

local _M = {}

local CONNECT_MS, SEND_MS, READ_MS = 5000, 30000, 30000
local IDLE_CONNECTIONS = 256

-- Index of the address that worked last; it is tried first.
local preferred = 1

-- When a certificate is refused before the handshake has waited for the origin, lua-resty-core (socket.lua, up to
-- 0.1.25 at least) raises an assertion instead of returning an error.
local function handshake(socket)
  local ran, done, message = pcall(socket.sslhandshake, socket, nil, settings.origin_host, true)
  if not ran then return nil, "its certificate was refused" end
  return done, message
end

local function connect_to(address, fresh)
  local socket = ngx.socket.tcp()
  socket:settimeouts(CONNECT_MS, SEND_MS, READ_MS)
  -- No connection is ever returned to the pool "fresh", so this always opens a new one.
  local pool = { pool_size = IDLE_CONNECTIONS, pool = fresh and "fresh" or nil }
  local done, message = socket:connect(address, settings.origin_port, pool)
  if done and settings.origin_tls and socket:getreusedtimes() == 0 then
    done, message = handshake(socket)
  end
  if not done then
    socket:close()
    return nil, message
  end
  return socket
end

--- Returns a connected socket, or nil and a reason. fresh: not one that was idle
function _M.connect(fresh)
  local addresses = settings.origin_addresses
  local first, message = preferred, nil
  for step = 0, #addresses - 1 do
    local index = (first + step - 1) % #addresses + 1
    local socket
    socket, message = connect_to(addresses[index], fresh)
    if socket then
      preferred = index
      return socket
    end
  end
  return nil, message
end

return _M
