import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'
import { pictureOf } from '../src/simulate/picture.js'
import { createSandbox } from './helper.js'

/** @import {Event} from '../src/simulate/events.js' */

/** @param {number} ms @param {number} revision @returns {Event} */
const read = (ms, revision) =>
  ({ kind: 'read', at_ms: ms, reader: 0, edge: 2, page: 'p1', revision, status: 'HIT', sent_ms: ms - 5 })

/** @type {Event[]} */
const EVENTS = [
  { kind: 'save', at_ms: 10, wiki: 1, page: 'p1', revision: 1 },
  { kind: 'fault', at_ms: 20, name: 'cut', where: 'edge 2', ms: 400 },
  read(30, 1),
  { kind: 'save', at_ms: 50, wiki: 0, page: 'p1', revision: 2 },
  read(155, 1),
  { kind: 'purge', at_ms: 430, edge: 2, what: ['/wiki/p1'] },
  read(665, 1),
  read(705, 2),
  { kind: 'save', at_ms: 90_000, wiki: 0, page: 'p1', revision: 3 }
]

test('a picture says how old each stale read is, and shows faults for as long as they last', () => {
  const svg = pictureOf(EVENTS, { title: 'a <title>', boundMs: 500 })
  assert.match(svg, /^<svg xmlns="[^"]+" viewBox="0 0 1290 (\d+)"/)
  assert.match(svg, /a &lt;title><\/text>/)
  assert.match(svg, /fill="#d97706">p1, 100 ms old</)
  assert.match(svg, /fill="#c0182b">p1, 610 ms old</)
  assert.equal(svg.match(/ ms old<\/text>/g)?.length, 2)
  // 400 ms at 0.3 pixels each.
  assert.match(svg, /height="120\.0" fill="#d8d8d8"><title>20\.0 ms: cut, 400 ms</)
  assert.match(svg, />p1 r2</)
  assert.match(svg, /430\.0 ms: purge of \/wiki\/p1</)
  assert.ok(!svg.includes('p1 r3'), 'it ends with the last read')
})

test('a label that would cover another one is left out, and its mark is not', () => {
  const svg = pictureOf([...EVENTS.slice(0, 4), read(155, 1), read(157, 1)], { title: '', boundMs: 500 })
  assert.equal(svg.match(/ ms old<\/title>/g)?.length, 2)
  assert.match(svg, /fill="#d97706">p1, 102 ms old</)
  assert.equal(svg.match(/ ms old<\/text>/g)?.length, 1)
})

test('stevec simulate --picture draws one seed; a history that is too long says how much would fit', async (t) => {
  const sandbox = await createSandbox()
  t.after(sandbox.remove)
  const file = path.join(sandbox.directory, 'history.svg')
  const { exitCode } = await sandbox.stevec(['simulate', '--policy', 'purge-url', '--reads', '294', '--picture', file])
  assert.equal(exitCode, 1)
  const svg = readFileSync(file, 'utf8')
  assert.match(svg, /stevec simulate --policy purge-url --seed 1 --reads 294</)
  assert.match(svg, /fill="#c0182b">p\d, \d+ ms old</)

  const long = path.join(sandbox.directory, 'long.svg')
  const refused = await sandbox.stevec(['simulate', '--reads', '4000', '--picture', long])
  assert.equal(refused.exitCode, 2)
  assert.match(refused.stderr, /a picture shows 2000 reads, .* give --reads \d+ or fewer/)
  assert.equal(existsSync(long), false)
  const several = await sandbox.stevec(['simulate', '--policy', 'purge-url', '--picture', long])
  assert.equal(several.exitCode, 2)
  assert.match(several.stderr, /a picture is of one seed: give --reads 500 or fewer/)
})
