import assert from 'node:assert/strict'
import test from 'node:test'
import Fastify from 'fastify'
import { createAdmission } from '../src/admission.js'
import { createErrorHandler } from '../src/problem.js'
import { waitUntil } from '../../loadgen/src/stack/processes.js'
import { get } from './helper.js'

const WAIT_MAX_MS = 10_000
/** As many as are worked at at first. */
const AT_ONCE = 64

/**
 * An application whose one route works until it is told to end, with what asks for it.
 * @param {import('node:test').TestContext} t
 * @param {Parameters<typeof createAdmission>[0]} options
 */
async function build (t, options) {
  const app = Fastify()
  app.setErrorHandler(createErrorHandler(() => false))
  const admission = createAdmission(options)
  /** @type {(() => void)[]} */
  const working = []
  let begun = 0
  app.get('/', admission.inTurn(async () => {
    begun++
    await new Promise((resolve) => { working.push(() => resolve(undefined)) })
    return 'done'
  }))
  t.after(() => {
    for (const end of working) end()
    return app.close()
  })
  // Begun at once: what `inject` returns begins only when somebody waits for it.
  return { ask: async () => get(app, '/'), working, begun: () => begun }
}

test('more than can be worked at wait; who waited for too long is told so, with when to come again', async (t) => {
  const { ask, working, begun } = await build(t, { waitMaxMs: 1_000, workMaxMs: 600_000 })
  const first = Array.from({ length: AT_ONCE }, () => ask())
  assert.ok(await waitUntil(() => begun() === AT_ONCE, WAIT_MAX_MS))
  const [refused, ...others] = await Promise.all(Array.from({ length: 10 }, () => ask()))
  assert.equal(refused.headers['retry-after'], '2')
  assert.match(refused.json().detail, /More is asked of the wiki than it can answer/)
  assert.deepEqual([refused, ...others].map(({ statusCode }) => statusCode), Array(10).fill(503))
  assert.equal(begun(), AT_ONCE, 'nothing was begun for those that were refused')

  const waits = ask()
  working.pop()?.()
  assert.ok(await waitUntil(() => begun() === AT_ONCE + 1, WAIT_MAX_MS), 'when one is done another begins')
  for (const end of working.splice(0)) end()
  assert.deepEqual((await Promise.all([...first, waits])).map(({ statusCode }) => statusCode), Array(AT_ONCE + 1).fill(200))
})

test('what hangs does not keep others from being answered', async (t) => {
  const { ask, working, begun } = await build(t, { waitMaxMs: 60_000 })
  for (let index = 0; index < AT_ONCE; index++) ask().catch(() => {})
  assert.ok(await waitUntil(() => begun() === AT_ONCE, WAIT_MAX_MS))
  const other = ask()
  assert.ok(await waitUntil(() => begun() > AT_ONCE, WAIT_MAX_MS))
  working.pop()?.()
  assert.equal((await other).statusCode, 200)
})

test('with 0 there is no line, and nobody is refused', async (t) => {
  const { ask, working, begun } = await build(t, { waitMaxMs: 0 })
  const all = Array.from({ length: 5 * AT_ONCE }, () => ask())
  assert.ok(await waitUntil(() => begun() === all.length, WAIT_MAX_MS))
  for (const end of working) end()
  assert.ok((await Promise.all(all)).every(({ statusCode }) => statusCode === 200))
})
