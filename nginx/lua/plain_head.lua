-- Answers from the bytes of a stored head as they are on disk, without a table for the entry: LuaJIT's garbage
-- collector would visit each part of each table again and again. Only heads that need nothing but to be sent.
local ffi = require("ffi")
local heads = require("head")
local nginx = require("nginx_api")

local C, cast, text_of = ffi.C, ffi.cast, ffi.string

local _M = {}

ffi.cdef("int memcmp(const void *, const void *, size_t);")
local CONST_CHARS = ffi.typeof("const char *")

--- Returns a pointer to the numbers of the head, see head.lua, or nil: it has to be decoded, or is not that of the key.
-- from, key: pointers to bytes
function _M.read(from, bytes, key, key_bytes)
  local head = heads.numbers(from, bytes)
  if not head then return nil end
  local lengths, names, strings = heads.lengths(from, head), head.names, head.strings
  if head.always_validate ~= 0 or head.status == 204 then return nil end
  if head.cache_status ~= 0 or names > _M.FIELDS_MAX then return nil end
  -- Each field has one line.
  if strings ~= heads.TEXT_COUNT + head.tags + head.groups + 2 * names then return nil end
  if lengths[heads.NO_VARY_SEARCH] ~= heads.NONE then return nil end
  if lengths[0] ~= key_bytes or C.memcmp(from + heads.strings_at(head), key, key_bytes) ~= 0 then return nil end
  return head
end

local function set(request, name, name_bytes, value_bytes)
  nginx.set_field(request, name, name_bytes, name + name_bytes, value_bytes)
  return name + name_bytes + value_bytes
end

-- Unrolled: LuaJIT does not compile a loop of few iterations, nor the code around it.
_M.FIELDS_MAX = 32
local set_each = (function()
  local steps = {}
  for step = 0, _M.FIELDS_MAX - 1 do
    steps[#steps + 1] = string.format(
      "if count == %d then return end at = set(request, at, lengths[%d], lengths[%d])", step, 2 * step, 2 * step + 1
    )
  end
  local code = "local set = ... return function(request, at, lengths, count) " .. table.concat(steps, " ") .. " end"
  return assert(loadstring(code))(set)
end)()

-- Texts may be absent.
local function present(length)
  return length == heads.NONE and 0 or length
end

--- Sets the fields of a response from a head that `read` has returned. Returns its revision, or nil.
function _M.send(request, from, head)
  local lengths = heads.lengths(from, head)
  local texts, lists = heads.TEXT_COUNT, head.tags + head.groups
  local at = from + heads.strings_at(head)
  at = at + present(lengths[0]) + present(lengths[1]) + present(lengths[2]) + present(lengths[3])
  at = at + present(lengths[4]) + present(lengths[5]) + present(lengths[6]) + present(lengths[7])
  local revision_at, revision_bytes = at, present(lengths[8])
  at = at + revision_bytes + present(lengths[9]) + present(lengths[10]) + present(lengths[11])
  for index = texts, texts + lists - 1 do at = at + lengths[index] end
  set_each(request, cast(CONST_CHARS, at), lengths + texts + lists, head.names)
  return revision_bytes > 0 and text_of(revision_at, revision_bytes) or nil
end

return _M
