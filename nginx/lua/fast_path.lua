-- The fast path of a hot cache: a plain GET of a fresh response. No closures, no patterns and few strings: LuaJIT runs
-- the first two in its interpreter, and each string costs a look into a table of all. What branches by key comes late,
-- because each branch doubles the traces after it.
local cache_statuses = require("cache_status")
local compression = require("compression")
local dictionaries = require("dictionaries")
local ffi = require("ffi")
local files = require("segment_files")
local freshness = require("freshness")
local judged = require("judged")
local nginx = require("nginx_api")
local places = require("place")
local plain_heads = require("plain_head")
local plain_requests = require("plain_request")
local popularity = require("popularity")
local purge_log = require("purge_log")
local purges = require("purges")
local rays = require("ray")
local requests = require("request")
local store = require("store")
local responses = require("stored_response")
local texts = require("number_text")
local vary = require("vary")

local C, cast, copy, text_of = ffi.C, ffi.cast, ffi.copy, ffi.string
local CONST_BYTES = ffi.typeof("const uint8_t *")
local floor, min, format = math.floor, math.min, string.format
-- What ngx.now calls. LuaJIT blacklists functions of Lua that other paths call often and cannot compile, and then the
-- fast path would fall apart there.
local now_s = C.ngx_http_lua_ffi_now

local HIT_PREFIX = cache_statuses.hit_prefix(nil)
local KEY_BYTES_MAX = 8192
local PLAIN_LINE = "GET /"

local _M = {}

local key_buffer = ffi.new("uint8_t[?]", KEY_BYTES_MAX)
local index

-- Unrolled: LuaJIT does not compile a loop of few iterations, nor the code around it.
local UNROLLED_MAX = 32
local set_each = (function()
  local steps = {}
  for step = 1, UNROLLED_MAX do
    steps[step] = format("if count < %d then return end header[names[%d]] = values[%d]", step, step, step)
  end
  return assert(loadstring("return function(header, names, values, count) " .. table.concat(steps, " ") .. " end"))()
end)()

-- Most requests name the same host as the one before.
local host_said, host_key, host_name = "", "", nil

local function is_text(at, bytes, text)
  return bytes == #text and C.memcmp(at, text, bytes) == 0
end

-- Writes the key before Vary into the buffer. Returns its bytes; nil when the request names two hosts.
local function write_base(request, var)
  local said, said_bytes = nginx.variable(request, "http_host")
  if not host_name or not is_text(said, said_bytes, host_said) then
    host_said = var.http_host or ""
    host_key, host_name = requests.host(var)
    if not host_name then return nil end
  end
  local name, name_bytes = nginx.variable(request, "host")
  if not is_text(name, name_bytes, host_name) then return nil end
  local uri, uri_bytes = nginx.variable(request, "request_uri")
  local bytes = #host_key + uri_bytes
  if bytes > KEY_BYTES_MAX then return nil end
  copy(key_buffer, host_key, #host_key)
  copy(key_buffer + #host_key, uri, uri_bytes)
  return bytes
end

-- Returns the place of the response, valid until the next look, and the bytes of its key, which is in the buffer then.
local function find(base_bytes, var)
  local value, value_bytes = nginx.look(index, key_buffer, base_bytes)
  local place = value and places.at(value, value_bytes)
  if place then return place, base_bytes end
  if not value then return nil end
  local key = vary.plain_key(text_of(key_buffer, base_bytes), text_of(value, value_bytes), var)
  if not key or #key > KEY_BYTES_MAX then return nil end
  copy(key_buffer, key, #key)
  value, value_bytes = nginx.look(index, key_buffer, #key)
  return value and places.at(value, value_bytes), #key
end

local NUMBER_BYTES, STATUS_BYTES_MAX = 10, 1024
local number, status_text = ffi.new("uint8_t[?]", NUMBER_BYTES), ffi.new("uint8_t[?]", STATUS_BYTES_MAX + NUMBER_BYTES)

local function set_field(request, name, from, bytes)
  nginx.set_field(request, name, #name, from, bytes)
end

-- Sends what is the edge's own, then the body.
local function finish(request, status, age_s, lifetime_s, prefix, body, hash)
  nginx.set_status(request, status)
  nginx.set_variable(request, "cache_status", "HIT", 3)
  set_field(request, "CF-Cache-Status", "HIT", 3)
  local age, age_bytes = texts.decimal(number, floor(age_s))
  nginx.set_variable(request, "age_s", age, age_bytes)
  set_field(request, "Age", age, age_bytes)
  if prefix then
    copy(status_text, prefix, #prefix)
    local left, left_bytes = texts.decimal(number, min(texts.MAX, floor(lifetime_s - age_s)))
    copy(status_text + #prefix, left, left_bytes)
    set_field(request, "Cache-Status", status_text, #prefix + left_bytes)
  end
  local ray, ray_bytes = rays.next()
  nginx.set_variable(request, "ray", ray, ray_bytes)
  set_field(request, "CF-Ray", ray, ray_bytes)
  local length, length_bytes = texts.decimal(number, #body)
  set_field(request, "Content-Length", length, length_bytes)
  popularity.note(hash)
  ngx.print(body)
  return true
end

-- Answers from the bytes on disk, or from those of a compressed form in memory. Returns whether it did.
local function answer_bytes(request, var, place, key_bytes, hash)
  local head_bytes, body_bytes = place.head_bytes, place.body_bytes
  local segment, offset = place.head_segment, place.head_offset
  if place.stale_s > 0 or body_bytes > responses.SMALL_BYTES then return false end
  local together, body = place.body_segment == segment and place.body_offset == offset + head_bytes, nil
  if not together then
    -- Before the head, which takes the same buffer.
    local body_from = files.read(place.body_segment, place.body_offset, body_bytes)
    if not body_from then return false end
    body = text_of(body_from, body_bytes)
  end
  local from = files.read(segment, offset, together and head_bytes + body_bytes or head_bytes)
  local head = from and plain_heads.read(from, head_bytes, key_buffer, key_bytes)
  if not head then return false end
  local age_s = freshness.age_s(head, now_s())
  if age_s >= head.lifetime_s or head.bounded ~= 0 and not purge_log.is_leased() then return false end
  -- A purge that has begun before the request to the origin does not concern its response.
  if head.clock < purges.clock() then
    local marked = head.shares_address == 0 and purges.others_marked() or purges.marked()
    if not judged.is_untouched(hash, place, marked, from) then return false end
  end
  -- Reading the entry notes it.
  if head.dictionary ~= 0 and not dictionaries.is_noted(hash, place) then return false end
  local sent_from, sent = from, head
  if head.compressible ~= 0 then
    local form = compression.kept(place, head, body_bytes, var.http_accept_encoding, var.http_available_dictionary)
    if form == nil then return false end
    if form then
      sent_from, body = cast(CONST_BYTES, form.head), form.body
      sent = plain_heads.read(sent_from, #form.head, key_buffer, key_bytes)
      if not sent then return false end
    end
  end
  local revision = plain_heads.send(request, sent_from, sent)
  if revision then nginx.set_variable(request, "page_revision", revision, #revision) end
  if not body then body = text_of(from + head_bytes, body_bytes) end
  return finish(request, head.status, age_s, head.lifetime_s, HIT_PREFIX, body, hash)
end

local function answer_entry(request, var, key, place, hash)
  -- Before the purges are looked at, which it says are known.
  local leased = purge_log.is_leased()
  local entry = store.get(key, place)
  if not entry or entry.stale_since_s or entry.always_validate then return false end
  if entry.no_vary_search and entry.uri ~= var.request_uri then return false end
  if not entry.names or #entry.names >= UNROLLED_MAX or not entry.body or entry.status == 204 then return false end
  if entry.hit_prefix and #entry.hit_prefix > STATUS_BYTES_MAX then return false end
  local age_s = freshness.age_s(entry, now_s())
  if age_s >= entry.lifetime_s or entry.bounded and not leased then return false end
  local sent = entry
  if entry.compressible then
    sent = compression.form(entry, var.http_accept_encoding, var.http_available_dictionary) or entry
  end
  set_each(ngx.header, sent.names, sent.values, #sent.names)
  if entry.revision ~= "" then var.page_revision = entry.revision end
  return finish(request, entry.status, age_s, entry.lifetime_s, entry.hit_prefix, sent.body, hash)
end

--- Returns whether the request was answered. It never is with a header that src/request-headers.js lists.
function _M.answer(var)
  local request = nginx.request()
  if not plain_requests.is_plain(request) then return false end
  -- Also what names its host in the request line, maybe another than in Host, takes the longer way.
  local line, line_bytes = nginx.variable(request, "request")
  if line_bytes < #PLAIN_LINE or C.memcmp(line, PLAIN_LINE, #PLAIN_LINE) ~= 0 then return false end
  local base_bytes = write_base(request, var)
  if not base_bytes then return false end
  local place, key_bytes = find(base_bytes, var)
  if not place then return false end
  local hash = nginx.crc32(key_buffer, key_bytes)
  if answer_bytes(request, var, place, key_bytes, hash) then return true end
  return answer_entry(request, var, text_of(key_buffer, key_bytes), places.text(place), hash)
end

--- Before a worker's first request.
function _M.init_worker()
  index = nginx.zone(ngx.shared.index)
end

return _M
