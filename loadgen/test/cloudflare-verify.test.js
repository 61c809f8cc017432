import assert from 'node:assert/strict'
import path from 'node:path'
import { after, before, test } from 'node:test'
import { createEdge } from '@stevec/cdn/edge'
import { ask } from '@stevec/cdn/cloudflare/door'
import { verifyDoors } from '@stevec/cdn/cloudflare/verify'
import { createCloudflareTarget } from '../src/cloudflare/target.js'
import { requireVerified } from '../src/cloudflare/verified.js'
import { createSandbox } from './helper.js'
import { startDoors } from './doors.js'

/** @type {Awaited<ReturnType<typeof startDoors>>} */
let stack
/** @type {ReturnType<typeof createEdge>} */
let purge
before(async () => {
  stack = await startDoors({ CACHE_TTL_S: '3', WRITES_PER_MINUTE: '0' })
  purge = createEdge(stack.control)
})
after(() => stack?.stop())

/** @param {import('@stevec/cdn/cloudflare/verify').Check[]} checks */
const outcomes = (checks) => Object.fromEntries(checks.map(({ id, outcome }) => [id, outcome]))
const GOOD = {
  source: 'ok',
  hit: 'ok',
  nocache: 'ok',
  personal: 'ok',
  browser_ttl: 'ok',
  etag: 'ok',
  counter: 'ok',
  age_limit: 'ok',
  purge_url: 'ok',
  purge_tag: 'skipped',
  purge_prefix: 'ok',
  purge_host: 'ok',
  purge_everything: 'skipped'
}

test('doors that behave as the experiments assume pass, and each check reports what it saw', async () => {
  const checks = await verifyDoors({ doors: stack.doors, purge })
  assert.deepEqual(outcomes(checks), GOOD, JSON.stringify(checks, null, 1))
  const saw = Object.fromEntries(checks.map(({ id, saw }) => [id, saw]))
  assert.match(saw.source, /^200, no header of Cloudflare; wrote \/wiki\/stevec-verify \(201\)$/)
  assert.equal(saw.hit, '200 MISS, then 200 HIT, Age 0, by LJU')
  assert.match(saw.counter, /^4 HITs of 5, the counter says 1/)
  assert.match(saw.age_limit, /^lifetime 3 s; the oldest HIT was [0-4] s old, then (EXPIRED|MISS|REVALIDATED)$/)
  assert.match(saw.purge_host, /^the first answer that was no HIT began \d+ ms after the purge was answered$/)
  assert.ok(checks.every(({ outcome, todo }) => (outcome === 'ok') === (todo === '')))
})

test('swapped doors and a failing purge fail with advice; an ineffective purge takes over 1 s', async () => {
  const { cached, nocache, source } = stack.doors
  const silent = {
    ...purge,
    purgeUrls: async () => {},
    purgeHosts: async () => {},
    purgePrefixes: async () => { throw new Error('not allowed') }
  }
  for (const [doors, failed] of /** @type {[any, string[]][]} */ ([
    [{ cached: nocache, nocache, source }, ['hit', 'counter', 'purge_url', 'purge_prefix', 'purge_host']],
    [{ cached, nocache: cached, source }, ['nocache']],
    [{ cached, nocache: source, source }, ['nocache']],
    [{ cached: source, nocache, source }, ['hit', 'personal', 'counter', 'purge_url', 'purge_prefix', 'purge_host']],
    [{ cached, nocache, source: nocache }, ['source']],
    [{ cached, nocache, source: 'http://127.0.0.1:9' }, ['source']]
  ])) {
    const checks = await verifyDoors({ doors, purge, ageWaitMaxS: 0 })
    assert.deepEqual(
      checks.filter(({ outcome }) => outcome === 'failed').map(({ id }) => id),
      failed,
      JSON.stringify(checks, null, 1)
    )
    assert.ok(checks.every(({ outcome, todo }) => outcome !== 'failed' || todo.length > 10))
  }
  // Without a purge, a copy stays until it expires after three seconds: much longer than a purge takes.
  const checks = await verifyDoors({ doors: stack.doors, purge: silent, ageWaitMaxS: 0 })
  assert.equal(outcomes(checks).purge_prefix, 'failed')
  assert.ok(Number(/(\d+) ms/.exec(checks.find(({ id }) => id === 'purge_url')?.saw ?? '')?.[1]) > 1_000)
})

test('stevec cloudflare verify prints and stores the outcome and exits with 1 on failure; ' +
  '`purge` also works with the emulated edge', async (t) => {
  const sandbox = await createSandbox()
  t.after(sandbox.remove)
  const environment = { CLOUDFLARE_API_TOKEN: stack.control.token, CLOUDFLARE_API_TOKEN_FILE: '' }
  const { cached, nocache, source } = stack.doors
  const verify = (/** @type {Record<string, string>} */ doors, /** @type {string[]} */ ...more) =>
    sandbox.stevec([
      'cloudflare', 'verify',
      '--zone', 'example.com',
      '--api-url', stack.control.url,
      '--doors', Object.entries(doors).map(([name, url]) => `${name}=${url}`).join(),
      ...more
    ], environment)
  const good = await verify({ cached, nocache, source }, '--everything')
  assert.equal(good.exitCode, 0, good.stdout + good.stderr)
  assert.match(
    good.stdout,
    /^ok {6}source: the door source leads to the origin, past the CDN\n {8}saw: 200, no header of Cloudflare/
  )
  assert.match(good.stdout, /ok {6}purge_everything: .*\n.*\nexample\.com: ready for experiments\n$/)
  assert.equal(requireVerified(path.join(sandbox.directory, 'state'), 'example.com').doors.cached, cached)

  const bad = await verify({ cached, nocache: source, source }, '--json')
  assert.equal(bad.exitCode, 1)
  assert.equal(JSON.parse(bad.stdout).ok, false)
  assert.throws(
    () => requireVerified(path.join(sandbox.directory, 'state'), 'example.com'),
    /failed its verification \(nocache\)/
  )

  const page = `${cached}/wiki/stevec-verify?purged`
  await ask(page)
  const purged = await sandbox.stevec(
    ['cloudflare', 'purge', '--zone', 'any', '--api-url', stack.control.url, page],
    environment
  )
  assert.equal(purged.exitCode, 0, purged.stderr)
  assert.equal((await ask(page)).cacheStatus, 'MISS')
})

test('the Cloudflare target proves caches cold by a purge, and names the point of presence', async () => {
  const target = createCloudflareTarget({ doors: stack.doors, purge })
  const page = '/wiki/cold-proof-of-the-target'
  await ask(stack.doors.source + page, { method: 'POST', headers: { 'content-type': 'text/markdown' }, body: 'text' })
  const proof = await target.purgeAndProveCold('cached', page)
  assert.deepEqual(
    { ...proof, purge_ms: 0 },
    { cold: true, observed: ['MISS', 'HIT', 'MISS'], origin_requests: 2, purge_ms: 0, pop: 'LJU' }
  )
  assert.deepEqual(await target.readCounter(), { requests: 0, reads: 0, writes: 0 })
  for (const [door, statuses] of /** @type {const} */ ([['nocache', ['BYPASS', 'BYPASS']], ['source', ['', '']]])) {
    const { cold, observed, origin_requests: requests } = await target.purgeAndProveCold(door, page)
    assert.deepEqual({ cold, observed, requests }, { cold: true, observed: statuses, requests: 2 })
  }
  const idle = createCloudflareTarget({ doors: stack.doors, purge: { ...purge, purgeHosts: async () => {} } })
  await ask(stack.doors.source + page, { method: 'POST', headers: { 'content-type': 'text/markdown' }, body: 'text' })
  const expired = await idle.purgeAndProveCold('cached', page)
  assert.equal(expired.cold, false, `nothing was purged: ${expired.observed}`)
  assert.deepEqual(
    Object.entries(target.doors()).map(([name, { caching }]) => [name, caching]),
    [['cached', true], ['nocache', false], ['source', false]]
  )
})
