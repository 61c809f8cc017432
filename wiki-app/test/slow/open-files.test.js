import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { after, before, test } from 'node:test'
import { childPids } from '@stevec/harness/proc'
import { request } from '@stevec/harness/request'
import { isAlive, waitUntil } from '@stevec/harness/processes'
import { createTestbed } from '../../torture/testbed.js'
import { stored } from '../../torture/torture.js'

const AT_ONCE = 60
/** An odd number: in nginx a request needs two, and the last client has one only. */
const FREE = 5
const ENOUGH = 10_000
const BACK_MAX_MS = 60_000
const ANSWER_MAX_MS = 60_000

/** @type {import('../../torture/testbed.js').Testbed} */
let testbed
let pages = 0
/** Pages whose edit was acknowledged. @type {string[]} */
const acknowledged = []

before(async () => {
  // Without a queue: 60 edits at once are too many for a busy machine.
  testbed = await createTestbed({ behindNginx: true, settings: { QUEUE_WAIT_MAX_MS: '0' } })
  await testbed.start()
})
after(() => testbed?.remove())

/** @param {number} pid @param {number} soft  RLIMIT_NOFILE, see prlimit(1) */
const limit = (pid, soft) => execFileSync('prlimit', ['--pid', String(pid), `--nofile=${soft}:`])

/** @param {number} pid */
const openFiles = (pid) => readdirSync(`/proc/${pid}/fd`).length

/** @param {string} url @returns {Promise<number>} the status of an edit of a new page; 0: no answer */
async function edit (url) {
  const page = `page-${pages++}`
  // Each on a connection of its own, which ends with it.
  const status = await request(`${url}/wiki/${page}`, {
    method: 'POST',
    headers: { 'content-type': 'text/markdown' },
    body: '# text',
    timeoutMs: ANSWER_MAX_MS
  }).then((response) => response.status, () => 0)
  if (status === 201) acknowledged.push(page)
  return status
}

/** @param {string} url @returns {Promise<Record<string, number>>} how many edits had each status */
async function editAtOnce (url) {
  const statuses = await Promise.all(Array.from({ length: AT_ONCE }, () => edit(url)))
  /** @type {Record<string, number>} */
  const counts = {}
  for (const status of statuses) counts[status] = (counts[status] ?? 0) + 1
  return counts
}

const allSucceed = async () => (await editAtOnce(testbed.url))[201] === AT_ONCE

/** Each acknowledged edit is there, and no edit twice. */
async function nothingLost () {
  const { revisions } = await stored(testbed.uri)
  const names = revisions.map(({ page }) => page)
  assert.equal(new Set(names).size, names.length, 'no edit was done twice')
  assert.deepEqual(acknowledged.filter((page) => !names.includes(page)), [])
}

for (const { name, find, door } of [
  // First, as later it has connections to the wiki open, and needs no new ones.
  { name: 'nginx', find: () => testbed.nginx(), door: () => testbed.url },
  { name: 'the wiki', find: () => testbed.wiki(), door: () => testbed.wikiUrl(0) }
]) {
  test(`${name} without free file descriptors refuses some requests, loses no edit, and recovers`, async (t) => {
    const process = /** @type {import('@stevec/harness/processes').ProcessIdentity} */ (find())
    const pid = name === 'nginx' ? childPids(process.pid)[0] : process.pid
    limit(pid, openFiles(pid) + FREE)
    const counts = await editAtOnce(door())
    t.diagnostic(`${AT_ONCE} edits at once, ${FREE} descriptors free: ${JSON.stringify(counts)}`)
    const answered = counts[201] ?? 0
    assert.ok(answered > 0 && answered < AT_ONCE, JSON.stringify(counts))
    assert.ok(isAlive(process), 'it did not end')
    assert.deepEqual(testbed.mistakes(), [])

    limit(pid, ENOUGH)
    assert.ok(await waitUntil(allSucceed, BACK_MAX_MS, 500), 'it never went on')
    await nothingLost()
  })
}
