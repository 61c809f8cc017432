-- Answers from the bytes of a stored head as they are on disk, without a table for the entry: LuaJIT's garbage
-- collector would visit each part of each table again and again. Only heads that need nothing but to be sent.
local ffi = require("ffi")
local heads = require("head")
local nginx = require("nginx_api")

local C, cast, text_of = ffi.C, ffi.cast, ffi.string

local _M = {}

ffi.cdef("int memcmp(const void *, const void *, size_t);")
local CONST_CHARS = ffi.typeof("const char *")

-- Texts may be absent.
local function present(length)
  return length == heads.NONE and 0 or length
end

-- Unrolled: LuaJIT does not compile a loop of few iterations, nor the code around it.
local FIELDS_MAX, LISTED_MAX = 32, 64
local sum_of = (function()
  local steps = {}
  for step = 0, LISTED_MAX - 1 do
    steps[#steps + 1] = string.format("if count == %d then return sum end sum = sum + lengths[%d]", step, step)
  end
  local code = "return function(lengths, count) local sum = 0 " .. table.concat(steps, " ") .. " return sum end"
  return assert(loadstring(code))()
end)()

-- Returns where the fields begin, and where the revision does.
local function positions(head, lengths)
  local at = heads.strings_at(head)
  at = at + present(lengths[0]) + present(lengths[1]) + present(lengths[2]) + present(lengths[3])
  at = at + present(lengths[4]) + present(lengths[5]) + present(lengths[6]) + present(lengths[7])
  local revision_at = at
  at = at + present(lengths[8]) + present(lengths[9]) + present(lengths[10]) + present(lengths[11])
  return at + sum_of(lengths + heads.TEXT_COUNT, head.tags + head.groups), revision_at
end

--- Returns a pointer to the numbers of the head, see head.lua; nil when it has to be decoded, is damaged, or is not of
-- the key. from, key: pointers to bytes
function _M.read(from, bytes, key, key_bytes)
  local head = heads.numbers(from, bytes)
  if not head then return nil end
  local names, lists = head.names, head.tags + head.groups
  if head.always_validate ~= 0 or head.status == 204 then return nil end
  if head.cache_status ~= 0 or names > FIELDS_MAX or lists > LISTED_MAX then return nil end
  -- Each field has one line.
  if head.strings ~= heads.TEXT_COUNT + lists + 2 * names or heads.strings_at(head) > bytes then return nil end
  local lengths = heads.lengths(from, head)
  if lengths[heads.NO_VARY_SEARCH] ~= heads.NONE then return nil end
  if positions(head, lengths) + sum_of(lengths + heads.TEXT_COUNT + lists, 2 * names) ~= bytes then return nil end
  if lengths[0] ~= key_bytes or C.memcmp(from + heads.strings_at(head), key, key_bytes) ~= 0 then return nil end
  return head
end

local function set(request, name, name_bytes, value_bytes)
  nginx.set_field(request, name, name_bytes, name + name_bytes, value_bytes)
  return name + name_bytes + value_bytes
end

local set_each = (function()
  local steps = {}
  for step = 0, FIELDS_MAX - 1 do
    steps[#steps + 1] = string.format(
      "if count == %d then return end at = set(request, at, lengths[%d], lengths[%d])", step, 2 * step, 2 * step + 1
    )
  end
  local code = "local set = ... return function(request, at, lengths, count) " .. table.concat(steps, " ") .. " end"
  return assert(loadstring(code))(set)
end)()

--- Sets the fields of a response from a head that `read` has returned. Returns its revision, or nil.
function _M.send(request, from, head)
  local lengths = heads.lengths(from, head)
  local fields_at, revision_at = positions(head, lengths)
  local fields = lengths + heads.TEXT_COUNT + head.tags + head.groups
  set_each(request, cast(CONST_CHARS, from + fields_at), fields, head.names)
  local revision_bytes = present(lengths[8])
  return revision_bytes > 0 and text_of(from + revision_at, revision_bytes) or nil
end

return _M
