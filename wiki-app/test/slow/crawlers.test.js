import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import test from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { setCpuShare, dropGroup } from '@stevec/harness/cgroup'
import { createLimits } from '@stevec/harness/limits'
import { requireTool } from '@stevec/harness/tools/locate'
import { createClient } from '../../torture/client.js'
import { createTestbed } from '../../torture/testbed.js'

const LOAD = fileURLToPath(new URL('../../torture/crawlers.k6.js', import.meta.url))
const [PAGES, REVISIONS] = [20, 40]
/** Of a core: so small that the load generator can easily send ten times the capacity of the wiki. */
const CPU_SHARE = 0.05
const AT_ONCE = 32
const CLOSED_S = 4
const DURATION_S = 15
const READS_PER_S = 10
const isRoot = process.getuid?.() === 0

test('crawlers that ask for ten times what the wiki can do shut out no reader and no editor', {
  skip: isRoot ? false : 'needs root, to limit the CPU',
  timeout: 600_000
}, async (t) => {
  const limits = createLimits({ cpu_share: CPU_SHARE, memory_bytes: null }, () => {})
  if (limits.controllers.cpu === undefined) return t.skip(`the CPU cannot be limited here: ${limits.missing.cpu}`)
  const testbed = await createTestbed({ behindNginx: true, requestsAtOnceMax: AT_ONCE, cgroups: limits.directories })
  t.after(async () => {
    await testbed.remove()
    dropGroup(limits.directories)
  })
  await testbed.start()
  const client = createClient(testbed.url, AT_ONCE)
  t.after(() => client.close())
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

  setCpuShare(limits, CPU_SHARE)
  const start = performance.now()
  let asked = 0
  await Promise.all(Array.from({ length: 4 }, async () => {
    while (performance.now() < start + 1_000 * CLOSED_S) assert.equal((await old(asked++)).status, 200)
  }))
  const capacity = asked / (performance.now() - start) * 1_000

  const visit = async (/** @type {number} */ crawlsPerS) => {
    const k6Arguments = ['run', '--quiet', '--no-usage-report', '--log-format', 'raw', LOAD]
    const { stdout } = await promisify(execFile)(requireTool('k6').path, k6Arguments, {
      env: {
        PATH: process.env.PATH,
        URL: testbed.url,
        CRAWLS_PER_S: String(crawlsPerS),
        READS_PER_S: String(READS_PER_S),
        DURATION_S: String(DURATION_S),
        PAGES: String(PAGES),
        REVISIONS: String(REVISIONS)
      }
    })
    return JSON.parse(stdout)
  }
  const quiet = await visit(0)
  const crawled = await visit(Math.ceil(10 * capacity))
  const ms = (/** @type {any} */ { med_ms: median, p99_ms: p99, max_ms: max }) =>
    `${median.toFixed(0)} / ${p99.toFixed(0)} / ${max.toFixed(0)} ms`
  t.diagnostic(`capacity ${capacity.toFixed(0)} differences/s; page views (median, p99, maximum): ${ms(quiet)} alone, ` +
    `${ms(crawled)} beside ${(10 * capacity).toFixed(0)} crawled addresses/s: ${JSON.stringify(crawled)}`)
  assert.equal(quiet.people_failed, 0)
  assert.equal(crawled.people_failed, 0, 'every page view and every save is answered')
  assert.ok(crawled.people_served >= quiet.people_served / 2)
  assert.equal(crawled.crawls_other, 0, 'a crawler is served or refused')
  assert.ok(crawled.crawls_served > 0 && crawled.crawls_refused > crawled.crawls_served)
})
