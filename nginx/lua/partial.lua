-- Answers a range, or another condition, from a response whose body is still arriving: RFC 9110 §14, RFC 9111 §4.
local body_stream = require("body_stream")
local cache_statuses = require("cache_status")
local compressible = require("compressible")
local conditional = require("conditional")
local flights = require("flight")
local reply = require("reply")
local settings = require("settings")

local _M = {}

-- What conditional.lua reads of an entry, from a response that has no entry yet.
local function selected_by(answer)
  local fields = answer.fields
  return {
    status = answer.status, compressible = compressible.judge(answer.status, answer.headers),
    etag = fields.etag and fields.etag[1],
    last_modified = fields["last-modified"] and fields["last-modified"][1], date = fields.date and fields.date[1],
  }
end

-- Returns a function that returns the pieces of bytes `first` to `last`, as body_stream.next does.
local function pieces_of(flight, first, last)
  local offset = 0
  return function()
    while offset <= last do
      -- Before the first byte, another request to the origin can still replace a stalled fetch.
      local data, cut_short = body_stream.next(flight, offset <= first and flights.PATIENCE_S or nil)
      if not data then return nil, cut_short or "it ends before the range does" end
      local from = offset
      offset = offset + #data
      if offset > first then return conditional.slice(data, math.max(first - from, 0), last - from) end
    end
    return nil
  end, function() return offset <= last and body_stream.dry(flight) end
end

local function head(flight, request, cache_status, first, last)
  reply.head(flight.answer, request)
  cache_statuses.add_of_origin(request, flight.answer.status, flight.outcome ~= "superseded" and flight.ttl_s or nil)
  ngx.header["CF-Cache-Status"], ngx.var.cache_status = cache_status, cache_status
  reply.as_part(first, last, flight.answer.length)
end

local function answer_part(flight, request, cache_status, first, last)
  local next_piece, dry = pieces_of(flight, first, last)
  local piece = next_piece()
  if not piece then return false end
  head(flight, request, cache_status, first, last)
  reply.pieces(function()
    if not piece then return next_piece() end
    local held = piece
    piece = nil
    return held
  end, dry, function() body_stream.leave(flight) end)
  return true
end

local function answer_unsatisfiable(flight, request, cache_status)
  head(flight, request, cache_status)
  ngx.send_headers()
  body_stream.leave(flight)
end

--- For the client that started the fetch: answers with its range, or with the whole response when the range or
-- condition does not apply. Returns false, before anything is sent, when the whole body has to arrive first.
function _M.answer(flight, request, cache_status)
  local answer, fields, now_s = flight.answer, request.fields, ngx.now()
  if request.method ~= "GET" then return false end
  local selected = selected_by(answer)
  if conditional.not_modified(selected, fields, now_s) then return false end
  local first, last = conditional.range(selected, fields, answer.length or math.huge, now_s)
  if first == "all" then
    reply.relay(flight, cache_status, request)
    return true
  end
  if not answer.length then return false end
  if first ~= "none" then return answer_part(flight, request, cache_status, first, last) end
  answer_unsatisfiable(flight, request, cache_status)
  return true
end

-- Whether the request has no condition or directive but a range.
local function is_range(request)
  local fields = request.fields
  for _, name in ipairs(settings.special_headers) do
    if name ~= "range" and fields[name] ~= nil then return false end
  end
  return true
end

--- Whether `follow` may answer the request.
function _M.can_follow(request)
  return request.method == "GET" and (not request.special or is_range(request))
end

--- For other requests: answers from the file of a large body that is still arriving (flight.growing).
-- Returns false, before anything is sent, when it cannot.
function _M.follow(flight, request)
  local growing = flight.growing
  if not request.special then return reply.growing(flight, request) end
  local first, last = conditional.range(growing.entry, request.fields, growing.length, ngx.now())
  if first == "all" then return reply.growing(flight, request) end
  if first == "none" then return false end
  while growing.bytes <= first do
    if growing.ended or flight.closed then return false end
    if not flights.wait_change(flight, flights.PATIENCE_S) then return false end
  end
  return reply.growing(flight, request, first, last)
end

return _M
