-- Incomplete responses: the parts of one representation that 206s and broken bodies brought, RFC 9111 §3.3 and §3.4.
-- Beside the key of the whole response, a list has its head, as that of a 200, and as its body the complete length and
-- the parts: "size first-last …", the newest first. Each part is an entry, too: purges, eviction and the journal have
-- nothing but entries, and a part that is gone is a gap.
local answers = require("answer")
local bodies = require("fragment_body")
local content_range = require("content_range")
local popularity = require("popularity")
local prepared = require("prepared")
local purges = require("purges")
local settings = require("settings")
local store = require("store")

local lower, match, min, sub = string.lower, string.match, math.min, string.sub

local _M = {}

-- Before a key: no host begins with it. Behind the key of a list: no part of a key has it there.
local MARK = "\3"
local PARTS_MAX = 256
-- These describe the bytes of one message.
local OF_ONE_PART = {
  ["content-range"] = true, ["content-length"] = true, ["content-digest"] = true, ["content-md5"] = true,
}
-- What an entry has only where it is stored.
local OF_ONE_PLACE = {
  "key", "place", "body", "body_segment", "body_offset", "body_bytes", "head_bytes", "stale_since_s", "url_marked_s",
  "judged_at", "looked_at", "void", "marked_s",
}

local function copy_of(entry)
  local copy = {}
  for name, value in pairs(entry) do copy[name] = value end
  for index = 1, #OF_ONE_PLACE do copy[OF_ONE_PLACE[index]] = nil end
  return copy
end

local function coding_of(entry)
  for _, line in ipairs(prepared.lines(entry)) do
    if lower(line[1]) == "content-encoding" then return lower(line[2]) end
  end
end

--- Returns the list that a 206 is a part of, as far as the 206 knows, or nil. entry.range: see content_range.lua
function _M.entry(answer, range, judgement, request, clock)
  local headers, fields = {}, {}
  for _, header in ipairs(answer.headers) do
    if not OF_ONE_PART[lower(header[1])] then headers[#headers + 1] = header end
  end
  for name, lines in pairs(answer.fields) do
    if not OF_ONE_PART[name] then fields[name] = lines end
  end
  local entry = answers.entry({
    status = 200, headers = headers, fields = fields,
    requested_s = answer.requested_s, received_s = answer.received_s,
  }, judgement, request, clock)
  if entry then entry.base, entry.range = MARK .. entry.base, range end
  return entry
end

--- Returns the same for a body that broke off after so many bytes; nil when they cannot be a part.
-- entry: of the whole response, or what `entry` returns
function _M.of_broken(entry, answer, bytes)
  if not settings.fragments or bytes == 0 or not content_range.validator_of(answer) then return nil end
  local range = entry.range
  if range then
    range.last = min(range.last, range.first + bytes - 1)
    return entry
  end
  if entry.status ~= 200 or not answer.length or entry.bounded then return nil end
  local list = copy_of(entry)
  list.base, list.range = MARK .. entry.base, { first = 0, last = bytes - 1, size = answer.length }
  return list
end

--- Returns the list for a request, or nil.
function _M.find(request)
  if not settings.fragments then return nil end
  return (store.find(MARK .. request.base, request))
end

--- Returns the complete length of the representation.
function _M.size_of(list)
  return tonumber(match(list.body, "^%d+"))
end

local function ranges_of(list)
  local ranges = {}
  for first, last in string.gmatch(list.body, "(%d+)%-(%d+)") do
    ranges[#ranges + 1] = { first = tonumber(first), last = tonumber(last) }
  end
  return ranges
end

local function key_of(list_key, range, size, etag)
  return string.format("%s%s%d-%d/%d%s", list_key, MARK, range.first, range.last, size, etag)
end

--- Whether a part is of the version that the list is of. coding_unsaid: a 206 to If-Range need not describe the
-- representation, RFC 9110 §15.3.7
function _M.is_of(list, range, etag, coding, coding_unsaid)
  local stored = coding_of(list)
  return list.etag == etag and _M.size_of(list) == range.size
    and (coding == stored or coding == nil and coding_unsaid == true)
end

--- The same of an answer to If-Range.
function _M.answers_if_range(list, range, answer)
  local coding = answer.fields["content-encoding"]
  return _M.is_of(list, range, content_range.validator_of(answer), coding and lower(coding[1]), true)
end

local function forget_parts(list, ranges)
  for _, range in ipairs(ranges) do
    local key = key_of(list.key, range, _M.size_of(list), list.etag)
    local place = store.place_of(key)
    if place then store.forget({ key = key, place = place }) end
  end
end

--- Removes a list and its parts.
function _M.forget(list)
  forget_parts(list, ranges_of(list))
  store.forget(list)
end

-- Returns the head of the list with one more part, by RFC 9110 §15.3.7.3: an incomplete 200 replaces the fields, a 206
-- updates them, and an older one changes nothing. Returns nil when the part is of another version.
local function combined(old, entry, flight)
  local coding_unsaid = flight.gap ~= nil or flight.request.fields["if-range"] ~= nil
  if old.key ~= store.key_of(entry, flight.request) then return nil end
  if not _M.is_of(old, entry.range, entry.etag, coding_of(entry), coding_unsaid) then return nil end
  if old.requested_s > entry.requested_s then return copy_of(old) end
  if flight.answer.status == 200 then return entry end
  local list, _, fits = answers.updated(old, flight.answer, flight.clock, flight.authorized)
  list.selection = old.selection
  return fits and list.no_vary_search == old.no_vary_search and list or nil
end

-- Returns the ranges with a new one at the front, and those that give way to it: it contains them, or there are too
-- many of them or of their bytes.
local function added(ranges, new)
  local kept, dropped, bytes = { new }, {}, new.last - new.first + 1
  for _, range in ipairs(ranges) do
    local same, more = range.first == new.first and range.last == new.last, range.last - range.first + 1
    local inside = range.first >= new.first and range.last <= new.last
    if inside or #kept == PARTS_MAX or bytes + more > settings.max_object_bytes then
      if not same then dropped[#dropped + 1] = range end
    else
      kept[#kept + 1], bytes = range, bytes + more
    end
  end
  return kept, dropped
end

local function part_of(entry, list_key)
  local part = copy_of(entry)
  part.status, part.headers, part.names, part.values, part.selection = 206, {}, nil, nil, nil
  part.dictionary, part.base = false, key_of(list_key, entry.range, entry.range.size, entry.etag)
  return part
end

--- Stores a part and its list. entry: see above; body: as of store.put. Returns the list, or nil and a reason.
function _M.put(entry, flight, body)
  local request, range = flight.request, entry.range
  local old = store.find(entry.base, request)
  local list = old and combined(old, entry, flight)
  local kept, dropped = added(list and ranges_of(old) or {}, range)
  if old and not list then dropped = ranges_of(old) end
  list = list or entry
  local part, message = store.put(part_of(entry, store.key_of(list, request)), request, body)
  if not part then return nil, message end
  if not list.names then prepared.set(list) end
  -- Its body is no dictionary.
  list.dictionary = false
  for index, one in ipairs(kept) do kept[index] = string.format("%d-%d", one.first, one.last) end
  local stored
  stored, message = store.put(list, request, string.format("%d %s", range.size, table.concat(kept, " ")))
  if stored and old then forget_parts(old, dropped) end
  return stored, message
end

-- Returns the entry of a range; nil when a purge or the eviction has reached it.
local function part_at(list, range, size)
  local key = key_of(list.key, range, size, list.etag)
  local place = store.place_of(key)
  local part = place and store.get(key, place)
  return part and not part.stale_since_s and store.has_body(part) and part or nil
end

-- Returns the range that has a byte and reaches furthest behind it, and the first byte behind it that any has.
local function range_with(ranges, at)
  local best, next_first = nil, math.huge
  for _, range in ipairs(ranges) do
    if not range.gone and range.first <= at and range.last >= at and (not best or range.last > best.last) then
      best = range
    elseif not range.gone and range.first > at then
      next_first = min(next_first, range.first)
    end
  end
  return best, next_first
end

-- Whether the ranges are the whole, as far as the list knows.
local function is_whole(ranges, size)
  local at = 0
  while at < size do
    local range = range_with(ranges, at)
    if not range then return false end
    at = range.last + 1
  end
  return true
end

--- Returns what bytes `first` to `last` consist of: from, to, and unless the bytes are missing entry and first, the
-- byte of the representation that the entry's body begins with; and how many of these are missing. With two gaps, the
-- rest is left out.
function _M.plan(list, first, last)
  local ranges, size, parts, missing, at = ranges_of(list), _M.size_of(list), {}, 0, first
  while at <= last and missing < 2 do
    local range, next_first = range_with(ranges, at)
    local entry = range and part_at(list, range, size)
    if entry then
      parts[#parts + 1] = { entry = entry, first = range.first, from = at, to = min(range.last, last) }
    elseif range then
      range.gone = true
    else
      parts[#parts + 1], missing = { from = at, to = min(next_first - 1, last) }, missing + 1
    end
    if not range or entry then at = parts[#parts].to + 1 end
  end
  return parts, missing
end

--- Notes for the eviction that a client gets these parts.
function _M.note_use(parts)
  for _, part in ipairs(parts) do
    if part.entry then popularity.note(ngx.crc32_short(part.entry.key)) end
  end
end

--- Turns a list without gaps into an ordinary entry, if it is small enough. Returns the entry, or nil. It yields.
function _M.complete(request)
  local list = _M.find(request)
  local size = list and _M.size_of(list)
  if not list or size > settings.max_object_bytes or not is_whole(ranges_of(list), size) then return nil end
  local parts, missing = _M.plan(list, 0, size - 1)
  local body = missing == 0 and bodies.whole(parts, size)
  if not body then return nil end
  local whole = copy_of(list)
  whole.headers, whole.names, whole.values, whole.base = prepared.lines(list), nil, nil, sub(list.base, #MARK + 1)
  -- As old as its oldest part, and void if one became void meanwhile.
  for _, part in ipairs(parts) do
    local void, stale_since_s = purges.judge(part.entry)
    if void or stale_since_s then return nil end
    whole.clock = min(whole.clock, part.entry.clock)
  end
  local stored = store.put(whole, request, body)
  if stored then _M.forget(list) end
  return stored
end

--- Removes the list for a request when a response of the origin shows that it is outdated, or must not be stored.
function _M.learn(flight, answer, forbidden)
  local list = _M.find(flight.request)
  if not list or answer.status >= 500 then return end
  local same = (answer.status == 200 or answer.status == 206) and content_range.validator_of(answer) == list.etag
  local length = answer.status == 200 and (answer.length or answer.said_length)
  if forbidden or not same or length and length ~= _M.size_of(list) then _M.forget(list) end
end

return _M
