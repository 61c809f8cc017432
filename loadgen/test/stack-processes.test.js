import assert from 'node:assert/strict'
import { test } from 'node:test'
import { stackProcesses } from '../src/stack/stack-processes.js'

/** @param {string} name */
const partOf = (name) => stackProcesses({ processes: [{ name, pid: 1, start_ticks: 1 }] })[0].part

test('each process of a stack plays a part, and one of an unknown name is an error', () => {
  assert.deepEqual(
    [
      'mongod', 'wiki', 'nginx origin', 'nginx edge', 'nginx local', 'cache nginx', 'cache squid', 'toxiproxy'
    ].map(partOf),
    ['database', 'wiki', 'origin', 'edge', 'edge', 'edge', 'edge', 'links']
  )
  const ofRedis = ['redis', 'redis master', 'redis replica', 'sentinel 1', 'sentinel 3']
  assert.deepEqual([...new Set(ofRedis.map(partOf))], ['database'])
  assert.throws(() => partOf('memcached'), /the process "memcached" of the stack plays no known part/)
})
