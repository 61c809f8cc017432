import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cpuSeconds, residentMb } from '../bench/process.js'
import { summarise } from '../bench/profile.js'

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
