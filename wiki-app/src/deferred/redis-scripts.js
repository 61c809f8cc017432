// What reads and changes the buffer in Redis, each in one step
// (https://redis.io/docs/latest/develop/programmability/eval-intro/).

/** Beginning of a script that takes something. Last arguments: the most records, the most bytes. */
const ROOM = `
local records = redis.call('XLEN', KEYS[1])
local bytes = tonumber(redis.call('GET', KEYS[2]) or '0')
local function refusal (size)
  if records < tonumber(ARGV[#ARGV - 1]) and bytes + size <= tonumber(ARGV[#ARGV]) then return nil end
  return { 'full', records, bytes, '' }
end
local function put (size, ...)
  local entry = redis.pcall('XADD', KEYS[1], '*', ...)
  if type(entry) ~= 'table' then return { 'taken', records + 1, redis.call('INCRBY', KEYS[2], size), entry } end
  if string.find(entry.err, 'OOM', 1, true) then return { 'no memory', records, bytes, '' } end
  return entry
end
`

/**
 * Takes a save, unless the buffer is full, or Redis has no memory for it.
 * Keys: stream, bytes, ids. Arguments: id, page, the save as JSON, and the limits.
 */
export const ADD_SAVE = `${ROOM}
local refused = refusal(#ARGV[3])
if refused then return refused end
local done = put(#ARGV[3], 'id', ARGV[1], 'page', ARGV[2], 'save', ARGV[3])
if done[1] == 'taken' then redis.call('HSET', KEYS[3], ARGV[1], ARGV[2]) end
return done
`

/**
 * Takes a short address, unless one with its id waits already, or a random one for its target.
 * Keys: stream, bytes, links, targets. Arguments: id, its target or '' if the id is chosen, the link as JSON, and the
 * limits.
 */
export const ADD_LINK = `${ROOM}
local known = redis.call('HGET', KEYS[3], ARGV[1])
local other = ARGV[2] ~= '' and redis.call('HGET', KEYS[4], ARGV[2])
if other and not known then known = redis.call('HGET', KEYS[3], other) end
if known then return { 'known', records, bytes, known } end
local refused = refusal(#ARGV[3])
if refused then return refused end
local done = put(#ARGV[3], 'short', ARGV[1], 'target', ARGV[2], 'link', ARGV[3])
if done[1] == 'taken' then
  redis.call('HSET', KEYS[3], ARGV[1], ARGV[3])
  if ARGV[2] ~= '' then redis.call('HSET', KEYS[4], ARGV[2], ARGV[1]) end
end
return done
`

/**
 * What waits, and the first of it. Keys: stream, and those that go with it. Arguments: the most records, the most
 * bytes; these by an entry at most exceeded.
 */
export const READ = `
local records = redis.call('XLEN', KEYS[1])
if records == 0 then
  redis.call('DEL', unpack(KEYS, 2))
  return { 0, 0, {} }
end
local found, bytes, from = {}, 0, '-'
while #found < tonumber(ARGV[1]) and bytes < tonumber(ARGV[2]) do
  local entry = redis.call('XRANGE', KEYS[1], from, '+', 'COUNT', 1)[1]
  if not entry then break end
  found[#found + 1] = entry
  for _, text in ipairs(entry[2]) do bytes = bytes + #text end
  from = '(' .. entry[1]
end
return { records, tonumber(redis.call('GET', KEYS[2]) or '0'), found }
`

/**
 * Removes entries with all that is noted of them, at once. Keys: stream, bytes, ids, links, targets, aside. Arguments:
 * how many entries are kept aside, 0: none is; ids of entries. It has to work in a Redis without memory, which refuses
 * what needs some, unless the script has written before.
 */
export const REMOVE = `
local bytes = 0
local noted = { id = KEYS[3], short = KEYS[4], target = KEYS[5] }
for index = 2, #ARGV do
  local entry = redis.call('XRANGE', KEYS[1], ARGV[index], ARGV[index])[1]
  if entry then
    local fields, copied = entry[2], {}
    for at = 1, #fields, 2 do
      local name, text = fields[at], fields[at + 1]
      if at < 20 then copied[at], copied[at + 1] = name, text end
      if name == 'save' or name == 'link' then bytes = bytes + #text end
      if noted[name] then redis.call('HDEL', noted[name], text) end
    end
    redis.call('XDEL', KEYS[1], ARGV[index])
    if ARGV[1] ~= '0' then redis.call('XADD', KEYS[6], 'MAXLEN', ARGV[1], '*', unpack(copied)) end
  end
end
local records = redis.call('XLEN', KEYS[1])
local left = tonumber(redis.call('GET', KEYS[2]) or '0') - bytes
if records == 0 or left < 0 then left = 0 end
redis.call('DEL', KEYS[2])
if left > 0 then redis.call('SET', KEYS[2], left) end
return { records, left }
`
