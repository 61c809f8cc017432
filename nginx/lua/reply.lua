-- Sends responses to the client: a cache entry, the response of a fetch as it arrives, or a message of the edge itself.
local answers = require("answer")
local cache_statuses = require("cache_status")
local conditional = require("conditional")
local body_stream = require("body_stream")
local compressible = require("compressible")
local compression = require("compression")
local freshness = require("freshness")
local prepared = require("prepared")
local files = require("segment_files")
local settings = require("settings")
local stale_if_error = require("stale_if_error")
local store = require("store")

local floor = math.floor

local _M = {}

local FILE_READ_BYTES = 128 * 1024
local UNSENT_BYTES_MAX = 256 * 1024
-- RFC 9110 §15.4.5: a 304 has no body and does not describe one.
local NOT_IN_304 = {
  ["content-type"] = true, ["content-encoding"] = true, ["content-language"] = true, ["content-range"] = true,
  ["content-digest"] = true, ["content-md5"] = true,
}
-- What the edge itself answers for the origin.
local FAILURES = {
  [502] = "502 Bad Gateway: the origin could not be reached, or its answer could not be read",
  [504] = "504 Gateway Timeout: the origin did not answer in time",
}

--- Sends a message of the edge itself.
function _M.say(status, text)
  ngx.status = status
  ngx.header["Content-Type"] = "text/plain; charset=utf-8"
  ngx.header["Content-Length"] = #text + 1
  ngx.say(text)
end

--- Takes back the head that was set, before any of it is sent.
function _M.clear()
  for name in pairs(ngx.resp.get_headers(0)) do ngx.header[name] = nil end
end

--- Answers OPTIONS in place of the origin.
function _M.options()
  ngx.status = 204
  ngx.header["Allow"] = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"
  ngx.send_headers()
end

-- nginx takes several lines of one name as a list.
local function send_headers(headers)
  local out, seen = ngx.header, {}
  for index = 1, #headers do
    local name, value = headers[index][1], headers[index][2]
    local lower = string.lower(name)
    local before = seen[lower]
    if before == nil then
      seen[lower] = value
      out[name] = value
    else
      if type(before) ~= "table" then before = { before } end
      before[#before + 1] = value
      seen[lower] = before
      out[name] = before
    end
  end
end

--- Sets the header fields of an entry. except: the names of those that are not sent, or nil
function _M.fields_of(entry, except)
  local out, names, values = ngx.header, entry.names, entry.values
  for index = 1, #names do
    if not except or not except[string.lower(names[index])] then out[names[index]] = values[index] end
  end
end

local function send_file(entry, first, last)
  local file = files.open(entry.body_segment)
  if not file then return ngx.exit(ngx.ERROR) end
  file:seek("set", entry.body_offset + first)
  local left = last - first + 1
  while left > 0 do
    local data = file:read(math.min(left, FILE_READ_BYTES))
    if not data then break end
    left = left - #data
    if not ngx.print(data) or not ngx.flush(true) then break end
  end
  file:close()
  -- Cut short: the client must not take it for complete.
  if left > 0 then return ngx.exit(ngx.ERROR) end
end

-- A body with a file of its own is sent by nginx itself, see conf/body.conf. Does not return.
local function exec_file(entry)
  local var, modified = ngx.var, ngx.header["Last-Modified"]
  var.body_file = "/" .. entry.body_segment
  var.body_modified = type(modified) == "table" and modified[1] or modified or ""
  return ngx.exec("@body")
end

--- nginx would evaluate the conditions again, by the headers that are sent, and turn the response into its own 304 or
-- 412. The edge or the origin has already evaluated them, RFC 9111 §4.3.2.
function _M.hide_conditions()
  for _, name in ipairs({ "If-Match", "If-None-Match", "If-Modified-Since", "If-Unmodified-Since" }) do
    ngx.req.clear_header(name)
  end
end

--- Turns the head of a whole response into that of a part, RFC 9110 §15.3.7; without `first`, into that of a 416.
function _M.as_part(first, last, size)
  local header = ngx.header
  ngx.status = first and 206 or 416
  header["Content-Range"] = "bytes " .. (first and first .. "-" .. last or "*") .. "/" .. size
  header["Content-Length"] = first and last - first + 1 or 0
  -- Digests of the whole content, RFC 9530 §2.
  header["Content-Digest"], header["Content-MD5"] = nil, nil
  if not first then header["Content-Type"], header["Content-Encoding"] = nil, nil end
end

-- What is sent of an entry: itself, or a compressed form. Ranges are those of the stored bytes.
local function form_of(entry, fields, var)
  if not entry.compressible or fields and fields.range then return entry end
  return compression.form(entry, var.http_accept_encoding, var.http_available_dictionary) or entry
end

--- Answers from an entry; `cache_status` is the reported one.
-- Returns false, before anything is sent, when its body is gone.
function _M.entry(entry, cache_status, request, now_s)
  local var, header = ngx.var, ngx.header
  local age = string.format("%d", floor(freshness.age_s(entry, now_s)))
  var.cache_status, var.age_s, var.page_revision = cache_status, age, entry.revision
  local fields = nil
  if request.special then fields = request.fields end
  local only_head = request.method == "HEAD"
  if not only_head and not store.has_body(entry) then
    store.forget(entry)
    return false
  end
  if not entry.names then prepared.set(entry) end
  local sent = form_of(entry, fields, var)
  local size = sent.body_bytes

  local first, last
  if fields and conditional.not_modified(entry, fields, now_s) then
    ngx.status = 304
    _M.fields_of(entry, NOT_IN_304)
    if sent.etag then header["ETag"] = sent.etag end
    header["CF-Cache-Status"], header["Age"] = cache_status, age
    cache_statuses.add_of_entry(entry, request, now_s)
    ngx.send_headers()
    return true
  end
  ngx.status = entry.status
  _M.fields_of(sent)
  header["CF-Cache-Status"], header["Age"] = cache_status, age
  cache_statuses.add_of_entry(entry, request, now_s)
  if fields and not only_head then
    first, last = conditional.range(entry, fields, size, now_s)
    if first == "none" then
      _M.as_part(nil, nil, size)
      ngx.send_headers()
      return true
    end
    if first == "all" then first = nil end
  end
  if request.conditions_said then _M.hide_conditions() end
  if first then
    _M.as_part(first, last, size)
  elseif entry.status ~= 204 then
    header["Content-Length"] = size
  end
  if only_head or entry.status == 204 then
    ngx.send_headers()
  elseif sent.body then
    ngx.print(first and conditional.slice(sent.body, first, last) or sent.body)
  elseif not first and entry.status == 200 and entry.body_offset == 0 then
    exec_file(entry)
  else
    send_file(entry, first or 0, last or size - 1)
  end
  return true
end

--- Answers from a stale entry, or nil, instead of an error of the flight, where that is allowed.
-- Returns whether it has.
function _M.stale_if_error(entry, request, flight)
  if not stale_if_error.allows(entry) then return false end
  cache_statuses.note_failure(request, flight)
  return _M.entry(entry, "STALE", request, ngx.now())
end

--- Sends the pieces that `next` returns. `dry`: whether the next piece has yet to arrive; `close`: called at the end.
-- Returns false when the client has disconnected.
function _M.pieces(next, dry, close)
  local unsent_bytes = 0
  while true do
    local chunk, cut_short = next()
    if not chunk then
      if close then close() end
      if cut_short then
        ngx.log(ngx.WARN, "the origin's answer was cut short: ", cut_short)
        ngx.exit(ngx.ERROR)
      end
      return true
    end
    local sent = ngx.print(chunk)
    unsent_bytes = unsent_bytes + #chunk
    -- When the next piece has yet to arrive, and before nginx buffers too much for a slow client.
    if sent and (unsent_bytes > UNSENT_BYTES_MAX or dry()) then
      sent = ngx.flush(true)
      unsent_bytes = 0
    end
    if not sent then
      if close then close() end
      return false
    end
  end
end

--- Sets the head of an origin's response, except the headers of the edge itself.
function _M.head(answer, request)
  ngx.status = answer.status
  send_headers(compressible.mark(answer.status, answers.kept_headers(answer.headers, answer.fields)))
  -- The Age that the response arrived with. Cloudflare sends an Age only with responses from its cache.
  if answer.fields.age and settings.profile ~= "cloudflare" then ngx.header["Age"] = answer.fields.age[1] end
  ngx.var.page_revision = answer.fields["page-revision"] and answer.fields["page-revision"][1] or ""
  if request.conditions_said then _M.hide_conditions() end
end

--- Relays the response of a fetch as it arrives.
function _M.relay(flight, cache_status, request)
  local answer = flight.answer
  local length = answer.length
  _M.head(answer, request)
  ngx.header["CF-Cache-Status"] = cache_status
  cache_statuses.add_of_origin(request, answer.status, flight.outcome ~= "superseded" and flight.ttl_s or nil)
  ngx.var.cache_status = cache_status
  if request.method == "HEAD" or answer.framing == "none" then
    ngx.header["Content-Length"] = answer.said_length or length
    ngx.send_headers()
    return body_stream.leave(flight)
  end
  -- The whole body may be queued already: then its length is known, whatever the origin said.
  if not length and body_stream.is_queued_whole(flight) then length = flight.queued_bytes end
  if length then ngx.header["Content-Length"] = length end
  if length == 0 then ngx.send_headers() end
  -- A known head is sent before any byte of the body is there.
  if body_stream.is_empty(flight) then
    ngx.send_headers()
    ngx.flush()
  end
  if not _M.pieces(function() return body_stream.next(flight) end, function() return body_stream.dry(flight) end) then
    body_stream.leave(flight)
  end
end

--- Reports that the stored responses cannot answer a request with only-if-cached.
function _M.not_cached()
  ngx.header["CF-Cache-Status"] = "MISS"
  _M.say(504, "504 Gateway Timeout: not in the cache, and the request wants nothing else")
end

--- Reports that the origin gave no response.
function _M.fail(failure, request, cache_status)
  ngx.header["CF-Cache-Status"] = cache_status or "MISS"
  ngx.var.cache_status = cache_status or "MISS"
  ngx.log(ngx.WARN, "no answer from the origin for ", request.address, ": ", failure.why)
  _M.say(failure.status, FAILURES[failure.status] or FAILURES[502])
end

--- Answers from a large body while it is still arriving. first, last: only these bytes, of a 206.
-- Returns false, before anything is sent, when it cannot.
function _M.growing(flight, request, first, last)
  local growing, var, header = flight.growing, ngx.var, ngx.header
  local entry = growing.entry
  local file = files.open(growing.segment)
  if not file then return false end
  local age = string.format("%d", floor(freshness.age_s(entry, ngx.now())))
  var.cache_status, var.age_s, var.page_revision = "HIT", age, entry.revision
  ngx.status = entry.status
  if not entry.names then prepared.set(entry) end
  _M.fields_of(entry)
  local offset, after = first or 0, last and last + 1 or growing.length
  header["CF-Cache-Status"], header["Age"], header["Content-Length"] = "HIT", age, after - offset
  if first then _M.as_part(first, last, growing.length) end
  cache_statuses.add_of_entry(entry, request, ngx.now())
  _M.pieces(function()
    local data = offset < after and body_stream.read_growing(flight, file, offset, after - offset)
    offset = offset + (data and #data or 0)
    return data, not data and offset < after and "the fetch that it comes from has failed" or nil
  end, function() return growing.bytes <= offset end, function() file:close() end)
  return true
end

return _M
