-- The compressed forms of stored responses. A form is made at the first demand and kept in memory, by the place of its
-- entry: what replaces, confirms or purges the entry gives the next one another place, so no form outlives it.
local accept_encoding = require("accept_encoding")
local codecs = require("codecs")
local dictionaries = require("dictionaries")
local ffi = require("ffi")
local recent = require("recent")
local files = require("segment_files")

local lower = string.lower

local _M = {}

local BODY_BYTES_LEAST, BODY_BYTES_MAX = 100, 512 * 1024
local KEPT_BYTES_MAX = 32 * 1024 * 1024

local kept = recent.new(KEPT_BYTES_MAX)

-- RFC 9110 §8.8.3.3: another coding needs another strong tag, but the same weak one.
local function weak(etag)
  return string.sub(etag, 1, 2) == "W/" and etag or "W/" .. etag
end

local function body_of(entry)
  if entry.body then return entry.body end
  local from = files.read(entry.body_segment, entry.body_offset, entry.body_bytes)
  return from and ffi.string(from, entry.body_bytes)
end

-- Returns a form: key, names, values (as those of prepared.lua), body, body_bytes; without body, it is not smaller.
local function make(entry, coding, dictionary, hash)
  local text = body_of(entry)
  if not text then return nil end
  local body = codecs.compress(coding, text, dictionary, hash)
  if not body or #body >= #text then return { key = entry.key } end
  local form = { key = entry.key, names = {}, values = {}, body = body, body_bytes = #body }
  for index = 1, #entry.names do
    local name, value = entry.names[index], entry.values[index]
    local which = lower(name)
    if which == "etag" and type(value) == "string" then value = weak(value) end
    -- Ranges are those of the stored bytes.
    if which ~= "accept-ranges" then
      form.names[#form.names + 1], form.values[#form.values + 1] = name, value
      if which == "etag" then form.etag = value end
    end
  end
  form.names[#form.names + 1], form.values[#form.values + 1] = "Content-Encoding", coding
  return form
end

local function kept_form(entry, name, coding, dictionary, hash)
  local form = kept:get(name)
  if not form or form.key ~= entry.key then
    if hash then dictionary = dictionaries.get(entry, hash) end
    if hash and not dictionary then return nil end
    form = make(entry, coding, dictionary, hash)
    if not form then return nil end
    kept:set(name, form)
  end
  return form.body and form or nil
end

--- Returns the form of a compressible entry for a client; nil: the entry as it is.
-- accept, available: the client's Accept-Encoding and Available-Dictionary, or nil
function _M.form(entry, accept, available)
  -- What a 304 confirmed for one client alone is not stored, and its form could not be kept.
  if not entry.place then return nil end
  local choice = accept_encoding.choice(accept)
  local size = entry.body_bytes
  if size < BODY_BYTES_LEAST or size > BODY_BYTES_MAX then return nil end
  if available and choice.with_dictionary and entry.takes_dictionary then
    local hash = dictionaries.hash_in(available)
    local coding = choice.with_dictionary
    local form = hash and kept_form(entry, entry.place .. coding .. hash, coding, nil, hash)
    if form then return form end
  end
  if not choice.coding then return nil end
  return kept_form(entry, entry.place .. choice.coding, choice.coding)
end

return _M
