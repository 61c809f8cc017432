import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import { userInfo } from 'node:os'
import { test } from 'node:test'
import { describeProcess, listenersOn, userName } from '../src/listeners.js'

const NOBODY = 65_534
const LISTENS = 'require("net").createServer().listen(0, "127.0.0.1", function () { console.log(this.address().port) })'

/** @param {import('node:net').Server} server */
async function listen (server, host = '127.0.0.1') {
  server.listen(0, host)
  await once(server, 'listening')
  return /** @type {import('node:net').AddressInfo} */ (server.address()).port
}

test('a server is found with its process and user, on loopback and on all addresses; a free port is not', async (t) => {
  for (const host of ['127.0.0.1', '0.0.0.0', '::']) {
    const server = createServer()
    const port = await listen(server, host)
    t.after(() => { server.close() })
    assert.deepEqual(listenersOn([port]), [{ port, uid: userInfo().uid, pid: process.pid }], host)
  }
  const server = createServer()
  const port = await listen(server)
  await new Promise((resolve) => server.close(resolve))
  assert.deepEqual(listenersOn([port]), [])
})

test('a connection to a port is no server on it', async (t) => {
  const server = createServer((socket) => socket.end())
  const port = await listen(server)
  const client = connect(port, '127.0.0.1')
  await once(client, 'connect')
  const own = Number(client.localPort)
  t.after(() => { client.destroy(); server.close() })
  assert.deepEqual(listenersOn([own]), [])
})

const skip = userInfo().uid !== 0 && 'only root can start one'
test('another user\'s server is found with its user', { skip }, async (t) => {
  const child = spawn(process.execPath, ['-e', LISTENS], {
    uid: NOBODY, gid: NOBODY, stdio: ['ignore', 'pipe', 'inherit']
  })
  t.after(() => { child.kill() })
  const [port] = await once(child.stdout.setEncoding('utf8'), 'data')
  assert.deepEqual(listenersOn([Number(port)]), [{ port: Number(port), uid: NOBODY, pid: child.pid }])
  assert.equal(userName(NOBODY), 'nobody')
})

test('a process is described by its user and command line; one that has ended is not', async () => {
  const { uid, name, arguments: words } = /** @type {any} */ (describeProcess(process.pid))
  assert.deepEqual([uid, name], [userInfo().uid, 'node'])
  assert.match(words, /listeners\.test\.js/)
  const child = spawn(process.execPath, ['-e', ''])
  await once(child, 'exit')
  assert.equal(describeProcess(Number(child.pid)), null)
  assert.equal(userName(4_000_000_000), 'number 4000000000')
})
