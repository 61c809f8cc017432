import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, before, test } from 'node:test'
import { freePorts } from '@stevec/harness/ports'
import { stopProcess, waitUntil } from '@stevec/harness/processes'
import { replaceToxics, startToxiproxy } from '@stevec/harness/toxiproxy'
import { createClient } from '../torture/client.js'
import { createTestbed } from '../torture/testbed.js'
import { stored } from '../torture/torture.js'

const NOTICED_MAX_MS = 60_000
/** Longer than nginx waits for a wiki. */
const ANSWER_MAX_MS = 60_000
/** More than one wiki answers alone while the other one hangs and clients wait for it. */
const AT_ONCE = 20
const LINKS = ['database of 0', 'database of 1']

/** @type {import('../torture/testbed.js').Testbed} */
let testbed
/** @type {import('@stevec/harness/processes').ProcessIdentity} */
let toxiproxy
/** @type {string} */
let api
let pages = 0
const directory = mkdtempSync(path.join(tmpdir(), 'stevec-unready-'))

before(async () => {
  const [port, ...listen] = await freePorts(3)
  testbed = await createTestbed({
    wikis: 2,
    // Otherwise the driver connects to the members of the replica set directly, past the link.
    uriOf: (index) => `mongodb://127.0.0.1:${listen[index]}/wiki?directConnection=true`
  })
  api = await startToxiproxy({
    links: LINKS.map((name, index) => ({ name, listen: listen[index], upstream: new URL(testbed.uri).host })),
    port,
    logFile: path.join(directory, 'log'),
    outlive: false,
    onStart: (identity) => { toxiproxy = identity }
  })
  await testbed.start()
})
after(async () => {
  await testbed?.remove()
  if (toxiproxy) await stopProcess(toxiproxy)
  rmSync(directory, { recursive: true })
})

/** Silences the connections of these wikis to the database. @param {number[]} wikis */
const silence = (wikis) => replaceToxics(api, Object.fromEntries(wikis.map((wiki) => [
  LINKS[wiki],
  /** @type {any} */ ([{ name: 'silent', type: 'timeout', stream: 'downstream', attributes: { timeout: 0 } }])
])))

/**
 * Waits until nginx's error log has more lines with `part` than now.
 * @param {string} part
 * @param {number} [lines]  so many more
 * @returns {() => Promise<void>}  the wait
 */
function untilNoticed (part, lines = 1) {
  const count = () => testbed.nginxLog(part).length
  const wanted = count() + lines
  return async () => assert.ok(await waitUntil(() => count() >= wanted, NOTICED_MAX_MS), `nginx never logged "${part}"`)
}

/**
 * Sends half reads and half edits, each edit of a page of its own, at once.
 * @returns {Promise<number>[]} their statuses; 0: no answer
 */
const send = (count = AT_ONCE) => Array.from({ length: count }, (_, index) => {
  const signal = AbortSignal.timeout(ANSWER_MAX_MS)
  const [page, init] = index % 2 === 0
    ? ['readyz', {}]
    : [`wiki/page-${pages++}`, { method: 'POST', headers: { 'content-type': 'text/markdown' }, body: '# text' }]
  return fetch(`${testbed.url}/${page}`, { signal, ...init }).then(async (response) => {
    await response.text()
    return response.status
  }, () => 0)
})

/** @param {Promise<number>[]} requests @returns {Promise<number>} how many have no answer 2xx */
const failures = async (requests) =>
  (await Promise.all(requests)).filter((status) => status < 200 || status > 299).length

/** @param {number} wiki @returns {Promise<number>} edits that reached it */
const editsAt = async (wiki) => (await (await fetch(`${testbed.wikiUrl(wiki)}/api/v1/counter`)).json()).count.writes

/** @param {number} wiki @returns {Promise<boolean>} whether it gets edits, and no request fails */
async function gets (wiki) {
  const before = await editsAt(wiki)
  return await failures(send()) === 0 && await editsAt(wiki) > before
}

test('a wiki that hangs gets no further requests; the other one carries on; it comes back by itself', async (t) => {
  assert.ok(await gets(0) && await gets(1))
  const { pid } = /** @type {import('@stevec/harness/processes').ProcessIdentity} */ (testbed.wiki(0))
  const [unready, ready] = [untilNoticed('is not ready'), untilNoticed('is ready')]
  process.kill(pid, 'SIGSTOP')
  t.after(() => process.kill(pid, 'SIGCONT'))
  const first = send()
  let waiting = first.length
  for (const answer of first) answer.then(() => { waiting-- })
  await unready()
  const stuck = waiting
  let failed = 0
  for (let round = 0; round < 5; round++) failed += await failures(send())
  t.diagnostic(`${stuck} requests waited for the wiki that hangs; of the next ${5 * AT_ONCE}, ${failed} failed`)
  assert.ok(stuck > 0, 'some requests were at the wiki that hangs')
  assert.equal(failed, 0)

  process.kill(pid, 'SIGCONT')
  // nginx waits 30 s for a wiki; a slow machine may have needed as long until here.
  const timedOut = (await Promise.all(first)).filter((status) => status === 504).length
  assert.equal(await failures(first), timedOut)
  await ready()
  assert.ok(await gets(0) && await gets(1))
  const { revisions } = await stored(testbed.uri)
  assert.equal(new Set(revisions.map(({ page }) => page)).size, revisions.length, 'no edit was done twice')
  assert.ok(revisions.length >= pages - timedOut, 'each was done, but for those that nginx gave up')
})

test('a wiki that has lost its database gets no requests until it has it back', async (t) => {
  const [unready, ready] = [untilNoticed('is not ready'), untilNoticed('is ready')]
  await silence([1])
  t.after(() => silence([]))
  const early = send()
  await unready()
  const failed = await failures(early)
  t.diagnostic(`${failed} of ${early.length} requests failed before nginx noticed`)
  for (let round = 0; round < 5; round++) assert.equal(await failures(send()), 0)
  await silence([])
  await ready()
  assert.ok(await gets(0) && await gets(1))
})

test('if no wiki is ready, all get requests: each says itself what is wrong', async (t) => {
  const [unready, ready] = [untilNoticed('is not ready', 2), untilNoticed('is ready', 2)]
  await silence([0, 1])
  t.after(() => silence([]))
  await unready()
  const asked = await Promise.all([0, 1].map(() => fetch(`${testbed.url}/wiki/page-0`)))
  for (const response of asked) {
    assert.equal(response.status, 503)
    assert.match(await response.text(), /database/)
  }
  await silence([])
  await ready()
  assert.ok(await gets(0) && await gets(1))
  assert.deepEqual(testbed.nginxLog('[error]').filter((line) => line.includes('no live upstreams')), [])
})

test('no request fails while a wiki is replaced, though nginx keeps connections to it', async (t) => {
  const [unready, ready] = [untilNoticed('is not ready'), untilNoticed('is ready')]
  const client = createClient(testbed.url, 2 * AT_ONCE)
  t.after(() => client.close())
  /** @type {Record<string, number>} */
  const answers = {}
  const replaced = new AbortController()
  // nginx sends no POST twice. The wiki refuses these before it asks its database, so they are many.
  const senders = Array.from({ length: 2 * AT_ONCE }, async () => {
    while (!replaced.signal.aborted) {
      const answer = await client.ask('POST', '/wiki/x', { headers: { 'content-type': 'text/unknown' } })
        .then(({ status }) => status, ({ code }) => code)
      answers[answer] = (answers[answer] ?? 0) + 1
    }
  })
  assert.ok(await waitUntil(() => answers[415] > 10 * AT_ONCE, ANSWER_MAX_MS))
  // nginx may have started just now, and not have asked twice.
  for (let time = 0; time < 2; time++) await fetch(`${testbed.wikiUrl(0)}/readyz`)
  await testbed.stopWiki(0)
  await unready()
  await testbed.startWiki(0, '/readyz')
  await ready()
  replaced.abort()
  await Promise.all(senders)
  t.diagnostic(`${answers[415]} requests during one replacement`)
  assert.deepEqual(Object.keys(answers), ['415'])
})
