import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { locateTool } from '../../loadgen/src/tools/locate.js'
import { cpuSeconds, residentMb } from '../bench/process.js'
import { summarise } from '../bench/profile.js'
import { loadWithWrk } from '../bench/wrk.js'

/**
 * @param {number} id
 * @param {string} functionName
 * @param {number[]} [children]
 * @param {string} [url]
 */
const node = (id, functionName, children = [], url = '') => ({ id, callFrame: { functionName, scriptId: '0', url, lineNumber: 9, columnNumber: 0 }, children })

test('a profile is summed up by function wherever it was called from, and waiting is no work', () => {
  const nodes = [node(1, '(root)', [2, 3, 5]), node(2, '(idle)'), node(3, 'view', [4], 'file:///wiki/src/view.js'), node(4, 'hash', [], 'node:crypto'), node(5, 'hash', [], 'node:crypto')]
  // Each sample stands for the time until the next one; the last for none.
  const { busyUs, totalUs, tree, self } = summarise({ nodes, startTime: 0, endTime: 1_000, samples: [3, 4, 2, 5, 3], timeDeltas: [50, 100, 200, 300, 400] }, '/wiki')
  assert.equal(totalUs, 1_000)
  assert.equal(busyUs, 700)
  assert.deepEqual(self, [{ name: 'hash node:crypto:10', self_us: 600 }, { name: 'view src/view.js:10', self_us: 100 }])
  assert.equal(tree.value, 700)
  assert.deepEqual(tree.children.map(({ name, value, children }) => [name, value, children.length]), [['view src/view.js:10', 300, 1], ['hash node:crypto:10', 400, 0]])
})

test('a profile without samples is an error, not an empty picture', () => {
  assert.throws(() => summarise({ nodes: [node(1, '(root)')], startTime: 0, endTime: 0 }, '/wiki'), /no samples/)
})

test('the time and the memory of a process are the kernel\'s', () => {
  const before = cpuSeconds(process.pid)
  const own = process.cpuUsage()
  const until = (own.user + own.system) / 1e6 + 0.05
  for (let used = 0; used < until;) { const { user, system } = process.cpuUsage(); used = (user + system) / 1e6 }
  assert.ok(cpuSeconds(process.pid) - before >= 0.03)
  const resident = residentMb(process.pid)
  assert.ok(Math.abs(resident - process.memoryUsage.rss() / 1e6) < resident / 4)
  assert.throws(() => cpuSeconds(2 ** 30))
})

test('wrk asks for all that it is given, each with its own headers, and takes no other answer for a good one', { skip: locateTool('wrk') === null && 'wrk is missing; `./stevec setup --with wrk` installs it' }, async (t) => {
  const directory = mkdtempSync(path.join(tmpdir(), 'stevec-wrk-'))
  /** @type {Map<string, number>} */
  const asked = new Map()
  let answers = 0
  /** More than are looked at before the load; a busy machine brings few more in its second. */
  const GOOD_ANSWERS = 10
  const server = createServer(({ url = '', headers }, response) => {
    const key = `${url} ${headers['if-none-match']}`
    asked.set(key, (asked.get(key) ?? 0) + 1)
    response.writeHead(url === '/gone' || (url === '/late' && ++answers > GOOD_ANSWERS) ? 500 : 304).end()
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
    rmSync(directory, { recursive: true })
  })
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address())
  const load = { directory, url: `http://127.0.0.1:${port}`, connections: 2, expected: 304, duration_s: 1, pid: process.pid }
  const known = (/** @type {string} */ name) => ({ path: `/${name}`, headers: { 'if-none-match': `"1-${name}"` } })

  const { requests, rate_per_s: rate, cpu_us: [cpuUs], generator_cpu_share: share } = await loadWithWrk({ ...load, requests: [known('a'), known('b')] })
  assert.deepEqual([...asked.keys()].sort(), ['/a "1-a"', '/b "1-b"'])
  const seen = [...asked.values()].reduce((sum, count) => sum + count, 0)
  // Two look whether the answers are what they should be, and each connection may have one that its time was too short for.
  assert.ok(seen - requests >= 2 && seen - requests <= 4, `${seen} for ${requests}`)
  assert.ok(rate > 0 && cpuUs > 0 && share > 0 && share < 2, `${rate} ${cpuUs} ${share}`)
  await assert.rejects(loadWithWrk({ ...load, expected: 200, requests: [known('a')] }), /304 instead of 200/)
  await assert.rejects(loadWithWrk({ ...load, requests: [known('a'), known('gone')] }), /500 instead of 304/)
  await assert.rejects(loadWithWrk({ ...load, requests: [known('late')] }), /wrk ended with 0 and said/)
})
