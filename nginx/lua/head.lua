-- The binary form of an entry's head on disk: numbers, then the lengths of strings, then the strings. It is read for
-- each HIT that is not in memory, so LuaJIT has to compile all of it: no patterns, and no loops of few iterations.
local ffi = require("ffi")
local prepared = require("prepared")

local cast, sizeof, text_of = ffi.cast, ffi.sizeof, ffi.string

local _M = {}

ffi.cdef([[
  typedef struct {
    uint32_t magic, bytes, followed_by, spare;
    double requested_s, received_s, lifetime_s, initial_age_s, stale_while_revalidate_s, stale_if_error_s, clock;
    uint16_t status, always_validate, stale_forbidden, any_tag, shares_address, has_groups, cache_status,
      compressible, dictionary, takes_dictionary, bounded;
    uint32_t tags, groups, names, strings;
  } stevec_head;
]])
local ANY_HEAD = ffi.typeof("stevec_head *")
local HEAD, CONST_HEAD = ffi.typeof("stevec_head"), ffi.typeof("const stevec_head *")
local COUNTS = ffi.typeof("uint32_t[?]")
local CONST_COUNTS = ffi.typeof("const uint32_t *")
local FIXED_BYTES = sizeof(HEAD)
local MAGIC = 0x31646873
-- The length of a string that is not there.
local NONE = 0xffffffff
local TEXTS = {
  "key", "base", "host", "host_name", "uri", "etag", "last_modified", "date", "revision", "targeted",
  "no_vary_search", "selection",
}
local TEXT_COUNT = #TEXTS

--- Returns the head of an entry as bytes. followed_by: the size of the body, where that follows; else 0
function _M.encode(entry, followed_by)
  if not entry.names then prepared.set(entry) end
  local strings, counts = {}, {}
  local function add(value) strings[#strings + 1] = value or false end
  for _, name in ipairs(TEXTS) do
    local value = entry[name]
    add(type(value) == "table" and table.concat(value, ", ") or value)
  end
  for _, tag in ipairs(entry.tags) do add(tag) end
  for _, group in ipairs(entry.groups or {}) do add(group) end
  for index, name in ipairs(entry.names) do
    local value = entry.values[index]
    local list = type(value) == "table" and value or { value }
    add(name)
    for _, line in ipairs(list) do add(line) end
    counts[index] = #list
  end
  local lengths = COUNTS(#counts + #strings)
  for index, count in ipairs(counts) do lengths[index - 1] = count end
  local bytes = FIXED_BYTES + sizeof(lengths)
  for index, value in ipairs(strings) do
    lengths[#counts + index - 1] = value and #value or NONE
    strings[index] = value or ""
    bytes = bytes + #strings[index]
  end
  local head = HEAD({
    magic = MAGIC, bytes = bytes, followed_by = followed_by,
    requested_s = entry.requested_s, received_s = entry.received_s,
    lifetime_s = entry.lifetime_s, initial_age_s = entry.initial_age_s,
    stale_while_revalidate_s = entry.stale_while_revalidate_s, stale_if_error_s = entry.stale_if_error_s,
    clock = entry.clock, status = entry.status, always_validate = entry.always_validate and 1 or 0,
    stale_forbidden = entry.stale_forbidden and 1 or 0, any_tag = entry.any_tag and 1 or 0,
    shares_address = entry.shares_address and 1 or 0, has_groups = entry.groups and 1 or 0,
    cache_status = entry.cache_status_at or 0, compressible = entry.compressible and 1 or 0,
    dictionary = entry.dictionary and 1 or 0, takes_dictionary = entry.takes_dictionary and 1 or 0,
    bounded = entry.bounded and 1 or 0,
    tags = #entry.tags, groups = entry.groups and #entry.groups or 0, names = #entry.names, strings = #strings,
  })
  return text_of(head, FIXED_BYTES) .. text_of(lengths, sizeof(lengths)) .. table.concat(strings)
end

-- Returns the string of `index`, and where the next one begins; math.huge when there is none before `bytes`.
local function read(from, lengths, index, at, bytes, strings)
  if index >= strings then return nil, math.huge end
  local length = lengths[index]
  if length == NONE then return nil, at end
  if at + length > bytes then return nil, math.huge end
  return text_of(from + at, length), at + length
end

local function read_list(from, lengths, index, at, bytes, strings, count)
  if index + count > strings then return nil, math.huge end
  local list = {}
  for position = 1, count do list[position], at = read(from, lengths, index + position - 1, at, bytes, strings) end
  return list, at
end

local NO_LIST = {}

-- Most responses have few tags.
local function read_few(from, lengths, index, at, bytes, strings, count)
  if count == 0 then return NO_LIST, at end
  if count > 2 then return read_list(from, lengths, index, at, bytes, strings, count) end
  local first, second
  first, at = read(from, lengths, index, at, bytes, strings)
  if count == 2 then second, at = read(from, lengths, index + 1, at, bytes, strings) end
  return { first, second }, at
end

-- Name and value, or values, of one field.
local function read_field(from, lengths, index, at, bytes, strings, count)
  local name, value
  name, at = read(from, lengths, index, at, bytes, strings)
  if count == 1 then
    value, at = read(from, lengths, index + 1, at, bytes, strings)
  else
    value, at = read_list(from, lengths, index + 1, at, bytes, strings, count)
  end
  return name, value, at, index + 1 + count
end

local UNROLLED_MAX = 24
local read_first_fields = (function()
  local steps = {}
  for step = 1, UNROLLED_MAX do
    steps[step] = string.format([[
      if count < %d then return at, index end
      names[%d], values[%d], at, index = read_field(from, lengths, index, at, bytes, strings, counts[%d])
    ]], step, step, step, step - 1)
  end
  local code = [[
    local read_field = ...
    return function(from, lengths, index, at, bytes, strings, count, counts, names, values)
      %s
      return at, index
    end
  ]]
  return assert(loadstring(string.format(code, table.concat(steps, " "))))(read_field)
end)()

local function read_fields(from, lengths, index, at, bytes, strings, count, counts)
  local names, values = {}, {}
  if index + count > strings then return names, values, math.huge end
  at, index = read_first_fields(from, lengths, index, at, bytes, strings, count, counts, names, values)
  for position = UNROLLED_MAX + 1, count do
    names[position], values[position], at, index =
      read_field(from, lengths, index, at, bytes, strings, counts[position - 1])
  end
  return names, values, at
end

--- Returns a copy of the bytes of a head for a place where another body follows.
function _M.copy(from, bytes, followed_by)
  cast(ANY_HEAD, from).followed_by = followed_by
  return text_of(from, bytes)
end

--- Positions for plain_head.lua. TEXT_COUNT: of the strings before tags, groups and fields; NO_VARY_SEARCH: of that
-- one; NONE: the length of a string that is not there
_M.TEXT_COUNT, _M.NO_VARY_SEARCH, _M.NONE = TEXT_COUNT, 10, NONE

--- Returns a pointer to the numbers of the head at `from`; nil when there is no head of so many bytes.
function _M.numbers(from, bytes)
  if bytes < FIXED_BYTES then return nil end
  local head = cast(CONST_HEAD, from)
  if head.magic ~= MAGIC or head.bytes ~= bytes then return nil end
  return head
end

--- Returns a pointer to the lengths of its strings.
function _M.lengths(from, head)
  return cast(CONST_COUNTS, from + FIXED_BYTES) + head.names
end

--- Returns the offset of its first string.
function _M.strings_at(head)
  return FIXED_BYTES + 4 * (head.names + head.strings)
end

--- The least bytes from which `peek` reads.
_M.FIXED_BYTES = FIXED_BYTES

--- Returns the key of the entry whose head is at `from`, the size of the head, and that of the body which follows it;
-- without the key when it is not within the first `bytes`; nil, nil when there is no head.
function _M.peek(from, bytes)
  local head = cast(CONST_HEAD, from)
  if bytes < FIXED_BYTES or head.magic ~= MAGIC then return nil, nil end
  local lengths = cast(CONST_COUNTS, from + FIXED_BYTES) + head.names
  local at = FIXED_BYTES + 4 * (head.names + head.strings)
  local key = at <= bytes and read(from, lengths, 0, at, bytes, head.strings) or nil
  return key, head.bytes, head.followed_by
end

--- Returns the entry whose head is at `from` (a pointer to bytes), without its body and place; nil when it is damaged.
function _M.decode(from, bytes)
  if bytes < FIXED_BYTES then return nil end
  local head = cast(CONST_HEAD, from)
  local names, tags, groups, strings = head.names, head.tags, head.groups, head.strings
  if head.magic ~= MAGIC or head.bytes ~= bytes then return nil end
  local counts = cast(CONST_COUNTS, from + FIXED_BYTES)
  local lengths = counts + names
  local at = FIXED_BYTES + 4 * (names + strings)
  if at > bytes then return nil end
  local entry = {
    requested_s = head.requested_s, received_s = head.received_s, lifetime_s = head.lifetime_s,
    initial_age_s = head.initial_age_s, stale_while_revalidate_s = head.stale_while_revalidate_s,
    stale_if_error_s = head.stale_if_error_s, clock = head.clock, status = head.status,
    always_validate = head.always_validate == 1, stale_forbidden = head.stale_forbidden == 1,
    any_tag = head.any_tag == 1, shares_address = head.shares_address == 1,
    compressible = head.compressible == 1, dictionary = head.dictionary == 1,
    takes_dictionary = head.takes_dictionary == 1, bounded = head.bounded == 1,
  }
  entry.key, at = read(from, lengths, 0, at, bytes, strings)
  entry.base, at = read(from, lengths, 1, at, bytes, strings)
  entry.host, at = read(from, lengths, 2, at, bytes, strings)
  entry.host_name, at = read(from, lengths, 3, at, bytes, strings)
  entry.uri, at = read(from, lengths, 4, at, bytes, strings)
  entry.etag, at = read(from, lengths, 5, at, bytes, strings)
  entry.last_modified, at = read(from, lengths, 6, at, bytes, strings)
  entry.date, at = read(from, lengths, 7, at, bytes, strings)
  entry.revision, at = read(from, lengths, 8, at, bytes, strings)
  local targeted
  targeted, at = read(from, lengths, 9, at, bytes, strings)
  entry.targeted = targeted and { targeted }
  entry.no_vary_search, at = read(from, lengths, 10, at, bytes, strings)
  entry.selection, at = read(from, lengths, 11, at, bytes, strings)
  entry.tags, at = read_few(from, lengths, TEXT_COUNT, at, bytes, strings, tags)
  local group_list
  group_list, at = read_few(from, lengths, TEXT_COUNT + tags, at, bytes, strings, groups)
  if head.has_groups == 1 then entry.groups = group_list end
  local first = TEXT_COUNT + tags + groups
  entry.names, entry.values, at = read_fields(from, lengths, first, at, bytes, strings, names, counts)
  if at ~= bytes then return nil end
  prepared.complete(entry, head.cache_status)
  return entry
end

return _M
