import assert from 'node:assert/strict'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { test } from 'node:test'
import { INTERNAL_PORTS } from '../src/stack/layout.js'
import { readState } from '../src/stack/state.js'
import { startDoors } from './doors.js'

/** @param {number} port */
async function isReserved (port) {
  const socket = createSocket('udp4')
  try {
    socket.bind({ port, address: '127.0.0.1', exclusive: true })
    await once(socket, 'listening')
    return false
  } catch {
    return true
  } finally {
    socket.close()
  }
}

test('a stack reserves its ports until it is stopped', async (t) => {
  const { directory, stop } = await startDoors({})
  t.after(stop)
  const ports = readState(directory)?.reserved_ports ?? []
  assert.equal(ports.length, INTERNAL_PORTS.length)
  for (const port of ports) assert.equal(await isReserved(port), true)
  await stop()
  for (const port of ports) assert.equal(await isReserved(port), false)
})
