-- How often keys were used lately, about: what eviction keeps. All workers share one table in a file that is mapped
-- into memory. A slot has the fingerprint of a key and a count; a key has two slots to choose from. When both have
-- other keys, it lowers the smaller count, and takes the slot at zero: so keys that are used once displace each other,
-- and none that is used often. (The decay of HeavyKeeper, USENIX ATC '18, in buckets of two.)
local bit = require("bit")
local ffi = require("ffi")
local settings = require("settings")

local band, bor, lshift, rshift = bit.band, bit.bor, bit.lshift, bit.rshift
local crc32 = ngx.crc32_short

local _M = {}

local SLOTS = 2 ^ 19
local BYTES = 2 * SLOTS
local COUNT_MAX = 4
local COUNT_BITS = 3
local COUNT_MASK = 2 ^ COUNT_BITS - 1
local FINGERPRINT_MASK = 0xffff - COUNT_MASK

ffi.cdef([[
  int fileno(void *);
  void *mmap64(void *, size_t, int, int, int, int64_t);
]])
local PROT_READ_WRITE, MAP_SHARED = 3, 1

local slots = ffi.new("uint16_t[?]", SLOTS)

-- Returns the slot of a key, or the slot with the smaller count of the two that it may take; the fingerprint of the
-- key, in its place; and whether the slot has it.
local function locate(hash)
  local slot, fingerprint = hash % (SLOTS / 2) * 2, lshift(rshift(hash, 18), COUNT_BITS)
  fingerprint = band(fingerprint, FINGERPRINT_MASK)
  local one, other = slots[slot], slots[slot + 1]
  if band(one, FINGERPRINT_MASK) == fingerprint and band(one, COUNT_MASK) > 0 then return slot, fingerprint, true end
  if band(other, FINGERPRINT_MASK) == fingerprint and band(other, COUNT_MASK) > 0 then
    return slot + 1, fingerprint, true
  end
  return band(one, COUNT_MASK) <= band(other, COUNT_MASK) and slot or slot + 1, fingerprint, false
end

--- Returns how often the key was used lately, 0 to 4.
function _M.of(key)
  local slot, _, found = locate(crc32(key))
  return found and band(slots[slot], COUNT_MASK) or 0
end

--- Notes that a key was used. hash: its CRC-32
function _M.note(hash)
  local slot, fingerprint, found = locate(hash)
  local value = slots[slot]
  local count = band(value, COUNT_MASK)
  if found then
    if count < COUNT_MAX then slots[slot] = value + 1 end
  elseif count > 1 then
    slots[slot] = value - 1
  else
    slots[slot] = bor(fingerprint, 1)
  end
end

--- Lowers the count of a key by one.
function _M.lower(key)
  local slot, _, found = locate(crc32(key))
  if found then slots[slot] = slots[slot] - 1 end
end

--- Maps the file; before a worker's first request. Without it, the worker counts for itself.
function _M.open()
  local file = io.open(settings.cache_directory .. "/popularity", "a+b")
  if not file then return end
  -- All of it is written: a page without a place on a full disk would end the worker. Two workers may both do it.
  local whole = file:seek("end") >= BYTES
  if not whole then whole = file:write(string.rep("\0", BYTES)) and file:flush() end
  local address = whole and ffi.C.mmap64(nil, BYTES, PROT_READ_WRITE, MAP_SHARED, ffi.C.fileno(file), 0)
  file:close()
  if address and ffi.cast("intptr_t", address) ~= -1 then slots = ffi.cast("uint16_t *", address) end
end

return _M
