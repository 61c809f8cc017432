-- Follows the purge log of a wiki with the cache policy `bounded`, in one worker: asks for what came after a position,
-- marks it as purged, and takes the lease that the answer gives. See docs/decisions/0075.
local answers = require("log_answer")
local connection = require("connection")
local http1 = require("http1")
local origin = require("origin")
local purge_log = require("purge_log")
local settings = require("settings")

local _M = {}

local ANSWER_BYTES_MAX = 4 * 1024 * 1024
-- The origin waits for a part of the bound before it answers that there is nothing new.
local SEND_MS, READ_MS = 2000, 5000
local BOUND_MAX_MS = 60000
local RETRY_S, RETRY_MAX_S = 0.1, 1

local bound_ms = BOUND_MAX_MS

local function read_body(answer)
  local parts, bytes = {}, 0
  while true do
    local data, why = http1.read(answer)
    if not data then return not why and table.concat(parts) or nil, why end
    parts[#parts + 1], bytes = data, bytes + #data
    if bytes > ANSWER_BYTES_MAX then return nil, "its answer is too long" end
  end
end

-- Returns the body; nil and a reason when the socket is of no more use, false and a reason for another answer.
local function exchange(socket, uri)
  socket:settimeouts(SEND_MS, SEND_MS, READ_MS + bound_ms)
  local host = settings.origin_host ~= "" and settings.origin_host or "127.0.0.1"
  local answer = { socket = socket, buffer = "" }
  local done, why = socket:send("GET " .. uri .. " HTTP/1.1\r\nHost: " .. host .. "\r\n\r\n")
  if done then done, why = http1.read_head(answer, "GET") end
  if not done then return nil, why end
  local body
  body, why = read_body(answer)
  if not body then return nil, why end
  origin.release(answer)
  if answer.status ~= 200 then return false, "it answered " .. answer.status end
  return body
end

-- Returns the answer of the origin as a table; nil and a reason without one.
local function ask(position)
  local socket, why = connection.connect()
  if not socket then return nil, why end
  local body
  body, why = exchange(socket, settings.follow .. (position and "?after=" .. position or ""))
  if body == nil then socket:close() end
  if not body then return nil, why end
  local said = answers.decode(body)
  if not said then return nil, "its answer is no purge log" end
  return said
end

local function follow_once()
  local asked_ms = purge_log.now_ms()
  local said, why = ask(purge_log.position())
  if not said then return nil, why end
  bound_ms = said.bound_ms
  answers.apply(said, asked_ms)
  return true
end

local function follow(premature)
  local pause_s = RETRY_S
  while not premature and not ngx.worker.exiting() do
    local ran, done, why = pcall(follow_once)
    if ran and done then
      if pause_s > RETRY_S then ngx.log(ngx.WARN, "the purge log of the origin can be followed again") end
      pause_s = RETRY_S
    else
      if pause_s == RETRY_S then
        ngx.log(ngx.WARN, "the purge log of the origin cannot be followed, still trying: ", ran and why or done)
      end
      ngx.sleep(pause_s)
      pause_s = math.min(pause_s * 2, RETRY_MAX_S)
    end
  end
end

--- Begins to follow, in the first worker.
function _M.start()
  if settings.follow and ngx.worker.id() == 0 then assert(ngx.timer.at(0, follow)) end
end

return _M
