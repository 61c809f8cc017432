import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readdirSync, readlinkSync } from 'node:fs'
import { createServer } from 'node:net'
import { test } from 'node:test'
import { freePorts, isFree, releasePorts } from '../src/ports.js'

test('freePorts returns distinct ports that can be bound and are not in the list of exceptions', async () => {
  const spokenFor = Array.from({ length: 5_000 }, (_, index) => 20_000 + index)
  const ports = await freePorts(20, spokenFor)
  assert.equal(new Set(ports).size, 20)
  for (const port of ports) assert.ok(port >= 25_000 && await isFree(port))
})

test('a port with a listener is not free', async () => {
  const [port] = await freePorts(1)
  const server = createServer().listen(port, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  assert.equal(await isFree(port), false)
  await new Promise((resolve) => server.close(resolve))
  assert.equal(await isFree(port), true)
})

test('a port that freePorts has returned is reserved while this process lives, even without a listener', async () => {
  const [given] = await freePorts(1)
  const another = `
    import { freePorts, isFree } from ${JSON.stringify(new URL('../src/ports.js', import.meta.url).href)}
    Math.random = () => (${given} + 0.5 - 20_000) / 10_000
    const refusal = await freePorts(1).catch(({ message }) => message)
    console.log(JSON.stringify({ free: await isFree(${given}), refusal }))`
  const said = execFileSync(process.execPath, ['--input-type=module', '-'], { input: another, encoding: 'utf8' })
  assert.deepEqual(JSON.parse(said), { free: true, refusal: 'fewer than 1 free ports between 20000 and 29999' })
})

const openSockets = () => readdirSync('/proc/self/fd').filter((fd) => {
  try {
    return readlinkSync(`/proc/self/fd/${fd}`).startsWith('socket:')
  } catch {
    return false
  }
}).length

/** @type {(t: import('node:test').TestContext, port: number) => void} */
const alwaysDraw = (t, port) => { t.mock.method(Math, 'random', () => (port + 0.5 - 20_000) / 10_000) }

test('a released port is given again, and its socket is closed', async (t) => {
  const before = openSockets()
  const ports = await freePorts(50)
  assert.equal(openSockets(), before + 50)
  await releasePorts([...ports, 1])
  assert.equal(openSockets(), before)
  alwaysDraw(t, ports[0])
  assert.deepEqual(await freePorts(1), [ports[0]])
  await releasePorts(ports)
})

test('an attempt that finds no port, or too few, leaves no socket open', async (t) => {
  const [given] = await freePorts(1)
  const before = openSockets()
  alwaysDraw(t, given)
  await assert.rejects(freePorts(1), /fewer than 1 free ports/)
  assert.equal(openSockets(), before)
  await releasePorts([given])
  await assert.rejects(freePorts(2), /fewer than 2 free ports/)
  assert.equal(openSockets(), before - 1)
})
