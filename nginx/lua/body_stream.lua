-- Passes the body of a fetch on to clients while it arrives. The client that started the fetch reads from a queue. A
-- body that is too large for memory also grows in a file (`spool`: entry, segment, bytes written, ended; length when
-- known): a slow client continues from there, and so do other requests when the length is known (`growing`: the same).
local semaphore = require("ngx.semaphore")
local flights = require("flight")
local files = require("segment_files")

local _M = {}

-- With this much queued for a slow client the fetch pauses, if no other request can use the body.
local QUEUE_BYTES_MAX = 256 * 1024
local FILE_READ_BYTES = 128 * 1024
local READER_PATIENCE_S = 60
local WRITER_PATIENCE_S = 120

--- Before the fetch begins.
function _M.open(flight)
  flight.data, flight.room = semaphore.new(0), semaphore.new(0)
  flight.queue, flight.first, flight.last, flight.queued_bytes = {}, 1, 0, 0
end

--- For the fetch: adds a piece that has arrived.
function _M.push(flight, chunk)
  if flight.cancelled then return end
  local spool = flight.spool
  if spool and not spool.ended then
    -- The client reads more slowly than the origin sends: it continues from the file, and the fetch does not wait.
    if not flight.file and flight.queued_bytes > QUEUE_BYTES_MAX then
      flight.file, flight.file_from = files.open(spool.segment), spool.bytes - #chunk
      flight.file_after = flight.last
    end
    if flight.file then return end
  end
  while flight.queued_bytes > QUEUE_BYTES_MAX and not flight.cancelled do
    if not flight.room:wait(READER_PATIENCE_S) then
      flight.cancelled, flight.given_up = true, "its client reads too slowly"
    end
  end
  if flight.cancelled then return end
  flight.last = flight.last + 1
  flight.queue[flight.last] = chunk
  flight.queued_bytes = flight.queued_bytes + #chunk
  if flight.data:count() <= 0 then flight.data:post(1) end
end

--- For the fetch: no piece follows. `failure`: why the body is cut short.
function _M.close(flight, failure)
  flight.closed, flight.cut_short = true, failure
  flight.data:post(1)
  flights.wake(flight)
end

-- Whether the next piece comes from the file: after the pieces queued before it, before what did not fit on the disk.
local function in_file(flight)
  return flight.file ~= nil and flight.first > flight.file_after
end

local function take_queued(flight)
  local chunk = flight.queue[flight.first]
  flight.queue[flight.first] = nil
  flight.first = flight.first + 1
  flight.queued_bytes = flight.queued_bytes - #chunk
  if flight.room:count() < 0 then flight.room:post(1) end
  return chunk
end

--- For the starting client: returns the next piece; nil at the end; nil and a reason when the body is cut short, or
-- when nothing arrives for `patience_s` (without it, the wait goes on).
function _M.next(flight, patience_s)
  while true do
    if in_file(flight) then
      local data = _M.read_growing(flight, flight.file, flight.file_from)
      if data then
        flight.file_from = flight.file_from + #data
        return data
      end
      flight.file:close()
      flight.file = nil
      if flight.file_from < flight.spool.bytes then return nil, "its file could not be read" end
    elseif flight.first <= flight.last then
      return take_queued(flight)
    elseif flight.closed or flight.given_up then
      return nil, flight.cut_short or flight.given_up
    elseif not flight.data:wait(patience_s or WRITER_PATIENCE_S) and patience_s then
      return nil, "nothing arrives"
    end
  end
end

--- Whether nothing of the body is queued yet, and something will be.
function _M.is_empty(flight)
  return flight.first > flight.last and not flight.closed
end

--- Whether the queue holds the whole body, with no part in the file alone.
function _M.is_queued_whole(flight)
  return flight.closed and not flight.cut_short and not flight.file and not flight.cancelled
end

--- Whether `next` would have to wait.
function _M.dry(flight)
  if in_file(flight) then return flight.spool.bytes <= flight.file_from end
  return _M.is_empty(flight)
end

--- The starting client reads no further; a response that can be stored is still fetched.
function _M.leave(flight)
  flight.cancelled = true
  if flight.file then
    flight.file:close()
    flight.file = nil
  end
  if flight.room:count() < 0 then flight.room:post(1) end
end

--- Returns the next bytes (at most `bytes_max`) from `offset` of a body that is being written to a file; nil when there
-- will be no more.
function _M.read_growing(flight, file, offset, bytes_max)
  local spool = flight.spool
  while spool.bytes <= offset do
    if spool.bytes == spool.length or spool.ended or flight.closed then return nil end
    if not flights.wait_change(flight, READER_PATIENCE_S) then return nil end
  end
  file:seek("set", offset)
  return file:read(math.min(spool.bytes - offset, FILE_READ_BYTES, bytes_max or FILE_READ_BYTES))
end

return _M
