-- Compression dictionaries, RFC 9842: the bodies of stored responses with Use-As-Dictionary, by host and SHA-256.
-- All workers share them; the least recently used give way.
local ffi = require("ffi")
local places = require("place")
local remembered = require("remembered")

local dictionaries = ngx.shared.dictionaries

local _M = {}

local HASH_BYTES = 32

ffi.cdef("unsigned char *SHA256(const char *data, size_t size, unsigned char *hash);")
-- Of nginx's own libcrypto.
local has_sha256 = pcall(function() return ffi.C.SHA256 end)

local function sha256(text)
  local hash = ffi.new("unsigned char[?]", HASH_BYTES)
  ffi.C.SHA256(text, #text, hash)
  return ffi.string(hash, HASH_BYTES)
end

-- Of this worker. The others may not have noted it, which costs them one look.
local noted = remembered.new(2 ^ 17)

--- Whether this worker has noted the response at a place. hash: the CRC-32 of its key; place: a pointer to it
function _M.is_noted(hash, place)
  return not has_sha256 or noted:is(hash, place, 0)
end

--- Keeps the body of an entry if the response says that it is a dictionary. Large bodies are none.
function _M.note(entry)
  if not dictionaries or not has_sha256 or not entry.dictionary then return end
  if entry.place then noted:set(ngx.crc32_short(entry.key), places.read(entry.place), 0) end
  if entry.noted then return end
  entry.noted = true
  local body = entry.body
  if body and #body > 0 then dictionaries:set(entry.host .. "\0" .. sha256(body), body) end
end

--- Returns the hash in an Available-Dictionary, or nil: one byte sequence of RFC 9651 with 32 bytes, RFC 9842 §2.2.
function _M.hash_in(header)
  if #header ~= 46 then return nil end
  local text = string.match(header, "^:([%w+/]+=):$")
  local hash = text and ngx.decode_base64(text)
  return hash and #hash == HASH_BYTES and hash or nil
end

--- Returns the dictionary that the entry's host has sent, or nil.
function _M.get(entry, hash)
  return dictionaries and dictionaries:get(entry.host .. "\0" .. hash)
end

--- Forgets all of them, of any host: after a purge of everything their texts are not in memory either.
function _M.forget()
  if not dictionaries then return end
  dictionaries:flush_all()
  dictionaries:flush_expired()
end

return _M
