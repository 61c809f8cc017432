import assert from 'node:assert/strict'
import test from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { FRONT_MATTER_MAX_BYTES } from '../src/archive/front-matter.js'
import { createFrontMatterReader } from '../src/archive/front-matter-reader.js'
import { createAuthorsPool } from '../src/threads/authors.js'

/** Turns of the event loop. Parsing in another thread allows far more, parsing in the main thread fewer. */
const TURNS_MIN = 10

test('parsing the longest front matter does not block the main thread', async (t) => {
  const authors = createAuthorsPool()
  t.after(authors.close)
  const reader = createFrontMatterReader(authors)
  let keys = 'name: long\n'
  for (let key = 0; keys.length < FRONT_MATTER_MAX_BYTES - 20; key++) keys += `key${key}: v\n`
  const counting = new AbortController()
  const reading = reader.read(`---\n${keys}---\ntext`).finally(() => counting.abort())
  let turns = 0
  for (; !counting.signal.aborted; turns++) await nextTurn()
  assert.deepEqual(await reading, { name: 'long', tags: undefined, exported: false, content: 'text' })
  assert.ok(turns >= TURNS_MIN, `${turns} turns of the event loop`)
})

test('invalid front matter gets 400 with the reason; a rule (---) in front of plain text is text', async (t) => {
  const authors = createAuthorsPool()
  t.after(authors.close)
  const reader = createFrontMatterReader(authors)
  for (const [yaml, fault] of [
    ['a: [', /cannot be read: Flow sequence/],
    ['name: [a]', /the name is no text/],
    ['tags: {a: b}', /the tags are no list of words/],
    ['name: a\nname: b', /it has “name” twice/],
    [`${'['.repeat(FRONT_MATTER_MAX_BYTES - 10)}`, /cannot be read/],
    [`a: ${'b'.repeat(FRONT_MATTER_MAX_BYTES)}`, /longer than 32 kB/]
  ]) {
    await assert.rejects(
      reader.read(`---\n${yaml}\n---\ntext`),
      { statusCode: 400, message: fault },
      String(yaml).slice(0, 40)
    )
  }
  for (const text of ['---\njust words\n---\nand more', '---\nno second one', 'no rule']) {
    assert.deepEqual(await reader.read(text), { content: text })
  }
})
