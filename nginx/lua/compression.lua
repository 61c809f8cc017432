-- The compressed forms of stored responses. A form is made at the first demand and kept in memory, by the place of its
-- entry: what replaces, confirms or purges the entry gives the next one another place, so no form outlives it.
local accept_encoding = require("accept_encoding")
local codecs = require("codecs")
local dictionaries = require("dictionaries")
local ffi = require("ffi")
local heads = require("head")
local places = require("place")
local recent = require("recent")
local files = require("segment_files")

local lower = string.lower

local _M = {}

local BODY_BYTES_LEAST, BODY_BYTES_MAX = 100, 512 * 1024
local KEPT_BYTES_MAX = 32 * 1024 * 1024

-- What a form takes beside its bytes, about.
local FORM_BYTES = 400

local kept = recent.new(KEPT_BYTES_MAX, function(form)
  return FORM_BYTES + #(form.head or "") + #(form.body or "")
end)

-- RFC 9110 §8.8.3.3: another coding needs another strong tag, but the same weak one.
local function weak(etag)
  return string.sub(etag, 1, 2) == "W/" and etag or "W/" .. etag
end

local function body_of(entry)
  if entry.body then return entry.body end
  local from = files.read(entry.body_segment, entry.body_offset, entry.body_bytes)
  return from and ffi.string(from, entry.body_bytes)
end

-- Returns a form: key, head (as head.lua writes it) and body, both bytes; without head and body, it is not smaller.
-- Bytes, because the garbage collector visits each part of a table again and again.
local function make(entry, coding, dictionary, hash)
  local text = body_of(entry)
  if not text then return nil end
  local body = codecs.compress(coding, text, dictionary, hash)
  if not body or #body >= #text then return { key = entry.key } end
  local names, values = {}, {}
  for index = 1, #entry.names do
    local name, value = entry.names[index], entry.values[index]
    local which = lower(name)
    if which == "etag" and type(value) == "string" then value = weak(value) end
    -- Ranges are those of the stored bytes.
    if which ~= "accept-ranges" then names[#names + 1], values[#values + 1] = name, value end
  end
  names[#names + 1], values[#values + 1] = "Content-Encoding", coding
  local etag = entry.etag and weak(entry.etag)
  local head = heads.encode(setmetatable({ names = names, values = values, etag = etag }, { __index = entry }), 0)
  return { key = entry.key, head = head, body = body }
end

-- A client may ask for each response by each dictionary: this many a second are made in a worker, and the others are
-- sent without.
local BY_DICTIONARY_PER_S = 50
local counted_s, made = 0, 0

local function may_use_dictionary()
  local now_s = ngx.time()
  if now_s ~= counted_s then counted_s, made = now_s, 0 end
  made = made + 1
  return made <= BY_DICTIONARY_PER_S
end

local function kept_form(entry, name, coding, hash)
  local form = kept:get(name)
  if not form or form.key ~= entry.key then
    local dictionary = hash and dictionaries.get(entry, hash)
    if hash and not (dictionary and may_use_dictionary()) then return nil end
    form = make(entry, coding, dictionary, hash)
    if not form then return nil end
    kept:set(name, form)
  end
  return form.body and form or nil
end

-- Returns the coding for a client, then the coding and the dictionary's hash that are tried before it, each or nil.
-- body_bytes: of the entry; takes_dictionary: whether one may help
local function choose(body_bytes, takes_dictionary, accept, available)
  if body_bytes < BODY_BYTES_LEAST or body_bytes > BODY_BYTES_MAX then return nil end
  local choice = accept_encoding.choice(accept)
  if not available or not choice.with_dictionary or not takes_dictionary then return choice.coding end
  local hash = dictionaries.hash_in(available)
  return choice.coding, hash and choice.with_dictionary, hash
end

-- A form as the rest of the edge takes it: names, values (as those of prepared.lua), etag, body, body_bytes.
local function decoded(form)
  local entry = heads.decode(ffi.cast("const uint8_t *", form.head), #form.head)
  entry.body, entry.body_bytes = form.body, #form.body
  return entry
end

--- Returns the form of a compressible entry for a client; nil: the entry as it is.
-- accept, available: the client's Accept-Encoding and Available-Dictionary, or nil
function _M.form(entry, accept, available)
  -- What a 304 confirmed for one client alone is not stored, and its form could not be kept.
  if not entry.place then return nil end
  local coding, first, hash = choose(entry.body_bytes, entry.takes_dictionary, accept, available)
  local form = first and kept_form(entry, entry.place .. first .. hash, first, hash)
  form = form or coding and kept_form(entry, entry.place .. coding, coding)
  return form and decoded(form)
end

--- Returns the form that is kept for a client: head and body, both bytes; false: the entry as it is; nil: that is not
-- known yet. place: a pointer to it, see place.lua; head: the entry's, see head.lua; body_bytes: of the entry
function _M.kept(place, head, body_bytes, accept, available)
  local coding, first, hash = choose(body_bytes, head.takes_dictionary ~= 0, accept, available)
  if not first and not coding then return false end
  local name = places.text(place)
  if first then
    local form = kept:get(name .. first .. hash)
    if not form or form.body then return form end
  end
  if not coding then return false end
  local form = kept:get(name .. coding)
  if form and not form.body then return false end
  return form
end

return _M
