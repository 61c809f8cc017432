import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { locateTool } from '@stevec/harness/tools/locate'
import { cpuSeconds, residentMb } from '../bench/process.js'
import { summarise } from '../bench/profile.js'
import { pairedRatio, ROUNDS_MAX } from '../bench/ratio.js'
import { openTree } from '../bench/tree.js'
import { compare } from '../bench/turns.js'
import { loadWithWrk } from '../bench/wrk.js'

/**
 * @param {number} id
 * @param {string} functionName
 * @param {number[]} [children]
 * @param {string} [url]
 */
const node = (id, functionName, children = [], url = '') =>
  ({ id, callFrame: { functionName, scriptId: '0', url, lineNumber: 9, columnNumber: 0 }, children })

test('a profile sums each function’s time over all its callers and leaves out idle time', () => {
  const nodes = [
    node(1, '(root)', [2, 3, 5]),
    node(2, '(idle)'),
    node(3, 'view', [4], 'file:///wiki/src/view.js'),
    node(4, 'hash', [], 'node:crypto'),
    node(5, 'hash', [], 'node:crypto')
  ]
  // Each sample counts for the time until the next one. The last one counts for none.
  const { busyUs, totalUs, tree, self } = summarise({
    nodes,
    startTime: 0,
    endTime: 1_000,
    samples: [3, 4, 2, 5, 3],
    timeDeltas: [50, 100, 200, 300, 400]
  }, '/wiki')
  assert.equal(totalUs, 1_000)
  assert.equal(busyUs, 700)
  assert.deepEqual(self, [{ name: 'hash node:crypto:10', self_us: 600 }, { name: 'view src/view.js:10', self_us: 100 }])
  assert.equal(tree.value, 700)
  assert.deepEqual(
    tree.children.map(({ name, value, children }) => [name, value, children.length]),
    [['view src/view.js:10', 300, 1], ['hash node:crypto:10', 400, 0]]
  )
})

test('a profile without samples is an error', () => {
  assert.throws(() => summarise({ nodes: [node(1, '(root)')], startTime: 0, endTime: 0 }, '/wiki'), /no samples/)
})

test('CPU time and resident memory of a process match what Node reports; a missing process is an error', () => {
  const before = cpuSeconds(process.pid)
  const own = process.cpuUsage()
  const until = (own.user + own.system) / 1e6 + 0.05
  for (let used = 0; used < until;) { const { user, system } = process.cpuUsage(); used = (user + system) / 1e6 }
  assert.ok(cpuSeconds(process.pid) - before >= 0.03)
  const resident = residentMb(process.pid)
  assert.ok(Math.abs(resident - process.memoryUsage.rss() / 1e6) < resident / 4)
  assert.throws(() => cpuSeconds(2 ** 30))
})

test('wrk sends every given request with its own headers, and an unexpected status is an error', {
  skip: locateTool('wrk') === null && 'wrk is missing; `./stevec setup --with wrk` installs it'
}, async (t) => {
  const directory = mkdtempSync(path.join(tmpdir(), 'stevec-wrk-'))
  /** @type {Map<string, number>} */
  const asked = new Map()
  let answers = 0
  /** More than the checks before the load need, but few: a busy machine sends few requests in one second. */
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
  const load = {
    directory,
    url: `http://127.0.0.1:${port}`,
    connections: 2,
    expected: 304,
    duration_s: 1,
    pid: process.pid
  }
  const known = (/** @type {string} */ name) => ({ path: `/${name}`, headers: { 'if-none-match': `"1-${name}"` } })

  const { requests, rate_per_s: rate, cpu_us: [cpuUs], generator_cpu_share: share } =
    await loadWithWrk({ ...load, requests: [known('a'), known('b')] })
  assert.deepEqual([...asked.keys()].sort(), ['/a "1-a"', '/b "1-b"'])
  const seen = [...asked.values()].reduce((sum, count) => sum + count, 0)
  // Two requests check the status before the load. Each of the two connections may have one request that did not
  // end in time.
  assert.ok(seen - requests >= 2 && seen - requests <= 4, `${seen} for ${requests}`)
  assert.ok(rate > 0 && cpuUs > 0 && share > 0 && share < 2, `${rate} ${cpuUs} ${share}`)
  await assert.rejects(loadWithWrk({ ...load, expected: 200, requests: [known('a')] }), /304 instead of 200/)
  await assert.rejects(loadWithWrk({ ...load, requests: [known('a'), known('gone')] }), /500 instead of 304/)
  await assert.rejects(loadWithWrk({ ...load, requests: [known('late')] }), /wrk ended with 0 and said/)
})

test('a paired ratio is the geometric mean of the rounds’ ratios, with its 95 % interval', () => {
  const same = pairedRatio([3, 30, 300], [2, 20, 200])
  for (const value of [same.ratio, same.low, same.high]) assert.ok(Math.abs(value - 1.5) < 1e-12)
  assert.equal(same.n, 3)

  // Logarithms 0.1, 0.2, 0.3: mean 0.2, standard error 0.1 ÷ √3, t with two degrees of freedom 4.303.
  const { ratio, low, high } = pairedRatio([0.1, 0.2, 0.3].map(Math.exp), [1, 1, 1])
  assert.ok(Math.abs(ratio - Math.exp(0.2)) < 1e-12)
  assert.ok(Math.abs(low - Math.exp(0.2 - 0.1 / Math.sqrt(3) * 4.303)) < 1e-12)
  assert.ok(Math.abs(high - Math.exp(0.2 + 0.1 / Math.sqrt(3) * 4.303)) < 1e-12)

  // What slows a whole round slows both variants, so the ratio does not change. Swapping the variants inverts it.
  const [ours, base] = [[1.1, 2.3, 0.9, 4.2], [1, 2.1, 0.8, 4]]
  const quiet = pairedRatio(ours, base)
  const busy = pairedRatio(
    ours.map((value, round) => value * 2 ** round),
    base.map((value, round) => value * 2 ** round)
  )
  assert.ok(Math.abs(busy.low - quiet.low) < 1e-12 && Math.abs(busy.high - quiet.high) < 1e-12)
  assert.ok(Math.abs(pairedRatio(base, ours).low - 1 / quiet.high) < 1e-12)
})

test('pairedRatio rejects too few, too many or unpaired rounds, and values that are not above 0', () => {
  const many = Array.from({ length: ROUNDS_MAX + 1 }, () => 1)
  for (const [ours, base] of [[[1], [1]], [[1, 2], [1]], [many, many]]) {
    assert.throws(() => pairedRatio(ours, base), /2 to 31 rounds/)
  }
  for (const bad of [0, -1, Number.NaN]) assert.throws(() => pairedRatio([1, bad], [1, 1]), /above 0/)
})

test('a comparison lists the ratio and both medians of each measurement', () => {
  const turns = {
    view_c16: { on: [51, 52, 53], off: [50, 51, 52] },
    save_c16: { on: [1_500, 1_600, 1_500], off: [1_500, 1_500, 1_600] }
  }
  const { text, ratios } = compare(turns, 'on', 'off')
  assert.deepEqual(ratios, { view_c16: 1.02, save_c16: 1 })
  assert.match(text, /^view_c16 +1\.020 \(1\.019 … 1\.021\) +3 +52 +51$/m)
  assert.match(text, /^save_c16 .* 3 +1500 +1500$/m)
})

test('openTree checks out a complete version with its own packages, and its removal leaves nothing', {
  timeout: 300_000
}, async (t) => {
  const root = fileURLToPath(new URL('../../', import.meta.url))
  const git = (/** @type {string[]} */ ...args) =>
    execFileSync('git', ['-C', root, ...args], { encoding: 'utf8' }).trim()
  if (git('rev-parse', '--is-shallow-repository') === 'true') return t.skip('a shallow clone has one version')
  const directory = path.join(mkdtempSync(path.join(tmpdir(), 'stevec-tree-')), 'tree')
  t.after(() => rmSync(path.dirname(directory), { recursive: true, force: true }))
  /** @type {(() => Promise<void>)[]} */
  const removals = []
  const { name, wikiArguments } = await openTree('HEAD', directory, (remove) => removals.push(remove))
  assert.equal(name, 'HEAD')
  assert.equal(wikiArguments[wikiArguments.length - 1], path.join(directory, 'wiki-app/src/server.js'))
  assert.equal(
    realpathSync(path.join(directory, 'node_modules/@stevec/cdn')),
    realpathSync(path.join(directory, 'cdn'))
  )
  // The tree is complete: its modules load with all their imports.
  const { readConfig } = await import(pathToFileURL(path.join(directory, 'wiki-app/src/config.js')).href)
  assert.equal(readConfig({}).PORT, 3000)
  assert.match(git('worktree', 'list'), new RegExp(directory))

  for (const remove of removals) await remove()
  assert.equal(existsSync(directory), false)
  assert.doesNotMatch(git('worktree', 'list'), new RegExp(directory))
  await assert.rejects(openTree('no-such-ref', directory, () => {}), /there is no commit "no-such-ref"/)
})
