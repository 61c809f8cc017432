-- Before a file of the cache is evicted: what was used since it was stored goes to the end of the queue main.
local files = require("segment_files")
local heads = require("head")
local popularity = require("popularity")
local segments = require("segments")
local store = require("store")

local _M = {}

-- A key counts as used when it was stored and found.
local USED = 2
-- The key is at the front of a head, behind its numbers.
local PEEK_BYTES = 2048
-- At most this part of a file is kept: to evict has to make room.
local KEPT_PART = 0.5

local function is_used(key)
  if popularity.of(key) < USED then return false end
  popularity.lower(key)
  return true
end

local function rescue(id, bytes)
  local owner = segments.owner_of(id)
  if owner then return store.is_body_of(id, owner) and is_used(owner) end
  local at, kept_bytes = 0, 0
  while at + heads.FIXED_BYTES <= bytes and kept_bytes < bytes * KEPT_PART do
    local length = math.min(PEEK_BYTES, bytes - at)
    local from = files.read(id, at, length)
    if not from then return false end
    local key, head_bytes, followed_by = heads.peek(from, length)
    -- Where the next head begins is not known.
    if not head_bytes then return false end
    if key and is_used(key) then kept_bytes = kept_bytes + (store.keep(key, id, at, head_bytes) or 0) end
    at = at + head_bytes + followed_by
  end
  return false
end

--- Once, before any eviction.
function _M.init()
  segments.before_eviction(rescue)
end

return _M
