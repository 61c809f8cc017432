import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { userInfo } from 'node:os'
import { after, before, describe, test } from 'node:test'
import { request } from '@stevec/harness/request'
import { createSandbox } from './helper.js'
import { listeningAddresses } from './listening.js'

describe('the stack', () => {
  /** @type {Awaited<ReturnType<typeof createSandbox>>} */
  let sandbox
  /** @type {Record<string, import('../src/stack/doors.js').Door & {healthy: boolean}>} */
  let doors
  before(async () => {
    sandbox = await createSandbox()
    const up = await sandbox.stevec(['up', '--policy', 'ttl'])
    assert.equal(up.exitCode, 0, up.stderr)
    doors = JSON.parse((await sandbox.stevec(['status', '--json'])).stdout).doors
    await request(`${doors.source.url}/wiki/Hello`, {
      method: 'POST',
      headers: { 'content-type': 'text/markdown' },
      body: '# Hello'
    })
  })
  after(async () => {
    await sandbox.stevec(['down'])
    sandbox.remove()
  })

  const counter = async () => JSON.parse((await request(`${doors.cached.url}/wiki/stevec`)).body).requests
  const read = async (/** @type {string} */ door) => {
    const { status, headers } = await request(`${doors[door].url}/wiki/Hello`)
    return [status, headers['cf-cache-status'] ?? headers['x-cache-status']]
  }

  test('has all four doors open, on the requested ports', () => {
    assert.deepEqual(
      Object.fromEntries(Object.entries(doors).map(([name, { url, healthy }]) => [name, [url, healthy]])),
      {
        cached: [`http://wiki.localhost:${sandbox.ports.edge}`, true],
        nocache: [`http://nocache.localhost:${sandbox.ports.edge}`, true],
        source: [`http://source.localhost:${sandbox.ports.origin}`, true],
        local: [`http://localhost:${sandbox.ports.local}`, true]
      }
    )
  })

  test('serves repeated reads from a cache only at the doors with one, and the counter agrees', async () => {
    for (const [door, first, second, reached] of /** @type {const} */ ([
      ['cached', 'MISS', 'HIT', 1],
      ['local', 'MISS', 'HIT', 1],
      ['nocache', 'BYPASS', 'BYPASS', 2],
      ['source', undefined, undefined, 2]
    ])) {
      await counter()
      assert.deepEqual([await read(door), await read(door)], [[200, first], [200, second]], door)
      assert.equal(await counter(), reached, door)
    }
  })

  test('serves the same page through every door', async () => {
    const answers = await Promise.all(Object.values(doors).map(({ url }) => request(`${url}/wiki/Hello`)))
    assert.equal(new Set(answers.map(({ headers, body }) => `${headers.etag} ${body}`)).size, 1)
    assert.match(String(answers[0].headers.etag), /^"[^"]+"$/)
  })

  test('listens on loopback only', async () => {
    const { stdout } = await sandbox.stevec(['status', '--json'])
    assert.deepEqual(
      JSON.parse(stdout).stacks[0].processes.map((/** @type {{name: string}} */ { name }) => name),
      ['mongod', 'wiki', 'nginx origin', 'nginx edge', 'nginx local']
    )
    const { stdout: words } = await sandbox.stevec(['status'])
    assert.match(words, /^ {2}processes: mongod, wiki, nginx origin, nginx edge, nginx local$/m)
    for (const { address } of listeningAddresses(sandbox.processes().map(({ pid }) => pid))) {
      assert.equal(address, '127.0.0.1')
    }
  })

  test('is not started twice: a second `up` prints its doors', async () => {
    const { exitCode, stdout } = await sandbox.stevec(['up'])
    assert.equal(exitCode, 0)
    assert.match(stdout, /already up since/)
    assert.match(stdout, new RegExp(`http://wiki\\.localhost:${sandbox.ports.edge}/`))
  })

  test('is seen by `status` of another folder, which says whose it is and what to do', async () => {
    const other = await createSandbox()
    const ports = Object.fromEntries(Object.entries(sandbox.ports).map(([name, port]) =>
      [`${name.toUpperCase()}_PORT`, String(port)]))
    const { exitCode, stdout } = await other.stevec(['status'], ports)
    assert.equal(exitCode, 1)
    const { username } = userInfo()
    assert.match(stdout, /^nothing runs here\nports that `stevec up` would use are taken:$/m)
    assert.match(stdout, new RegExp(`^ {2}edge {4}${sandbox.ports.edge} {2}nginx, process \\d+ of ${username}$`, 'm'))
    assert.match(stdout, new RegExp(`^ {2}mongod {2}${sandbox.ports.mongod} {2}mongod, process \\d+ of ${username}$`,
      'm'))
    const state = `${sandbox.directory}/state`
    assert.ok(stdout.includes(`with its state in ${state}; to stop it: STEVEC_STATE=${state} stevec down\n`), stdout)
    assert.match(stdout, new RegExp(`^to start a wiki beside that: stevec up --edge-port ${sandbox.ports.edge + 1000} `,
      'm'))
    const { running, strangers } = JSON.parse((await other.stevec(['status', '--json'], ports)).stdout)
    assert.equal(running, false)
    assert.deepEqual(strangers.map((/** @type {{name: string}} */ { name }) => name),
      ['edge', 'origin', 'local', 'wiki', 'mongod'])
    other.remove()
  })

  test('keeps its pages over `down` and `up`, also with another database port', async () => {
    assert.equal((await sandbox.stevec(['down'])).exitCode, 0)
    assert.deepEqual(sandbox.processes(), [])
    const other = await createSandbox()
    other.remove()
    const up = await sandbox.stevec(['up'], { MONGOD_PORT: String(other.ports.mongod) })
    assert.equal(up.exitCode, 0, up.stderr)
    assert.deepEqual(await read('source'), [200, undefined])
  })
})

describe('a stack that cannot start', () => {
  test('names the port that is taken and how to choose another, and leaves no process', async () => {
    const sandbox = await createSandbox()
    const squatter = createServer().listen(sandbox.ports.edge, '127.0.0.1')
    await new Promise((resolve) => squatter.once('listening', resolve))
    try {
      const { exitCode, stderr } = await sandbox.stevec(['up'])
      assert.equal(exitCode, 3)
      assert.equal(
        stderr,
        `stevec up: port ${sandbox.ports.edge} (edge) is already taken by node, process ` +
          `${process.pid} of ${userInfo().username}; free it, or choose another with EDGE_PORT=… or --edge-port\n`
      )
      assert.deepEqual(sandbox.processes(), [])
    } finally {
      squatter.close()
      sandbox.remove()
    }
  })

  test('shows the wiki\'s error for a bad setting, and leaves no process', async () => {
    const sandbox = await createSandbox()
    try {
      const { exitCode, stderr } = await sandbox.stevec(['up'], { CACHE_TTL_S: 'soon' })
      assert.equal(exitCode, 3)
      assert.match(stderr, /CACHE_TTL_S/)
      assert.deepEqual(sandbox.processes(), [])
    } finally {
      sandbox.remove()
    }
  })

  test('is refused with the same port for two processes', async () => {
    const sandbox = await createSandbox()
    const { exitCode, stderr } = await sandbox.stevec(['up', '--edge-port', String(sandbox.ports.origin)])
    assert.equal(exitCode, 2)
    assert.match(stderr, /is given twice/)
    sandbox.remove()
  })

  test('is not running for `status`, and `down` succeeds', async () => {
    const sandbox = await createSandbox()
    const status = await sandbox.stevec(['status'])
    assert.equal(status.exitCode, 1)
    assert.match(status.stdout, /nothing runs/)
    assert.equal((await sandbox.stevec(['down'])).exitCode, 0)
    sandbox.remove()
  })
})
