import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createRandom } from '@stevec/harness/random'
import { runLua } from './lua.js'

const ENTRY = {
  status: 200,
  requested_s: 1.5,
  received_s: 2.25,
  lifetime_s: 60,
  initial_age_s: 0,
  stale_while_revalidate_s: 0,
  stale_if_error_s: 3,
  clock: 7,
  always_validate: false,
  stale_forbidden: true,
  shares_address: false,
  any_tag: false,
  compressible: false,
  dictionary: false,
  takes_dictionary: false,
  bounded: true,
  key: 'host/a\u0001x',
  base: 'host/a',
  host: 'host',
  host_name: 'host',
  uri: '/a',
  revision: '',
  tags: ['one', 'two', 'three'],
  headers: [['Content-Type', 'text/html'], ['Set-Thing', 'a'], ['X-Empty', ''], ['set-thing', 'b']]
}

const ROUND_TRIP = `
  require("settings").set({ profile = "rfc9111", cache_name = "c" })
  local heads, prepared, ffi = require("head"), require("prepared"), require("ffi")
  local decoded = {}
  for index, entry in ipairs(input) do
    local text = heads.encode(entry, 5)
    local from = ffi.cast("const uint8_t *", text)
    local key, bytes, followed_by = heads.peek(from, #text)
    local other = heads.decode(from, #text)
    assert(key == entry.key and bytes == #text and followed_by == 5 and not heads.decode(from, #text - 1))
    other.lines, other.names, other.values = prepared.lines(other), nil, nil
    decoded[index] = other
  end
  return decoded`

/** Changes each byte of a head in turns, by each of the masks. */
const DAMAGE = `
  require("settings").set({ profile = "rfc9111", cache_name = "c" })
  local heads, ffi, bit = require("head"), require("ffi"), require("bit")
  local text, read, refused = heads.encode(input.entry, 0), 0, 0
  for at = 0, #text - 1 do
    for _, mask in ipairs(input.masks) do
      local bytes = ffi.new("uint8_t[?]", #text, text)
      bytes[at] = bit.bxor(bytes[at], mask)
      heads.peek(bytes, #text)
      if heads.decode(bytes, #text) then read = read + 1 else refused = refused + 1 end
    end
  end
  return { read = read, refused = refused }`

/** @param {string[]} line */
const lowered = ([name, value]) => [name.toLowerCase(), value]

/** @param {string[][]} lines */
function groupedByName (lines) {
  const first = (/** @type {string[]} */ line) => lines.findIndex((other) => lowered(other)[0] === lowered(line)[0])
  return [...lines].sort((one, other) => first(one) - first(other))
}

test('a head on disk says what the entry said, with any number of fields, values and tags', () => {
  const random = createRandom(3)
  const text = (/** @type {number} */ length) =>
    Array.from({ length }, () => String.fromCharCode(33 + Math.floor(random() * 90))).join('')
  const entries = [ENTRY, ...Array.from({ length: 60 }, (_, count) => ({
    ...ENTRY,
    headers: Array.from({ length: count }, () => [`h${Math.floor(random() * 40)}`, text(Math.floor(random() * 300))]),
    tags: Array.from({ length: count % 7 }, () => text(5)),
    ...count % 2 === 0 ? { groups: Array.from({ length: count % 5 }, () => text(4)), etag: '"1"' } : {},
    ...count % 3 === 0 ? { targeted: ['max-age=1', 'public'], no_vary_search: 'params' } : {}
  }))]
  for (const [index, decoded] of runLua(ROUND_TRIP, entries).entries()) {
    const { headers, targeted, groups, ...rest } = /** @type {any} */ (entries[index])
    const { lines, tags, cache_status_at: at, hit_prefix: prefix, ...found } = decoded
    assert.deepEqual([at, prefix], [0, 'c;hit;ttl='])
    assert.deepEqual(Object.values(tags), rest.tags)
    // Lines of one name come together, in their order.
    assert.deepEqual(Object.values(lines).map(lowered), groupedByName(headers).map(lowered))
    const lists = { targeted: targeted && [targeted.join(', ')], groups: groups?.length === 0 ? {} : groups }
    for (const [name, value] of Object.entries(lists)) assert.deepEqual(found[name], value)
    delete found.targeted
    delete found.groups
    assert.deepEqual({ ...found, tags: rest.tags }, rest)
  }
})

test('a damaged head is refused or read, and nothing behind its end is read', () => {
  const { read, refused } = runLua(DAMAGE, { entry: ENTRY, masks: [1, 128, 255] })
  assert.ok(refused > 300, `${refused} refused, ${read} read`)
})
