import assert from 'node:assert/strict'
import test from 'node:test'
import { fileURLToPath } from 'node:url'
import { needsRoot, runK6, startSlowedWiki } from './slowed-wiki.js'

const LOAD = fileURLToPath(new URL('../../torture/crawlers.k6.js', import.meta.url))
const [PAGES, REVISIONS] = [20, 40]
/** Of a core. */
const CPU_SHARE = 0.05
/** A sixteenth of these are for old texts (nginx/conf/costly.conf). */
const AT_ONCE = 64
/** Fewer than these slots, as nginx frees one a moment after its response. */
const CLIENTS = 2
const CLOSED_S = 4
const DURATION_S = 15
/** So few that they alone are no load, on any machine. */
const VISITS_PER_DIFFERENCE = 0.5

test('crawlers that ask for ten times what the wiki can do shut out no reader and no editor', {
  skip: needsRoot,
  timeout: 600_000
}, async (t) => {
  const started = await startSlowedWiki(t, { cpuShare: CPU_SHARE, atOnce: AT_ONCE })
  if (started === null) return
  const { testbed, client, slow } = started
  for (let revision = 1; revision <= REVISIONS; revision++) {
    const texts = Array.from({ length: PAGES }, (_, page) => client.ask('PUT', `/api/v1/pages/page-${page}`, {
      json: { content: `revision ${revision} ${'words and words '.repeat(100)}` }
    }))
    for (const { status } of await Promise.all(texts)) assert.ok(status === 200 || status === 201, String(status))
  }
  const old = (/** @type {number} */ index) => {
    const revision = 2 + index % (REVISIONS - 1)
    return client.ask('GET', `/difference/page-${index % PAGES}?from=${revision - 1}&to=${revision}`)
  }
  // Warm-up, so that the code is compiled as in a process that has run for a while.
  for (let index = 0; index < 600; index++) assert.equal((await old(index)).status, 200)

  slow()
  const start = performance.now()
  let asked = 0
  await Promise.all(Array.from({ length: CLIENTS }, async () => {
    while (performance.now() < start + 1_000 * CLOSED_S) assert.equal((await old(asked++)).status, 200)
  }))
  const capacity = asked / (performance.now() - start) * 1_000

  const readsPerS = Math.max(1, Math.floor(VISITS_PER_DIFFERENCE * capacity))
  const visit = async (/** @type {number} */ crawlsPerS) => (await runK6(LOAD, {
    URL: testbed.url, CRAWLS_PER_S: crawlsPerS, READS_PER_S: readsPerS, DURATION_S, PAGES, REVISIONS
  })).summary
  const quiet = await visit(0)
  const crawled = await visit(Math.ceil(10 * capacity))
  const ms = (/** @type {any} */ { med_ms: median, p99_ms: p99, max_ms: max }) =>
    `${median.toFixed(0)} / ${p99.toFixed(0)} / ${max.toFixed(0)} ms`
  t.diagnostic(`capacity ${capacity.toFixed(0)} differences/s, ${readsPerS} visits/s; ` +
    `page views (median, p99, maximum): ${ms(quiet)} alone, ` +
    `${ms(crawled)} beside ${(10 * capacity).toFixed(0)} crawled addresses/s: ${JSON.stringify(crawled)}`)
  assert.equal(quiet.people_failed, 0)
  assert.equal(crawled.people_failed, 0, 'every page view and every save is answered')
  assert.ok(crawled.people_served >= quiet.people_served / 2)
  assert.equal(crawled.crawls_other, 0, 'a crawler is served or refused')
  assert.ok(crawled.crawls_served > 0 && crawled.crawls_refused > crawled.crawls_served)
})
