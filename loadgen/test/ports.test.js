import assert from 'node:assert/strict'
import { createServer } from 'node:net'
import { test } from 'node:test'
import { freePorts, isFree } from '../src/stack/ports.js'

test('free ports are different, can be bound, and are none of those that are spoken for', async () => {
  const spokenFor = Array.from({ length: 5_000 }, (_, index) => 20_000 + index)
  const ports = await freePorts(20, spokenFor)
  assert.equal(new Set(ports).size, 20)
  for (const port of ports) assert.ok(port >= 25_000 && await isFree(port))
})

test('a port that somebody listens on is not free', async () => {
  const [port] = await freePorts(1)
  const server = createServer().listen(port, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  assert.equal(await isFree(port), false)
  await new Promise((resolve) => server.close(resolve))
  assert.equal(await isFree(port), true)
})
