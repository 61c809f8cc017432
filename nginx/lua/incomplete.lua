-- Answers from the stored parts of a response, see fragments.lua: RFC 9111 §3.3 and §3.4.
local answers = require("answer")
local bodies = require("fragment_body")
local body_stream = require("body_stream")
local cache_statuses = require("cache_status")
local conditional = require("conditional")
local content_range = require("content_range")
local decide = require("decide").decide
local flights = require("flight")
local forward = require("forward")
local fragments = require("fragments")
local freshness = require("freshness")
local prepared = require("prepared")
local reply = require("reply")
local settings = require("settings")

local _M = {}

-- The origin evaluates these, unless all bytes are there.
local CONDITIONS = { "if-none-match", "if-modified-since", "if-match", "if-unmodified-since" }
-- What the origin may say to the request for a gap, and is no answer to the client's request.
local OF_THE_GAP = { [206] = true, [304] = true, [412] = true, [416] = true }
local NO_FIELDS = {}
-- Other requests wait for a gap of so many bytes. While a larger one is fetched, they get the whole from the origin, as
-- its bytes arrive.
local AWAITED_BYTES_MAX = 1024 * 1024

-- Returns a function that returns the bytes of the parts, as body_stream.next does, and whether the next ones have yet
-- to arrive. flight: brings what is missing, or nil
local function pieces_of(parts, flight)
  fragments.note_use(parts)
  local index, at = 1, parts[1].from
  local function next_piece()
    local part = parts[index]
    if part and at > part.to then
      index = index + 1
      part = parts[index]
    end
    if not part then return nil end
    local data, why
    if part.entry then data = bodies.read(part, at) else data, why = body_stream.next(flight) end
    if not data or #data > part.to - at + 1 then return nil, why or "its parts do not make up the whole" end
    at = at + #data
    return data
  end
  return next_piece, function()
    local part = parts[at > parts[index].to and index + 1 or index]
    return part ~= nil and not part.entry and body_stream.dry(flight)
  end
end

-- Sets the head, and all of it but Cache-Status. asked: see `look`
local function head(entry, request, asked, cache_status, now_s)
  local var, header = ngx.var, ngx.header
  local age = string.format("%d", math.floor(freshness.age_s(entry, now_s)))
  var.cache_status, var.age_s, var.page_revision = cache_status, age, entry.revision
  ngx.status = entry.status
  if not entry.names then prepared.set(entry) end
  reply.fields_of(entry)
  header["CF-Cache-Status"], header["Age"] = cache_status, age
  if request.conditions_said then reply.hide_conditions() end
  if asked.whole then header["Content-Length"] = asked.size else reply.as_part(asked.first, asked.last, asked.size) end
end

local function serve(list, request, asked, parts, now_s)
  head(list, request, asked, "HIT", now_s)
  cache_statuses.add_of_entry(list, request, now_s)
  if not parts then return ngx.send_headers() end
  reply.pieces(pieces_of(parts))
end

-- Returns what the request asks for: whole, first, last, size; without `first`, nothing that there is. Returns nil when
-- the origin has to say: to several ranges, and to an If-Range that does not hold.
local function asked_of(list, fields, now_s)
  local size = fragments.size_of(list)
  if fields.range == nil then return { whole = true, first = 0, last = size - 1, size = size } end
  local first, last = conditional.range(list, fields, size, now_s)
  if first == "all" then return nil end
  return { first = first ~= "none" and first or nil, last = last, size = size }
end

-- Returns the gap among the parts; nil when the origin should be asked for all: there are several, or nothing else.
local function gap_in(parts, missing)
  if missing ~= 1 or #parts == 1 then return nil end
  for _, part in ipairs(parts) do
    if not part.entry then return part end
  end
end

local function completing(list, request, action, asked, parts, missing)
  local gap = gap_in(parts, missing)
  if not gap or not action.fetch or action.fetch.no_store or request.left_parts then return nil end
  -- What cannot be stored might not wait for a slow client.
  local gap_bytes = gap.to - gap.from + 1
  if gap_bytes > settings.max_object_bytes then return nil end
  -- Without the purge log, the edge does not know whether the rest of it still holds.
  if settings.follow and not request.leased then return nil end
  for _, name in ipairs(request.special and CONDITIONS or NO_FIELDS) do
    if request.fields[name] ~= nil then return nil end
  end
  local collapsing, awaited = action.may_wait and asked.whole, gap_bytes <= AWAITED_BYTES_MAX
  if collapsing and not awaited and flights.find(list.key, request) then return nil end
  return {
    kind = "complete", key = list.key, may_wait = collapsing and awaited, list = list, asked = asked, parts = parts,
    fetch = { method = "GET", collapsing = collapsing, gap = { from = gap.from, to = gap.to, etag = list.etag } },
  }
end

--- For a request without a stored response: looks at the stored parts. action: what decide.lua says without them
-- Returns an action that asks the origin for the one gap in what the request wants, or nil; and whether the request is
-- answered. request.left_parts: an attempt was in vain
function _M.look(request, action, now_s)
  local list = request.method == "GET" and fragments.find(request)
  if not list then return nil end
  local fields = request.special and request.fields or NO_FIELDS
  local fresh = decide(list, request, now_s, settings.collapsing).kind == "serve_fresh"
  local asked = asked_of(list, fields, now_s)
  if asked and fresh and not conditional.not_modified(list, fields, now_s) then
    local parts, missing = nil, 0
    if asked.first then parts, missing = fragments.plan(list, asked.first, asked.last) end
    if missing == 0 then
      serve(list, request, asked, parts, now_s)
      return nil, true
    end
    cache_statuses.forward_partial(request, list, true, now_s)
    return completing(list, request, action, asked, parts, missing)
  end
  cache_statuses.forward_partial(request, list, fresh, now_s)
  if not asked or not asked.first then return nil end
  return completing(list, request, action, asked, fragments.plan(list, asked.first, asked.last))
end

-- Whether a 206 is what the action has asked for.
local function fills(answer, action)
  local range, gap = content_range.of(answer), action.fetch.gap
  return range and range.first == gap.from and range.last == gap.to
    and fragments.answers_if_range(action.list, range, answer)
end

local function send(flight, request, action)
  local entry = answers.updated(action.list, flight.answer, flight.clock, flight.authorized)
  head(entry, request, action.asked, "MISS", ngx.now())
  cache_statuses.add_of_origin(request, 206, flight.outcome ~= "superseded" and flight.ttl_s or nil)
  local next_piece, dry = pieces_of(action.parts, flight)
  reply.pieces(next_piece, dry, function() body_stream.leave(flight) end)
end

--- Carries out an action of `look`. Returns as forward.answer does: also TAKEN when the parts are of no use.
-- key: of the whole response
function _M.complete(action, request, key)
  cache_statuses.fetch(request)
  action.fetch.gap.key = key
  local flight = forward.start(request, action.key, action.fetch)
  if not flight then return forward.TAKEN end
  forward.wait_head(flight)
  local answer = not flight.failure and flight.answer
  if answer and fills(answer, action) then return send(flight, request, action) end
  if answer and OF_THE_GAP[answer.status] then
    body_stream.leave(flight)
    request.left_parts = true
    return forward.TAKEN
  end
  -- The representation has changed.
  if not answer or action.asked.whole then return forward.answer_from(flight, nil, request) end
  return forward.answer_from_whole(flight, nil, request, key)
end

return _M
