import assert from 'node:assert/strict'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import test from 'node:test'
import { prepareCard, provideKey, qemuArguments } from '@stevec/arm-image/board'
import { seenFromGuest } from '@stevec/arm-image/emulator'
import { createSandbox } from './helper.js'

/** @param {import('node:test').TestContext} t */
async function sandbox (t) {
  const place = await createSandbox()
  t.after(() => rmSync(place.directory, { recursive: true, force: true }))
  return { ...place, env: { STEVEC_IMAGE: path.join(place.directory, 'images') } }
}

test('without an image, `board up` fails with the command that builds one, and leaves no process', async (t) => {
  const place = await sandbox(t)
  const { exitCode, stderr } = await place.stevec(['board', 'up'], place.env)
  assert.equal(exitCode, 3)
  assert.match(stderr, /there is no image that machine virt boots; run: sudo make image\n/)
  const other = await place.stevec(['board', 'up', '--machine', 'bpim2u'], place.env)
  assert.match(other.stderr, /sudo make image BOARD=bpi-m2-ultra\n/)
  assert.deepEqual(place.processes(), [])
})

test('while no board is up, `board ssh` and `console` fail, `down` exits with 0, and `status` says so', async (t) => {
  const place = await sandbox(t)
  for (const verb of ['ssh', 'console']) {
    const { exitCode, stderr } = await place.stevec(['board', verb], place.env)
    assert.equal(exitCode, 3)
    assert.match(stderr, /no board is up; run `stevec board up`/)
  }
  assert.deepEqual(await place.stevec(['board', 'down'], place.env), {
    exitCode: 0,
    stdout: 'no board was running\n',
    stderr: ''
  })
  assert.equal((await place.stevec(['board', 'status'], place.env)).stdout, 'no board is up\n')
})

test('a wrong action, option or argument of `stevec board` is refused with the reason', async (t) => {
  const place = await sandbox(t)
  for (const [args, expected] of /** @type {[string[], RegExp][]} */ ([
    [[], /the action is missing or unknown; use one of up, down, status, ssh, console/],
    [['explode'], /use one of up, down/],
    [['up', '--machine', 'pdp11'], /--machine is virt or bpim2u, not "pdp11"/],
    [['up', '--port', '0'], /--port must be a port/],
    [['down', 'now'], /unexpected argument "now"/]
  ])) {
    const { exitCode, stderr } = await place.stevec(['board', ...args], place.env)
    assert.notEqual(exitCode, 0)
    assert.match(stderr, expected)
  }
})

test('in the guest\'s MongoDB URI, a loopback host becomes 10.0.2.2, and any other host stays', () => {
  assert.equal(
    seenFromGuest('mongodb://127.0.0.1:27027/stevec?replicaSet=stevec'),
    'mongodb://10.0.2.2:27027/stevec?directConnection=true'
  )
  assert.equal(
    seenFromGuest('mongodb://me:p%40ss@localhost:1/x'),
    'mongodb://me:p%40ss@10.0.2.2:1/x?directConnection=true'
  )
  assert.equal(seenFromGuest('mongodb://db.example:27017/x?replicaSet=a'), 'mongodb://db.example:27017/x?replicaSet=a')
})

test('prepareCard fails if debugfs cannot write the settings to the card', async (t) => {
  const { directory } = await createSandbox()
  t.after(() => rmSync(directory, { recursive: true, force: true }))
  const image = path.join(directory, 'image')
  const { publicKey, privateKey } = provideKey(path.join(directory, 'key'))
  assert.equal(provideKey(path.join(directory, 'key')).publicKey, publicKey, 'an existing key is reused')
  assert.match(readFileSync(privateKey, 'utf8'), /BEGIN OPENSSH PRIVATE KEY/)
  writeFileSync(image, Buffer.alloc(5 * 1024 ** 2))
  assert.throws(
    () => prepareCard({
      image,
      card: path.join(directory, 'card'),
      mongodbUri: 'mongodb://h/x',
      publicKey,
      work: directory
    }),
    /debugfs could not write \/etc\/stevec\/wiki\.env/
  )
  assert.ok(!existsSync(path.join(directory, 'wiki.env')), 'the file with the database address is deleted')
})

test('QEMU forwards ports of 127.0.0.1 only, and a socket path that is too long is refused', () => {
  const options = /** @type {const} */ ({
    machine: 'virt',
    directory: '/i',
    card: '/c',
    consoleSocket: '/s',
    consoleLog: '/l',
    httpPort: 1,
    sshPort: 2
  })
  for (const machine of /** @type {const} */ (['virt', 'bpim2u'])) {
    const forwarded = qemuArguments({ ...options, machine }).filter((argument) => argument.includes('hostfwd'))
    assert.equal(forwarded.length, 1)
    assert.deepEqual(forwarded[0].match(/hostfwd=[^,]*/g), [
      'hostfwd=tcp:127.0.0.1:1-:80', 'hostfwd=tcp:127.0.0.1:2-:22'
    ])
  }
  assert.throws(
    () => qemuArguments({ ...options, consoleSocket: `/${'x'.repeat(120)}` }),
    /too long a path for a socket/
  )
})
