import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import test from 'node:test'
import { fileURLToPath } from 'node:url'
import { waitUntil } from '@stevec/harness/processes'
import { stored } from '../../torture/torture.js'
import { needsRoot, runK6, startSlowedWiki } from './slowed-wiki.js'

const LOAD = fileURLToPath(new URL('../../torture/overload.k6.js', import.meta.url))
const PAGES = 50
/** Of a core. */
const CPU_SHARE = 0.03
const DURATION_S = 10
/** One request in this many saves a page. */
const EDIT_EVERY = 20
const TEXT = 'words and words '.repeat(300)
const CLOSED_S = 4
/** Requests that this wiki answers in half a second; also the number of clients that measure its capacity. */
const AT_ONCE = 32
const RECOVERY_MAX_MS = 5_000
const GROWTH_MAX_MIB = 100

/** @typedef {{count: number, med_ms: number, p99_ms: number, max_ms: number}} Answers */

/** @param {number} pid */
const residentMib = (pid) => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024

test('at ten times its capacity the wiki quickly refuses the excess, still serves the rest, ' +
  'and recovers after it', {
  skip: needsRoot,
  timeout: 300_000
}, async (t) => {
  const started = await startSlowedWiki(t, { cpuShare: CPU_SHARE, atOnce: AT_ONCE })
  if (started === null) return
  const { testbed, client, slow } = started
  const page = (/** @type {number} */ index) => client.ask('GET', `/wiki/page-${index % PAGES}`)
  const edit = (/** @type {number} */ index) =>
    client.ask('PUT', `/api/v1/pages/page-${index % PAGES}`, { json: { content: `${index} ${TEXT}` } })
  for (let index = 0; index < PAGES; index++) await edit(index)
  // Warm-up, so that the code is compiled as in a process that has run for a while.
  for (let round = 0; round < 40; round++) {
    await Promise.all(Array.from({ length: PAGES }, (_, index) =>
      index % EDIT_EVERY === 0 ? edit(index + round) : page(index)))
  }

  slow()
  const start = performance.now()
  let asked = 0
  await Promise.all(Array.from({ length: AT_ONCE }, async () => {
    while (performance.now() < start + 1_000 * CLOSED_S) {
      const index = asked++
      assert.equal((await (index % EDIT_EVERY === 0 ? edit : page)(index)).status, 200)
    }
  }))
  const capacity = asked / (performance.now() - start) * 1_000
  const { pid } = testbed.wiki() ?? { pid: 0 }
  const before = residentMib(pid)

  const { summary, stderr } = await runK6(LOAD, {
    URL: testbed.url, RATE: Math.ceil(10 * capacity), DURATION_S, PAGES, EDIT_EVERY, TEXT
  })
  const endedAt = performance.now()
  assert.ok(await waitUntil(async () => {
    const askedAt = performance.now()
    return (await page(0)).status === 200 && performance.now() - askedAt < 1_000
  }, RECOVERY_MAX_MS), 'the wiki recovers in time')
  const recoveredMs = performance.now() - endedAt

  /** @type {{accepted: Answers, refused: Answers, other: number, dropped: number}} */
  const { accepted, refused, other, dropped } = summary
  const ms = (/** @type {Answers} */ { med_ms: median, p99_ms: p99, max_ms: max }) =>
    `${median.toFixed(0)} / ${p99.toFixed(0)} / ${max.toFixed(0)} ms (median, p99, maximum)`
  t.diagnostic(`capacity ${capacity.toFixed(0)}/s with ${AT_ONCE} clients; offered ${(10 * capacity).toFixed(0)}/s, ${
    dropped} requests dropped by k6: ${(accepted.count / DURATION_S).toFixed(0)}/s served in ${ms(accepted)}, ` +
    `${(refused.count / DURATION_S).toFixed(0)}/s refused in ${ms(refused)}, ${other} others; ${before.toFixed(0)} → ${
      residentMib(pid).toFixed(0)} MiB; recovered after ${recoveredMs.toFixed(0)} ms`)
  assert.equal(other, 0, 'each request is served or refused')
  const { made, refusedEdits, findings } = judgeEdits(stderr, (await stored(testbed.uri)).revisions)
  t.diagnostic(`${made} edits were made and ${refusedEdits} refused`)
  assert.ok(made > 0 && refusedEdits > 0)
  assert.deepEqual(findings, [])
  assert.ok(refused.count > accepted.count)
  assert.ok(accepted.count / DURATION_S > capacity / 4, 'the throughput does not collapse')
  // The time includes waits for a CPU, which depend on the other load of the machine.
  assert.ok(refused.med_ms < 1_000)
  assert.ok(residentMib(pid) < before + GROWTH_MAX_MIB)
})

/**
 * @param {string} lines  the stderr of overload.k6.js: the outcome of each edit, among other lines
 * @param {import('../../torture/oracle.js').Stored['revisions']} revisions
 */
function judgeEdits (lines, revisions) {
  /** @type {{id: string, page: string, revision?: number}[]} */
  const edits = lines.split('\n').filter((line) => line.startsWith('{"id"')).map((line) => JSON.parse(line))
  const kept = new Map(revisions.map(({ page, revision, summary }) => [summary, `${page} ${revision}`]))
  const findings = edits.flatMap(({ id, page, revision }) => {
    if (revision === undefined) return kept.has(id) ? [`${id} was refused but is stored`] : []
    return kept.get(id) === `${page} ${revision}` ? [] : [`${id} was acknowledged but is not stored`]
  })
  const made = edits.filter(({ revision }) => revision !== undefined).length
  return { made, refusedEdits: edits.length - made, findings }
}
