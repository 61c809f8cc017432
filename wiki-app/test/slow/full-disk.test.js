import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import test from 'node:test'
import { startMongod } from '@stevec/harness/mongod'
import { freePorts } from '@stevec/harness/ports'
import { isAlive, waitUntil } from '@stevec/harness/processes'
import { judge } from '../../torture/oracle.js'
import { stored } from '../../torture/torture.js'
import { buildApp } from '../../src/app.js'
import { readConfig } from '../../src/config.js'
import { createLog, get, save } from '../helper.js'

const DISK_MB = 400
const RECOVERY_MAX_MS = 60_000
const EDITS_MAX = 4_000

const isRoot = process.getuid?.() === 0

test('a full database disk gives 503 or 507 and damages no page; saves work again once there is space', {
  skip: isRoot ? false : 'needs root, to mount a small tmpfs',
  timeout: 400_000
}, async (t) => {
  const directory = mkdtempSync(path.join(tmpdir(), 'stevec-full-'))
  const mount = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${DISK_MB}m`, 'tmpfs', directory], { encoding: 'utf8' })
  if (mount.status !== 0) {
    rmSync(directory, { recursive: true })
    return t.skip(`no tmpfs can be mounted here: ${mount.stderr.trim()}`)
  }
  /** @type {import('@stevec/harness/processes').ProcessIdentity | undefined} */
  let process
  const [port] = await freePorts(1)
  const start = () => startMongod({ port, directory, onStart: (identity) => { process = identity } })
  let mongod = await start()
  t.after(async () => {
    await mongod.stop()
    // The kernel releases a dead process's files shortly after its end.
    assert.ok(await waitUntil(() => spawnSync('umount', [directory]).status === 0, 60_000), 'the tmpfs is unmounted')
    rmSync(directory, { recursive: true })
  })
  const uri = mongod.uriFor('wiki')
  const { lines, logTo } = createLog()
  const config = readConfig({ MONGODB_URI: uri, LOG_LEVEL: 'error', WRITES_PER_MINUTE: '0' })
  const app = await buildApp(config, {}, { logTo })
  t.after(() => app.close())
  assert.equal((await save(app, 'before', 'text')).statusCode, 201)

  // The ballast fills the disk up to 20 000 KiB, so that the database soon finds it full.
  const ballast = path.join(directory, 'ballast')
  const free = Number(
    spawnSync('df', ['--output=avail', '-k', directory], { encoding: 'utf8' }).stdout.trim().split('\n').pop()
  )
  writeFileSync(ballast, Buffer.alloc(Math.max(0, free - 20_000) * 1024))

  /** @type {Map<string, number>} */
  const acknowledged = new Map()
  let refused = null
  for (let index = 0; index < EDITS_MAX && refused === null; index++) {
    const answer = await save(app, `page ${index}`, `text ${index} ${randomBytes(10_000).toString('hex')}`)
    if (answer.statusCode === 201) acknowledged.set(`page ${index}`, index)
    // On a busy machine the rendering of a page may take too long (422).
    else if (answer.statusCode !== 422) refused = answer
  }
  assert.ok(refused, 'the disk was never full')
  t.diagnostic(
    `${acknowledged.size} pages until ${refused.statusCode}: ${refused.json().detail}; mongod ${process && isAlive(process) ? 'lives on' : 'ended itself'}`
  )
  const unexpected = lines.filter(({ msg }) => msg === 'unexpected error')
  assert.ok([503, 507].includes(refused.statusCode), `${refused.body} ${JSON.stringify(unexpected)}`)
  assert.equal((await get(app, '/healthz')).statusCode, 200)

  rmSync(ballast)
  // MongoDB ends itself rather than risk its data (WiredTiger cannot write its journal). Its operator starts it again.
  const works = async () => (await save(app, 'after', 'text')).statusCode < 300
  await waitUntil(async () => (process && !isAlive(process)) || works(), RECOVERY_MAX_MS)
  if (process && isAlive(process)) t.diagnostic('mongod was not started again')
  else mongod = await start()
  assert.ok(await waitUntil(works, RECOVERY_MAX_MS), 'saves work again')
  for (const [name, index] of acknowledged) {
    assert.match((await get(app, `/raw/${encodeURIComponent(name)}`)).body, new RegExp(`^text ${index} `), name)
  }
  const { gaps, torn_pages: pages, torn_counts: counts } = judge([], [], await stored(uri))
  assert.deepEqual({ gaps, pages, counts }, { gaps: 0, pages: 0, counts: 0 })
})
