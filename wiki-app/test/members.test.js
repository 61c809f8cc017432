import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import test from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { MongoClient } from 'mongodb'
import { newMember } from '../src/people/new-member.js'
import { BROWSER, createLog, get, save, useWiki } from './helper.js'
import { linkIn, quickly, startMailbox, subscribe } from './mailbox.js'
import { bearer, cookieOf, peopleOnly, post, USERS } from './people.js'

/** @typedef {import('fastify').FastifyInstance} FastifyInstance */
/** @typedef {import('node:test').TestContext} TestContext */

const COMMAND = fileURLToPath(new URL('../bin/user.js', import.meta.url))
const PASSWORD = 'a new password'
const wiki = useWiki()

/** @param {FastifyInstance} app @param {string} url @param {object} [payload] @param {Record<string, string>} [as] */
const send = (app, url, payload = {}, as = bearer('admin')) =>
  app.inject({ method: 'POST', url: `/edit/${url}`, headers: { accept: 'application/json', ...as }, payload })

/** Invites somebody, and follows the link. @param {FastifyInstance} app @param {string} name @param {string} [role] */
async function join (app, name, role = 'editor') {
  const invited = await send(app, 'people', { name, role })
  assert.equal(invited.statusCode, 201, invited.body)
  const link = new URL(invited.json().url, 'http://wiki').pathname
  const chosen = await post(app, link, { password: PASSWORD, again: PASSWORD })
  assert.equal(chosen.statusCode, 303, chosen.body)
  return link
}

/** @param {FastifyInstance} app @param {string} name @param {string} [password] */
const signIn = (app, name, password = PASSWORD) => post(app, '/edit/sign-in', { name, password })

/** @param {FastifyInstance} app @param {string} name @returns {Promise<Record<string, string>>} */
async function sessionOf (app, name) {
  const { statusCode, headers, body } = await signIn(app, name)
  assert.equal(statusCode, 303, body)
  return { cookie: String(headers['set-cookie']).split(';', 1)[0] }
}

/** @param {FastifyInstance} app @param {Record<string, string>} as */
const tokenOf = async (app, as) => {
  // Made by the session: a token makes no other one.
  const made = await send(app, 'account/tokens', { label: 'a program' }, as)
  assert.equal(made.statusCode, 201, made.body)
  return { authorization: `Bearer ${made.json().token}` }
}

test('an invited person chooses a password, signs in, writes, and gets a token, without a restart', async (t) => {
  const app = await wiki.build(t, peopleOnly(t))
  const link = await join(app, 'Ana Novak')

  const session = await sessionOf(app, 'ana novak')
  const saved = await post(app, '/edit/text/Bees', { content: 'They fly.', tags: '', base_revision: '0' }, session)
  assert.equal(saved.statusCode, 303, saved.body)
  const token = await tokenOf(app, session)
  await save(app, 'Bees', 'They hum.', token)
  const { items } = (await get(app, '/api/v1/pages/Bees/revisions')).json()
  assert.deepEqual(items.map((/** @type {any} */ { author }) => author), ['Ana Novak', 'Ana Novak'])

  for (const again of [await get(app, link), await post(app, link, { password: PASSWORD, again: PASSWORD })]) {
    assert.equal(again.statusCode, 404, 'the link works once')
    assert.match(again.body, /This link was used/)
  }
})

test('the wiki runs without a users’ file: the command makes the first administrator', async (t) => {
  const uri = wiki.freshUri()
  const app = await wiki.build(t, { ACCESS: 'users', MONGODB_URI: uri, PUBLIC_URL: 'https://wiki.example' })
  const invite = async (/** @type {string[]} */ ...args) => promisify(execFile)(
    process.execPath, [COMMAND, 'invite', ...args],
    { env: { ...process.env, ACCESS: 'users', MONGODB_URI: uri, PUBLIC_URL: 'https://wiki.example' } }
  )
  const { stdout } = await invite('Ana', '--role', 'admin')
  assert.match(stdout, /^https:\/\/wiki\.example\/invitations\/[\w-]{43}\n$/)
  const link = new URL(stdout.trim()).pathname
  assert.equal((await post(app, link, { password: PASSWORD, again: PASSWORD })).statusCode, 303)
  const { headers } = await signIn(app, 'Ana')
  const cookie = String(headers['set-cookie']).split(';', 1)[0]
  const people = await get(app, '/edit/people', { cookie })
  assert.deepEqual(people.json().people.map((/** @type {any} */ { name, role }) => [name, role]), [['Ana', 'admin']])

  // The only administrator is blocked by accident, in the database: the command brings her back.
  await withDatabase(uri, (db) =>
    db.collection('members').updateOne({ name: 'Ana' }, { $set: { blocked_at: new Date() } }))
  assert.equal((await signIn(app, 'Ana')).statusCode, 403)
  const { stdout: second } = await invite('Ana')
  const again = new URL(second.trim()).pathname
  assert.equal((await post(app, again, { password: PASSWORD, again: PASSWORD })).statusCode, 303)
  assert.equal((await signIn(app, 'Ana')).statusCode, 303)

  const file = { USERS_FILE: peopleOnly(t).USERS_FILE }
  for (const [settings, reason] of /** @type {[Record<string, string>, RegExp][]} */ ([
    [{ ACCESS: 'open' }, /only a wiki with ACCESS=users/],
    [{ ACCESS: 'users', ...file }, /in the list of people already/]
  ])) {
    const refused = await promisify(execFile)(process.execPath, [COMMAND, 'invite', 'Editor'], {
      env: { ...process.env, MONGODB_URI: uri, ...settings }
    }).then(() => assert.fail('it was invited'), ({ stderr }) => stderr)
    assert.match(refused, reason)
  }
})

test('a blocked person’s session, token, password and link stop at once, until unblocking', async (t) => {
  const app = await wiki.build(t, peopleOnly(t))
  await join(app, 'Ana')
  const session = await sessionOf(app, 'Ana')
  const token = await tokenOf(app, session)
  const link = new URL((await send(app, 'people/link', { name: 'Ana' })).json().url, 'http://wiki').pathname

  assert.equal((await send(app, 'people/block', { name: 'ANA' })).statusCode, 200)
  assert.equal((await get(app, '/edit/account', session)).statusCode, 401)
  assert.equal((await send(app, 'account/tokens', { label: 'x' }, token)).statusCode, 401)
  assert.equal((await get(app, link)).statusCode, 404)
  const refused = await signIn(app, 'Ana')
  assert.equal(refused.statusCode, 403)
  assert.match(refused.body, /“Ana” is blocked/)
  assert.equal((await signIn(app, 'Ana', 'a wrong password')).statusCode, 401, 'a guess learns nothing')

  const noLink = await send(app, 'people/link', { name: 'Ana' })
  assert.equal(noLink.statusCode, 409)
  assert.equal(noLink.json().detail, '“Ana” is blocked. Unblock first: a link would not work.')

  assert.equal((await send(app, 'people/unblock', { name: 'Ana' })).statusCode, 200)
  assert.equal((await get(app, '/edit/account', token)).statusCode, 200)
  assert.equal((await get(app, '/edit/account', session)).statusCode, 401, 'the session has ended')
  assert.equal((await post(app, link, { password: PASSWORD, again: PASSWORD })).statusCode, 404)
  assert.equal((await signIn(app, 'Ana')).statusCode, 303)
})

test('another role counts from the next request on', async (t) => {
  const app = await wiki.build(t, peopleOnly(t))
  await join(app, 'Ana', 'reader')
  const session = await sessionOf(app, 'Ana')
  const write = (/** @type {string} */ name) =>
    post(app, `/edit/text/${name}`, { content: 'x', tags: '', base_revision: '0' }, session)
  assert.equal((await write('a')).statusCode, 403)
  assert.equal((await send(app, 'people/role', { name: 'Ana', role: 'editor' })).json().role, 'editor')
  assert.equal((await write('b')).statusCode, 303)
  assert.equal((await get(app, '/edit/people', session)).statusCode, 403)
  await send(app, 'people/role', { name: 'Ana', role: 'admin' })
  assert.equal((await get(app, '/edit/people', session)).statusCode, 200)
})

test('a removed person leaves the history and nothing else, so that a namesake gets nothing of hers', async (t) => {
  const uri = wiki.freshUri()
  const app = await wiki.build(t, { ...peopleOnly(t), MONGODB_URI: uri })
  await join(app, 'Ana')
  const session = await sessionOf(app, 'Ana')
  const token = await tokenOf(app, session)
  await save(app, 'Bees', 'They fly.', token)
  await app.inject({ method: 'PUT', url: '/api/v1/watching/pages/Bees', headers: token })
  const admin = await cookieOf(app, 'admin')
  await post(app, '/edit/protection', { name: 'Flowers', review: 'true' }, admin)
  assert.equal((await save(app, 'Flowers', 'They smell.', token)).statusCode, 202, 'proposed')
  const unsure = await post(app, '/edit/people/remove', { name: 'Ana' }, admin)
  assert.equal(unsure.statusCode, 400, 'one press of a button in a form is not enough')
  assert.match(unsure.body, /Nothing was changed/)
  assert.equal((await post(app, '/edit/people/remove', { name: 'Ana', sure: 'yes' }, admin)).statusCode, 303)

  assert.equal((await get(app, '/edit/account', session)).statusCode, 401)
  const left = await withDatabase(uri, async (db) => {
    const found = []
    for (const { name } of await db.listCollections({}, { nameOnly: true }).toArray()) {
      const texts = await db.collection(name).find().map((each) => JSON.stringify(each)).toArray()
      if (texts.some((text) => /\bana\b/i.test(text))) found.push(name)
    }
    return found.sort()
  })
  assert.deepEqual(left, ['audit', 'revisions'])
  await join(app, 'Ana')
  const namesake = await tokenOf(app, await sessionOf(app, 'Ana'))
  assert.deepEqual((await get(app, '/api/v1/watching', namesake)).json().pages, [])
})

test('a new password needs the present one and ends all sessions; tokens stay', async (t) => {
  const app = await wiki.build(t, peopleOnly(t))
  await join(app, 'Ana')
  const [here, elsewhere] = [await sessionOf(app, 'Ana'), await sessionOf(app, 'Ana')]
  const token = await tokenOf(app, here)
  const change = (/** @type {object} */ fields) =>
    send(app, 'account/password', { present: PASSWORD, password: 'another one', again: 'another one', ...fields }, here)
  for (const [fields, status, reason] of /** @type {const} */ ([
    [{ present: 'a wrong one' }, 400, /Your present password is another one/],
    [{ password: 'too short', again: 'too short' }, 400, /at least 10 characters/],
    [{ again: 'another two' }, 400, /not the same/]
  ])) {
    const refused = await change(fields)
    assert.equal(refused.statusCode, status, refused.body)
    assert.match(refused.json().detail, reason)
  }
  assert.equal((await get(app, '/edit/account', here)).statusCode, 200)
  assert.equal((await change({})).statusCode, 200)
  for (const session of [here, elsewhere]) assert.equal((await get(app, '/edit/account', session)).statusCode, 401)
  assert.equal((await get(app, '/edit/account', token)).statusCode, 200)
  assert.equal((await signIn(app, 'Ana')).statusCode, 401)
  assert.equal((await signIn(app, 'Ana', 'another one')).statusCode, 303)
})

test('an administrator who is removed, blocked or no administrator any more leaves no link that works', async (t) => {
  const app = await wiki.build(t, peopleOnly(t))
  await join(app, 'Vic')
  const ends = /** @type {[string, object][]} */ ([['remove', {}], ['block', {}], ['role', { role: 'editor' }]])
  for (const [verb, fields] of ends) {
    await join(app, verb, 'admin')
    const token = await tokenOf(app, await sessionOf(app, verb))
    const { url } = (await send(app, 'people/link', { name: 'Vic' }, token)).json()
    assert.equal((await get(app, url)).statusCode, 200)
    assert.ok((await send(app, `people/${verb}`, { name: verb, ...fields })).statusCode < 300)
    assert.equal((await post(app, url, { password: 'taken over', again: 'taken over' })).statusCode, 404, verb)
  }
})

test('a link works for three days, once, also at once, and not beside a password that was changed later', async (t) => {
  const uri = wiki.freshUri()
  const app = await wiki.build(t, { ...peopleOnly(t), MONGODB_URI: uri })
  await join(app, 'Ana')
  const linkFor = async () => (await send(app, 'people/link', { name: 'Ana' })).json().url
  const used = await linkFor()
  const both = await Promise.all(['password 1', 'password 2'].map((password) =>
    post(app, used, { password, again: password })))
  assert.deepEqual(both.map(({ statusCode }) => statusCode).sort(), [303, 404])
  const chosen = `password ${both.findIndex(({ statusCode }) => statusCode === 303) + 1}`
  const session = { cookie: String((await signIn(app, 'Ana', chosen)).headers['set-cookie']).split(';', 1)[0] }

  const open = await linkFor()
  const changed = { present: chosen, password: PASSWORD, again: PASSWORD }
  assert.equal((await send(app, 'account/password', changed, session)).statusCode, 200)
  assert.equal((await get(app, open)).statusCode, 404, 'a new password ends the link')

  const late = await linkFor()
  await withDatabase(uri, (db) => db.collection('members').updateOne(
    { name: 'Ana' }, { $set: { 'link.expires_at': new Date(Date.now() - 1) } }
  ))
  assert.equal((await post(app, late, { password: 'too late now', again: 'too late now' })).statusCode, 404)
  assert.equal((await signIn(app, 'Ana')).statusCode, 303)
})

test('a password that came by a link meanwhile is not changed by the old one', async (t) => {
  const app = await wiki.build(t, peopleOnly(t))
  await join(app, 'Ana')
  const session = await sessionOf(app, 'Ana')
  const { url } = (await send(app, 'people/link', { name: 'Ana' })).json()
  const [thief, owner] = await Promise.all([
    send(app, 'account/password', { present: PASSWORD, password: 'of the thief', again: 'of the thief' }, session),
    post(app, url, { password: 'of the owner', again: 'of the owner' })
  ])
  // The thief may be first. Then the link has ended, and the owner sees it.
  assert.ok([thief, owner].some(({ statusCode }) => statusCode >= 400))
  assert.equal((await signIn(app, 'Ana', owner.statusCode === 303 ? 'of the owner' : 'of the thief')).statusCode, 303)
})

test('a name in the users’ file hides the person of that name: nothing changes until it is removed', async (t) => {
  const uri = wiki.freshUri()
  const before = await wiki.build(t, { ...peopleOnly(t, { users: [USERS[2]] }), MONGODB_URI: uri })
  await join(before, 'editor')
  const hidden = await tokenOf(before, await sessionOf(before, 'editor'))
  const app = await wiki.build(t, { ...peopleOnly(t), MONGODB_URI: uri })
  assert.equal((await get(app, '/edit/account', hidden)).statusCode, 401)
  const cookie = await cookieOf(app, 'editor')
  const own = { accept: 'application/json', ...cookie }
  assert.deepEqual((await get(app, '/edit/account', own)).json(), { name: 'editor', tokens: null })
  for (const [url, payload] of /** @type {[string, object][]} */ ([
    ['account/tokens', { label: 'x' }],
    ['account/tokens/remove', { label: 'a program' }],
    ['account/password', { present: 'correct horse', password: 'a new password', again: 'a new password' }]
  ])) {
    const refused = await send(app, url, payload, cookie)
    assert.equal(refused.statusCode, 409, url)
    assert.match(refused.json().detail, /kept in a file/)
  }
  const seen = await get(app, '/edit/people', { ...BROWSER, ...await cookieOf(app, 'admin') })
  assert.match(seen.body, /hidden by a name in the users’ file/)
  assert.equal((await send(app, 'people/remove', { name: 'editor' })).statusCode, 204)
  assert.deepEqual((await get(app, '/edit/people', bearer('admin'))).json().people, [])
})

test('a form with passwords is not shown again when the session has ended', async (t) => {
  const app = await wiki.build(t, peopleOnly(t))
  const { statusCode, body } = await post(app, '/edit/account/password', {
    present: 'a secret one', password: 'a secret two', again: 'a secret two'
  })
  assert.equal(statusCode, 401)
  assert.doesNotMatch(body, /a secret/)
})

test('two administrators who end each other’s role at once leave one', async (t) => {
  const app = await wiki.build(t, { ...peopleOnly(t) })
  for (let round = 0; round < 3; round++) {
    const names = [`Ana ${round}`, `Bor ${round}`]
    /** @type {Record<string, string>[]} */
    const tokens = []
    for (const name of names) {
      await join(app, name, 'admin')
      tokens.push(await tokenOf(app, await sessionOf(app, name)))
    }
    const answers = await Promise.all([0, 1].map((each) =>
      send(app, 'people/role', { name: names[1 - each], role: 'reader' }, tokens[each])))
    const statuses = answers.map(({ statusCode }) => statusCode)
    assert.deepEqual(statuses.sort(), [200, 403], answers.map(({ body }) => body).join())
  }
})

test('nobody changes oneself or those of the file, and one name has one person', async (t) => {
  const app = await wiki.build(t, peopleOnly(t))
  await join(app, 'Ana', 'admin')
  const token = await tokenOf(app, await sessionOf(app, 'Ana'))
  for (const name of ['Ivan', 'aha', 'Ivan\u010d', '\u0421\u043b\u0430\u0432\u0430']) {
    assert.equal((await send(app, 'people', { name, role: 'reader' }, token)).statusCode, 201, name)
  }
  for (const [url, payload, status, reason] of /** @type {const} */ ([
    ['people/remove', { name: 'ana' }, 409, /cannot change your own role/],
    ['people/link', { name: 'ana' }, 409, /cannot change your own role/],
    ['account/tokens', { label: 'another' }, 403, /A token cannot change its owner’s account/],
    ['people', { name: 'Ana  Novak', role: 'editor' }, 400, /single blanks/],
    ['people', { name: '\uff21na', role: 'editor' }, 400, /ordinary letters/],
    ['people', { name: 'The Server', role: 'editor' }, 409, /in the list of people already/],
    ['people/block', { name: 'Ana' }, 409, /cannot change your own role/],
    ['people/role', { name: 'Ana', role: 'reader' }, 409, /cannot change your own role/],
    ['people/role', { name: 'Admin', role: 'reader' }, 409, /kept in the users’ file/],
    ['people', { name: 'EDITOR', role: 'admin' }, 409, /in the list of people already/],
    ['people', { name: 'ANA', role: 'editor' }, 409, /in the list of people already/],
    ['people', { name: 'Ana\u202e', role: 'editor' }, 400, /without blanks around it or invisible ones/],
    ['people', { name: 'Bor', role: 'root' }, 400, /role/],
    ['people', { name: 'edit\u043er', role: 'admin' }, 400, /a word with letters of several scripts/],
    ['people', { name: '\u0410na', role: 'admin' }, 400, /a word with letters of several scripts/],
    ['people', { name: '\u0410\u041d\u0410', role: 'admin' }, 409, /looks like “aha”, a name that is here already/],
    ['people', { name: 'tuj\u0456', role: 'admin' }, 400, /several scripts/],
    ['people', { name: 'lvan', role: 'admin' }, 409, /looks like “Ivan”/],
    ['people/remove', { name: 'nobody' }, 404, /Nobody of that name/],
    ['people/link', { name: { $gt: '' } }, 400, /name/]
  ])) {
    const refused = await send(app, url, payload, token)
    assert.equal(refused.statusCode, status, `${url}: ${refused.body}`)
    assert.match(refused.json().detail, reason)
  }
  const both = await Promise.all([1, 2].map(() => send(app, 'people', { name: 'Cene', role: 'editor' })))
  assert.deepEqual(both.map(({ statusCode }) => statusCode).sort(), [201, 409])
})

test('each change is in the audit log with its actor; no page, log or answer shows a hash or a secret', async (t) => {
  const { lines, logTo } = createLog()
  const app = await wiki.build(t, { ...peopleOnly(t), LOG_LEVEL: 'info' }, {}, { logTo })
  const link = await join(app, '<b>Ana</b>')
  assert.match(JSON.stringify(lines), /\/invitations\/-/)
  assert.ok(!JSON.stringify(lines).includes(link.slice(-20)))
  await send(app, 'people/role', { name: '<b>Ana</b>', role: 'admin' })
  await send(app, 'people/block', { name: '<B>aNA</b>' })
  await send(app, 'people/unblock', { name: '<b>Ana</b>' })
  await send(app, 'people/link', { name: '<b>Ana</b>' })
  await send(app, 'people/block', { name: 'nobody' })
  const acts = (await get(app, '/edit/audit', bearer('admin'))).json().acts
  assert.deepEqual(acts.map((/** @type {any} */ { did }) => did), ['linked', 'unblocked', 'blocked', 'role', 'invited'])
  assert.ok(acts.every((/** @type {any} */ { actor, to }) => actor === 'admin' && to === '<b>Ana</b>'))
  await send(app, 'people/remove', { name: '<b>Ana</b>' })
  await join(app, '<i>Bor</i>')
  const cookie = await cookieOf(app, 'admin')
  for (const url of ['/edit/people', '/edit/people/person?name=%3Ci%3EBor%3C%2Fi%3E', '/edit/audit', '/edit/account']) {
    for (const headers of /** @type {Record<string, string>[]} */ ([{ ...BROWSER, ...cookie }, bearer('admin')])) {
      const { statusCode, body, headers: answered } = await get(app, url, headers)
      assert.equal(statusCode, 200, url)
      assert.doesNotMatch(body, /scrypt|sha256/, url)
      if (headers.accept) assert.doesNotMatch(body, /<[bi]>(?:Ana|Bor)/, url)
      assert.equal(answered['cache-control'], 'private, no-store', url)
    }
  }
})

test('a person’s twenty-first token, and one with the label of another, are refused', async (t) => {
  const app = await wiki.build(t, peopleOnly(t))
  await join(app, 'Ana')
  const session = await sessionOf(app, 'Ana')
  for (let number = 0; number < 20; number++) {
    assert.equal((await send(app, 'account/tokens', { label: `program ${number}` }, session)).statusCode, 201)
  }
  for (const [label, reason] of /** @type {const} */ ([['program 0', /already/], ['one more', /20 tokens/]])) {
    const refused = await send(app, 'account/tokens', { label }, session)
    assert.equal(refused.statusCode, 409)
    assert.match(refused.json().detail, reason)
  }
  assert.equal((await send(app, 'account/tokens/remove', { label: 'Program 0' }, session)).statusCode, 404)
  assert.equal((await send(app, 'account/tokens/remove', { label: 'program 0' }, session)).statusCode, 204)
  assert.equal((await send(app, 'account/tokens', { label: 'one more' }, session)).statusCode, 201)
})

test('the list of people goes on after a hundred', async (t) => {
  const uri = wiki.freshUri()
  const app = await wiki.build(t, { ...peopleOnly(t), MONGODB_URI: uri })
  const names = Array.from({ length: 120 }, (_, number) => `Person ${String(number).padStart(3, '0')}`)
  await withDatabase(uri, (db) => db.collection('members')
    .insertMany(names.map((name) => /** @type {any} */ (newMember(name, 'reader')))))
  const seen = []
  for (let url = '/edit/people'; ;) {
    const { people, next } = (await get(app, url, bearer('admin'))).json()
    seen.push(...people.map((/** @type {any} */ { name }) => name))
    if (next === null) break
    url = `/edit/people?${new URLSearchParams({ after: next })}`
  }
  assert.deepEqual(seen, names)
})

/** @template T @param {string} uri @param {(db: import('mongodb').Db) => Promise<T>} work */
async function withDatabase (uri, work) {
  const client = new MongoClient(uri)
  try {
    return await work(client.db())
  } finally {
    await client.close()
  }
}

const FORGOTTEN = '/edit/sign-in/forgotten'

/** @param {import('mailparser').ParsedMail} mail @returns {string} the path of a link for a password */
const passwordLinkIn = ({ text = '' }) => /\/invitations\/[\w-]{43}/.exec(text)?.[0] ?? ''

test('a forgotten password: the same answer to everybody, and a link by mail to a confirmed address', async (t) => {
  const mailbox = await startMailbox(t)
  const uri = wiki.freshUri()
  const { lines, logTo } = createLog()
  const logged = () => JSON.stringify(lines)
  const app = await wiki.build(
    t, { ...peopleOnly(t), ...mailbox.settings, MONGODB_URI: uri }, {}, { logTo, ...quickly() })
  assert.match((await get(app, '/edit/sign-in', BROWSER)).body, /href="\/edit\/sign-in\/forgotten"/)
  await join(app, 'Ana')
  await join(app, 'Bor')
  const session = await sessionOf(app, 'Ana')

  // The address takes the present password, and the button behind the link in a mail.
  const give = (/** @type {string} */ present) =>
    post(app, '/edit/account/mail', { address: 'Ana@mail.example', present }, session)
  const wrong = await give('not hers at all')
  assert.equal(wrong.statusCode, 400)
  assert.match(wrong.body, /Your present password is another one[^]*value="Ana@mail\.example"/)
  assert.equal((await send(app, 'account/mail', { address: 'x@mail.example', present: PASSWORD }, await tokenOf(app,
    session))).statusCode, 403, 'a stolen token gets no password')
  assert.equal((await give(PASSWORD)).statusCode, 303)
  const [asked] = await mailbox.until(1)
  const confirmation = await get(app, linkIn(asked), BROWSER)
  assert.match(confirmation.body, /If “Ana” forgets the password, Ana@mail\.example can get/)
  assert.equal((await post(app, linkIn(asked), {})).statusCode, 200)
  const account = await get(app, '/edit/account', { ...BROWSER, ...session })
  assert.match(account.body, /can go to <b>Ana@mail\.example<\/b>/)

  // A digest goes to an address that a session alone gave: no link goes there.
  await subscribe(app, mailbox, await sessionOf(app, 'Bor'), 'bor@mail.example')
  const answers = []
  for (const person of ['nobody', 'Bor', 'bor@mail.example', 'admin', ' ANA@mail.example ']) {
    answers.push(await post(app, FORGOTTEN, { person }))
  }
  assert.deepEqual(answers.map(({ statusCode }) => statusCode), answers.map(() => 200))
  assert.equal(new Set(answers.map(({ body }) => body)).size, 1)
  const [, , mail] = await mailbox.until(3)
  assert.deepEqual([[mail.to].flat()[0]?.text, mail.subject],
    ['Ana@mail.example', 'wiki.example: a link for a new password'])

  const link = passwordLinkIn(mail)
  await post(app, FORGOTTEN, { person: 'ana' })
  const second = passwordLinkIn((await mailbox.until(4))[3])
  assert.notEqual(second, link, 'somebody else who asks does not end the first link')
  assert.match((await get(app, link, BROWSER)).body, /Your name in this wiki is <b dir="auto">Ana<\/b>/)
  const chosen = await post(app, link, { password: 'quite another one', again: 'quite another one' })
  assert.equal(chosen.statusCode, 303, chosen.body)
  for (const used of [link, second]) assert.equal((await get(app, used)).statusCode, 404)
  assert.equal((await get(app, '/edit/account', session)).statusCode, 401, 'the session has ended')
  assert.equal((await signIn(app, 'Ana')).statusCode, 401)
  const again = await signIn(app, 'Ana', 'quite another one')
  assert.equal(again.statusCode, 303)
  const changed = (await mailbox.until(5))[4]
  assert.match(String(changed.subject), /your password was changed$/)
  assert.match(String(changed.text), /“Ana” has a new password[^]*http:\/\/wiki\.example\/edit\/sign-in\/forgotten/)

  const { acts } = (await get(app, '/edit/audit', bearer('admin'))).json()
  assert.deepEqual(acts.slice(0, 3).map((/** @type {any} */ { actor, did, to }) => [actor, did, to]),
    [['Ana', 'reset', 'Ana'], ['the server', 'mailed', 'Ana'], ['the server', 'mailed', 'Ana']])
  assert.match((await get(app, '/edit/audit', { ...BROWSER, ...bearer('admin') })).body, /with a mailed link/)

  await withDatabase(uri, async (db) => {
    const stored = JSON.stringify(await Promise.all(['members', 'password_mails', 'address_confirmations']
      .map((name) => db.collection(name).find().toArray())))
    for (const path of [link, second, linkIn(asked)]) {
      const secret = String(path.split('/').pop())
      assert.ok(!stored.includes(secret) && !logged().includes(secret))
    }
    assert.ok(!logged().includes('mail.example'))

    // The third mail within three hours is the last one.
    for (let time = 0; time < 3; time++) await post(app, FORGOTTEN, { person: 'Ana' })
    assert.match(passwordLinkIn((await mailbox.until(6))[5]), /invitations/)
    const jobs = db.collection('password_mails')
    assert.equal((await jobs.findOne({ _id: /** @type {any} */ ('link ana') }))?.asked.length, 3)
    const late = passwordLinkIn(mailbox.mails[5])
    await db.collection('members').updateOne({ name: 'Ana' }, { $set: { 'resets.$[].expires_at': new Date() } })
    assert.equal((await get(app, late)).statusCode, 404, 'a link ends after an hour')

    // Removing takes the address and what waits.
    assert.equal(await jobs.countDocuments(), 2)
    await send(app, 'people/remove', { name: 'Ana' })
    assert.equal(await jobs.countDocuments(), 0)
  })
  const network = []
  for (let time = 0; time < 15; time++) network.push((await post(app, FORGOTTEN, { person: 'nobody' })).statusCode)
  assert.deepEqual([...new Set(network)], [200, 429], 'a network has twenty within an hour')
  assert.equal(mailbox.mails.length, 6)
})

test('an invitation goes by mail where an administrator wants it, and its link is shown in any case', async (t) => {
  const mailbox = await startMailbox(t, {
    onRcpt: (address) => address.startsWith('gone@') ? Object.assign(new Error('no'), { responseCode: 550 }) : null
  })
  const app = await wiki.build(t, { ...peopleOnly(t), ...mailbox.settings }, {}, quickly())
  const admin = await cookieOf(app, 'admin')
  const invite = (/** @type {string} */ name, /** @type {string} */ address) =>
    post(app, '/edit/people', { name, role: 'editor', address }, admin)
  const invited = await invite('Ana', 'ana@mail.example')
  assert.match(invited.body, /It was sent to <b>ana@mail\.example<\/b>/)
  const [mail] = await mailbox.until(1)
  assert.match(String(mail.text), /^“admin” invites you to wiki\.example, as “Ana”\./)
  assert.ok(invited.body.includes(passwordLinkIn(mail)))
  const chosen = { password: PASSWORD, again: PASSWORD }
  assert.equal((await post(app, passwordLinkIn(mail), chosen)).statusCode, 303)
  assert.match((await invite('Bor', 'gone@mail.example')).body,
    /It could not be sent to <b>gone@mail\.example<\/b> \(code 550 after RCPT TO\)[^]*\/invitations\//)
  assert.match((await invite('Cene', '')).body, /\/invitations\//)
  assert.equal((await invite('Dana', 'x@y\r\nBcc: z@y.example')).statusCode, 400)
  assert.equal(mailbox.mails.length, 1)
})
