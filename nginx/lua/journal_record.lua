-- The records of journal.lua on disk, each with a checksum.
local _M = {}

-- Lengths of key and value, a number, a checksum.
local HEAD = "^(%l) (%d+) (%d+) (%d+) (%d+)\n"
local HEAD_BYTES_MAX = 80

local function checksum(kind, key, value, number)
  return ngx.crc32_short(kind .. key .. "\n" .. value .. "\n" .. number)
end

--- Returns a record as bytes. kind: a letter; key, value: bytes; number: 0 or more
function _M.encode(kind, key, value, number)
  local sum = checksum(kind, key, value, number)
  return string.format("%s %d %d %d %d\n%s%s\n", kind, #key, #value, number, sum, key, value)
end

--- Calls apply[kind](kind, key, value, number) for each record of a file. Returns "whole", "torn" (the last record is
-- not complete) or "broken"; nil without a file.
function _M.replay(path, apply)
  local handle = io.open(path, "rb")
  if not handle then return nil end
  local data, from = handle:read("*a") or "", 1
  handle:close()
  while from <= #data do
    local start, head_end, kind, key_bytes, value_bytes, number, sum = string.find(data, HEAD, from)
    if start ~= from then return #data - from < HEAD_BYTES_MAX and "torn" or "broken" end
    key_bytes, value_bytes = tonumber(key_bytes), tonumber(value_bytes)
    local last = head_end + key_bytes + value_bytes + 1
    if last > #data then return "torn" end
    local key = string.sub(data, head_end + 1, head_end + key_bytes)
    local value = string.sub(data, head_end + key_bytes + 1, last - 1)
    local call = apply[kind]
    if not call or checksum(kind, key, value, tonumber(number)) ~= tonumber(sum) then return "broken" end
    call(kind, key, value, tonumber(number))
    from = last + 1
  end
  return "whole"
end

return _M
