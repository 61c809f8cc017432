import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { chmodSync, existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import path from 'node:path'
import test from 'node:test'
import { fileURLToPath } from 'node:url'
import { ConfigError } from '../src/config.js'
import { isPassword } from '../src/access/password.js'
import { parseUsers, readUsers, sha256 } from '../src/access/users.js'
import { USERS, usersFile } from './people.js'

const COMMAND = fileURLToPath(new URL('../bin/user.js', import.meta.url))
const SERVER = fileURLToPath(new URL('../src/server.js', import.meta.url))

/**
 * @param {string[]} args
 * @param {string} [input]
 * @returns {Promise<{code: number, stdout: string, stderr: string}>}
 */
const run = (args, input = '') => new Promise((resolve) => {
  const child = execFile(process.execPath, [COMMAND, ...args], (error, stdout, stderr) =>
    resolve({ code: error ? Number(error.code) : 0, stdout, stderr }))
  child.stdin?.end(input)
})

/** @param {object} change */
const oneUser = (change) => ({ users: [{ ...USERS[0], ...change }] })
const HASH = USERS[0].password

for (const [what, content, reason] of /** @type {[string, unknown, RegExp][]} */ ([
  ['invalid JSON', '{"users": [{"password": "hunter2"', /it is not JSON/],
  ['an empty file', '', /it is not JSON/],
  ['a list', [], /it must be \{"users"/],
  ['null', null, /it must be \{"users"/],
  ['no users', { users: [] }, /at least one user/],
  ['an unknown top-level field', { users: USERS, admins: [] }, /it must be \{"users"/],
  ['a user that is not an object', { users: ['Ana'] }, /users\[0\] must have name/],
  ['an unknown field of a user', oneUser({ rle: 'admin' }), /users\[0\] must have name/],
  ['no name', oneUser({ name: undefined }), /users\[0\]\.name/],
  ['an empty name', oneUser({ name: '' }), /users\[0\]\.name/],
  ['a name with a line break', oneUser({ name: 'A\nB' }), /users\[0\]\.name/],
  ['a name with a right-to-left override', oneUser({ name: 'A\u202eB' }), /users\[0\]\.name/],
  ['a name with outer white space', oneUser({ name: ' A' }), /users\[0\]\.name/],
  ['a long name', oneUser({ name: 'A'.repeat(81) }), /users\[0\]\.name/],
  ['a role that does not exist', oneUser({ role: 'root' }), /users\[0\]\.role must be one of reader, editor, admin/],
  ['a clear-text password', oneUser({ password: 'hunter2' }), /users\[0\]\.password must be a scrypt hash/],
  ['a hash that is too weak', oneUser({ password: HASH.replace('ln=14', 'ln=10') }), /users\[0\]\.password/],
  [
    'a hash that is too expensive',
    oneUser({ password: HASH.replace('ln=14', 'ln=30') }),
    /users\[0\]\.password/
  ],
  ['a truncated hash', oneUser({ password: HASH.slice(0, -1) }), /users\[0\]\.password/],
  [
    'a duplicate name',
    { users: [USERS[0], { ...USERS[0], name: 'Reader', tokens: [] }] },
    /users\[1\]\.name is another user's/
  ],
  ['tokens that are not a list', oneUser({ tokens: {} }), /users\[0\]\.tokens/],
  ['a clear-text token', oneUser({ tokens: [{ label: 'x', sha256: 'stevec_hunter2' }] }), /users\[0\]\.tokens/],
  [
    'a token that two users share',
    { users: [USERS[0], { ...USERS[1], tokens: USERS[0].tokens }] },
    /a token of users\[1\] is there twice/
  ],
  [
    'too many tokens',
    oneUser({ tokens: Array.from({ length: 21 }, (_, index) => ({ label: 'x', sha256: sha256(String(index)) })) }),
    /at most 20/
  ],
  ['too many bytes', ' '.repeat(4_194_305), /more than 4194304 bytes/]
])) {
  test(`a users’ file with ${what} is refused with one line that shows no secret`, (t) => {
    const file = usersFile(t, content)
    assert.throws(() => readUsers(file), (error) => {
      assert.ok(error instanceof ConfigError)
      assert.ok(error.message.startsWith(`the users' file ${JSON.stringify(file)} cannot be used: `), error.message)
      assert.match(error.message, reason)
      assert.doesNotMatch(error.message, /\n|hunter2|\$scrypt/)
      return true
    })
  })
}

test('a users’ file that is missing, a directory or accessible to all local users is refused', (t) => {
  const file = usersFile(t)
  assert.throws(() => readUsers(`${file}.none`), /ENOENT/)
  assert.throws(() => readUsers(path.dirname(file)), ConfigError)
  for (const mode of [0o644, 0o604, 0o602, 0o666]) {
    chmodSync(file, mode)
    assert.throws(
      () => readUsers(file),
      /everybody on this machine may read or change it; take that away with chmod/,
      mode.toString(8)
    )
  }
  for (const mode of [0o600, 0o640, 0o660, 0o400]) {
    chmodSync(file, mode)
    assert.equal(readUsers(file).find('ADMIN')?.role, 'admin')
  }
})

test('an unusable users’ file ends the start with exit code 1 and one line', async () => {
  const child = spawn(process.execPath, [SERVER], {
    env: { PATH: process.env.PATH, ACCESS: 'users', USERS_FILE: '/nowhere/users.json' },
    stdio: ['ignore', 'ignore', 'pipe']
  })
  let stderr = ''
  child.stderr.setEncoding('utf8').on('data', (text) => { stderr += text })
  const code = await new Promise((resolve) => child.once('close', resolve))
  assert.equal(code, 1)
  assert.match(stderr, /^wiki: the users' file "\/nowhere\/users\.json" cannot be used: ENOENT[^\n]*\n$/)
})

test('the command creates and changes users, and shows a token only once', async (t) => {
  const file = path.join(path.dirname(usersFile(t)), 'new.json')
  assert.deepEqual(
    await run(['set', file, 'Žan Č', '--role', 'admin'], 'correct horse\n'),
    { code: 0, stdout: 'made Žan Č\n', stderr: '' }
  )
  assert.equal(statSync(file).mode & 0o777, 0o600)
  assert.ok(await isPassword('correct horse', parseUsers(file)[0].password))
  assert.equal(await isPassword('correct horse\n', parseUsers(file)[0].password), false)

  const { stdout: token } = await run(['token', file, 'žan č', '--label', 'import'])
  assert.match(token, /^stevec_[\w-]{43}\n$/)
  assert.ok(!readFileSync(file, 'utf8').includes(token.trim()))
  assert.equal(readUsers(file).byToken(token.trim())?.name, 'Žan Č')
  assert.equal((await run(['token', file, 'Žan Č', '--label', 'import'])).code, 2)

  chmodSync(file, 0o640)
  assert.equal((await run(['set', file, 'Žan Č'], 'another horse')).stdout, 'changed Žan Č\n')
  assert.equal(statSync(file).mode & 0o777, 0o640)
  assert.deepEqual(
    [parseUsers(file)[0].role, parseUsers(file)[0].tokens?.length],
    ['admin', 1],
    'fields without an option stay the same'
  )
  assert.equal((await run(['role', file, 'Žan Č', '--role', 'editor'])).code, 0)
  assert.equal((await run(['list', file])).stdout, 'Žan Č\teditor\timport\n')
  assert.equal((await run(['revoke', file, 'Žan Č', '--label', 'import'])).code, 0)
  assert.equal(readUsers(file).byToken(token.trim()), null)
  assert.deepEqual(readdirSync(path.dirname(file)).sort(), ['new.json', 'users.json'], 'no temporary file is left')
})

test('invalid arguments end the command with exit code 2, an invalid file with 1, and nothing changes', async (t) => {
  const file = usersFile(t)
  const before = readFileSync(file, 'utf8')
  for (const args of [
    [],
    ['make'],
    ['set'],
    ['set', file],
    ['set', file, ''],
    ['set', file, 'A\nB'],
    ['set', file, 'a', 'b'],
    ['set', file, 'new', '--password', 'x'],
    ['set', file, 'new', '--role', 'root'],
    ['set', file, 'new'],
    ['role', file, 'reader'],
    ['role', file, 'nobody', '--role', 'admin'],
    ['token', file, 'reader'],
    ['revoke', file, 'reader', '--label', 'none'],
    ['remove', file, 'nobody'],
    ['constructor', file, 'reader']
  ]) {
    assert.equal((await run(args, 'short\n')).code, 2, args.join(' '))
  }
  assert.equal(readFileSync(file, 'utf8'), before)
  const help = await run(['--help'])
  assert.equal(help.code, 0)
  assert.match(help.stdout, /Examples:\n[^]* {2}node wiki-app\/bin\/user\.js set/)
  const broken = usersFile(t, '{')
  assert.equal((await run(['list', broken])).code, 1)
  assert.equal((await run(['set', broken, 'a'], 'correct horse')).code, 1)
  assert.equal(readFileSync(broken, 'utf8'), '{')
  assert.equal(existsSync(`${file}.none`), false)
})
