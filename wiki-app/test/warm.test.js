import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import test from 'node:test'
import { waitUntil } from '@stevec/harness/processes'
import { residentMb } from '../bench/process.js'
import { WIKI_ARGUMENTS, WIKI_ENVIRONMENT } from '../src/start.js'
import { useWiki } from './helper.js'

const wiki = useWiki()
const PATIENCE_MS = 120_000
/** Node 22 and later take 10 to 12 MB more for their program (RssFile in /proc/PID/status), and larger heaps. */
const NODE_MORE_MB = Number.parseInt(process.versions.node) > 20 ? 30 : 0
/** Of its program, of two connections and of their caches: 10 MB were measured. */
const SQLITE_MB = 15
/** Of i18next with its catalogue, and of what checks diagrams: 2 to 7 MB more were measured than without both. */
const TEXTS_MB = 10
const MEMORY_ALONE_MAX_MB = 120 + SQLITE_MB + NODE_MORE_MB + TEXTS_MB
const MEMORY_MAX_MB = 180 + SQLITE_MB + NODE_MORE_MB + TEXTS_MB
const PAGES = Array.from({ length: 50 }, (_, index) => index)
const CONTENT = 'A page of the length that is usual, with a [[Link]] here and *there*.\n\n'.repeat(140)
const skip = process.platform === 'linux' ? false : 'needs /proc'

/**
 * Counts the threads with lowered priority (proc(5), stat). A thread lowers it once it has loaded its modules.
 * @param {number} pid
 * @returns {number}
 */
const lowerThreads = (pid) => readdirSync(`/proc/${pid}/task`)
  .map((id) => readFileSync(`/proc/${pid}/task/${id}/stat`, 'latin1').split(') ')[1].split(' '))
  .filter((fields) => Number(fields[16]) > 0).length

test('a rendering thread is loaded before it is needed, and memory stays within its limits', { skip }, async (t) => {
  const settings = { PORT: '0', MONGODB_URI: wiki.freshUri(), WRITES_PER_MINUTE: '0', QUEUE_WAIT_MAX_MS: '20000' }
  const env = { PATH: process.env.PATH, ...WIKI_ENVIRONMENT, ...settings }
  const child = spawn(process.execPath, [...WIKI_ARGUMENTS], { env, stdio: ['ignore', 'pipe', 'inherit'] })
  t.after(() => child.kill('SIGKILL'))
  const [line] = await once(createInterface(child.stdout), 'line')
  const url = /http:\S+/.exec(line)?.[0]
  const pid = Number(child.pid)
  assert.equal((await fetch(`${url}/readyz`)).status, 200)
  const isWarm = await waitUntil(() => lowerThreads(pid) > 0, PATIENCE_MS)
  assert.ok(isWarm, 'a thread is ready before any request needs it')

  const alone = residentMb(pid)
  assert.ok(alone <= MEMORY_ALONE_MAX_MB, `${alone} MB`)

  const save = (/** @type {number} */ page, /** @type {string} */ body) =>
    fetch(`${url}/wiki/page-${page}`, { method: 'POST', headers: { 'content-type': 'text/markdown' }, body })
  for (const page of PAGES) assert.equal((await save(page, CONTENT)).status, 201)
  const again = await Promise.all(PAGES.map((page) => save(page, `${CONTENT}Again.`)))
  assert.deepEqual([...new Set(again.map(({ status }) => status))], [200])
  assert.equal((await fetch(`${url}/difference/page-1?from=1&to=2`)).status, 200)
  const resident = residentMb(pid)
  t.diagnostic(`${alone.toFixed(0)} MB, ${resident.toFixed(0)} MB with all threads`)
  assert.ok(resident <= MEMORY_MAX_MB, `${resident} MB`)
})
