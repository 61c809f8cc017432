import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { waitUntil } from '@stevec/harness/processes'
import { request } from '@stevec/harness/request'
import { startEdge } from '@stevec/nginx/test/edge-helper'
import { entrancesOf } from '../src/stack/doors.js'
import { readState } from '../src/stack/state.js'
import { startDoors } from './doors.js'

const WAIT_MAX_MS = 60_000
const LIFETIME_S = 2
const BOUND_MS = 500
const CACHE_CONTROL = `public, max-age=0, s-maxage=${LIFETIME_S}, must-revalidate`

/** @typedef {{url: string, headers?: Record<string, string>}} Place */

describe('a wiki with a bound, and a lifetime beyond it for caches that follow no log', () => {
  /** @type {Awaited<ReturnType<typeof startDoors>>} */
  let stack
  /** @type {import('../src/stack/state.js').StackState} */
  let state
  before(async () => {
    stack = await startDoors({
      CACHE_POLICY: 'bounded', CACHE_BOUND_MS: String(BOUND_MS), CACHE_BEYOND_BOUND_S: String(LIFETIME_S), WRITES_PER_MINUTE: '0'
    })
    state = /** @type {typeof state} */ (readState(stack.directory))
  })
  after(() => stack.stop())

  /** @param {string} page @param {string} text */
  const edit = (page, text) => request(`http://127.0.0.1:${state.ports.wiki}/wiki/${page}`, {
    method: 'POST', headers: { 'content-type': 'text/markdown' }, body: text
  })

  /** @param {Place} place @param {string} page @param {Record<string, string>} [more] */
  async function read ({ url, headers }, page, more) {
    const { headers: answered, body } = await request(`${url}/wiki/${page}`, { headers: { ...headers, ...more } })
    return {
      cache: answered['x-cache-status'] ?? answered['cf-cache-status'],
      cacheControl: answered['cache-control'],
      text: /text \d/.exec(body)?.[0]
    }
  }

  /** @param {Place} place @param {string} page */
  async function isBeyondBound (place, page) {
    await edit(page, 'text 1')
    const isStored = async () => (await read(place, page)).cache === 'HIT'
    assert.ok(await waitUntil(isStored, WAIT_MAX_MS), 'it answers without the wiki')
    assert.equal((await read(place, page)).cacheControl, CACHE_CONTROL)
    await edit(page, 'text 2')
    const isNew = async () => (await read(place, page)).text === 'text 2'
    assert.ok(await waitUntil(isNew, WAIT_MAX_MS), 'nothing purges it, and yet it shows the new text')
  }

  test('the stock nginx of a client stores a page for so long', () => isBeyondBound(state.doors.local, 'at-local'))

  for (const profile of /** @type {const} */ (['cloudflare', 'rfc9111'])) {
    test(`so does an edge with the profile ${profile} that follows no log, whatever revision a client has seen`,
      async (t) => {
        const edge = await startEdge(t, () => {}, { profile, origin: { port: state.ports.origin } })
        const place = { url: `http://127.0.0.1:${edge.port}` }
        await isBeyondBound(place, `at-${profile}`)
        const seen = { 'page-revision-min': '9' }
        const isHit = async () => (await read(place, `at-${profile}`, seen)).cache === 'HIT'
        assert.ok(await waitUntil(isHit, WAIT_MAX_MS))
      })
  }

  test('an edge that follows the log keeps the bound', async () => {
    const [entrance] = entrancesOf(state.doors.cached)
    await edit('followed', 'text 1')
    assert.ok(await waitUntil(async () => (await read(entrance, 'followed')).cache === 'HIT', WAIT_MAX_MS))
    await edit('followed', 'text 2')
    const acknowledgedMs = performance.now()
    // A slow machine may make the wiki refuse a page meanwhile; it never makes an edge show the old text.
    const isNewLater = async () => {
      const sentMs = performance.now()
      const { text } = await read(entrance, 'followed')
      if (sentMs > acknowledgedMs + BOUND_MS) assert.notEqual(text, 'text 1')
      return sentMs > acknowledgedMs + 3 * BOUND_MS && text === 'text 2'
    }
    assert.ok(await waitUntil(isNewLater, WAIT_MAX_MS))
  })
})
