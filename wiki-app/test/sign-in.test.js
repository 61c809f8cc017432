import assert from 'node:assert/strict'
import test from 'node:test'
import mongoose from 'mongoose'
import { waitUntil } from '@stevec/harness/processes'
import { hashPassword } from '../src/access/password.js'
import { BROWSER, get, useWiki } from './helper.js'
import { cookieOf, PASSWORD, peopleOnly, post, USERS } from './people.js'

const wiki = useWiki()

/** @param {import('fastify').FastifyInstance} app @param {Record<string, string>} cookie */
const isSignedIn = async (app, cookie) => (await get(app, '/edit/new', cookie)).statusCode === 200

/** Returns the database of the application that was built last. */
const database = () => /** @type {import('mongodb').Db} */ (mongoose.connections[mongoose.connections.length - 1].db)

test('an edit form redirects to sign-in and back to the same form; sign-out ends the session', async (t) => {
  const app = await wiki.build(t, peopleOnly(t))
  const asked = await get(app, '/edit/text/%C5%A0ola?x=1&y=2', BROWSER)
  assert.equal(asked.statusCode, 303)
  assert.equal(asked.headers['cache-control'], 'private, no-store')
  const form = await get(app, String(asked.headers.location), BROWSER)
  assert.equal(form.headers['cache-control'], 'private, no-store')
  const to = String(/name="to" value="([^"]*)"/.exec(form.body)?.[1]).replaceAll('&amp;', '&')
  assert.equal(to, '/edit/text/%C5%A0ola?x=1&y=2')

  const signedIn = await post(app, '/edit/sign-in', { name: ' Editor ', password: PASSWORD, to })
  assert.equal(signedIn.statusCode, 303)
  assert.equal(signedIn.headers.location, to)
  assert.equal(signedIn.headers['cache-control'], 'private, no-store')
  const [session, device] = /** @type {string[]} */ (signedIn.headers['set-cookie'])
  assert.match(session, /^session=[\w-]{43}; Max-Age=1209600; Path=\/edit; HttpOnly; SameSite=Strict$/)
  assert.match(device, /^device=[\w.-]{66}; Max-Age=31536000; Path=\/edit\/sign-in; HttpOnly; SameSite=Strict$/)
  const cookie = { cookie: session.split(';', 1)[0] }
  assert.match(
    (await get(app, '/edit/text/a', { ...BROWSER, ...cookie })).body,
    /data-role="editor">editor<\/a><form method="post" action="\/edit\/sign-out"><button>Sign out</
  )

  const signedOut = await post(app, '/edit/sign-out', {}, cookie)
  assert.equal(signedOut.headers.location, '/')
  assert.match(
    String(signedOut.headers['set-cookie']),
    /^session=; Max-Age=0; Path=\/edit; Expires=Thu, 01 Jan 1970 00:00:00 GMT; HttpOnly; SameSite=Strict$/
  )
  assert.equal(await isSignedIn(app, cookie), false, 'the cookie is no longer valid')
  assert.equal(await database().collection('sessions').countDocuments(), 0)
})

test('with an https PUBLIC_URL the cookies are Secure and have the prefix __Secure-', async (t) => {
  const app = await wiki.build(t, { ...peopleOnly(t), PUBLIC_URL: 'https://wiki.example' })
  const { headers } = await post(app, '/edit/sign-in', { name: 'editor', password: PASSWORD })
  const [session, device] = /** @type {string[]} */ (headers['set-cookie'])
  assert.match(session, /^__Secure-session=[\w-]{43}; .*; HttpOnly; Secure; SameSite=Strict$/)
  assert.match(device, /^__Secure-device=[\w.-]{66}; .*; HttpOnly; Secure; SameSite=Strict$/)
  assert.ok(await isSignedIn(app, await cookieOf(app, 'editor')))
  assert.equal(await isSignedIn(app, { cookie: `session=${String(headers['set-cookie']).split(/[=;]/)[1]}` }), false)
})

test('sign-in leads back to the page with the link, which shows the signed-in name and the link onward', async (t) => {
  const app = await wiki.build(t, peopleOnly(t))
  const from = (/** @type {string} */ referer) => ({ ...BROWSER, host: 'Wiki.example', referer })
  for (const [referer, to] of [
    ['https://wiki.example/wiki/a?x=1&y=2', '/wiki/a?x=1&amp;y=2'],
    ['https://wiki.example/wiki/stevec', '/'],
    ['https://evil.example/wiki/a', '/'],
    ['https://wiki.example//evil.example/', '/'],
    [`https://wiki.example/wiki/${'a'.repeat(5_000)}`, '/'],
    ['nonsense', '/']
  ]) {
    const { body } = await get(app, '/edit/sign-in', from(referer))
    assert.ok(body.includes(`name="to" value="${to}"`), referer)
  }
  const signedIn = await post(app, '/edit/sign-in', { name: 'reader', password: PASSWORD, to: '/wiki/a?x=1&y=2' })
  assert.equal(signedIn.headers.location, '/edit/sign-in?to=%2Fwiki%2Fa%3Fx%3D1%26y%3D2')
  const cookie = { cookie: String(signedIn.headers['set-cookie']).split(';', 1)[0] }
  const { body, headers } = await get(app, String(signedIn.headers.location), { ...BROWSER, ...cookie })
  assert.equal(headers['cache-control'], 'private, no-store')
  assert.match(body, /<a class="primary" href="\/wiki\/a\?x=1&amp;y=2" data-onward>Go on</)
  const visited = await get(app, '/edit/sign-in', { ...from('https://wiki.example/wiki/a'), ...cookie })
  assert.match(visited.body, /href="\/wiki\/a">Go on</, 'the sign-in page itself does not lead on')
})

test('sign-in redirects only within this wiki, and never to the counter', async (t) => {
  const app = await wiki.build(t, peopleOnly(t))
  const hostile = [
    'https://evil.example/edit/text/a', '//evil.example/edit/', '/\\evil.example/edit/', '\\\\evil.example',
    '/edit/../wiki/stevec', '/edit/%2e%2e/wiki/stevec', '/wiki/stevec?x', '/edit/..//evil.example', '',
    '/edit/..\\\\evil.example', '/\t/evil.example', '/edit/%2E%2e//evil.example', '/./\\evil.example',
    'javascript:alert(1)', ' /edit/text/a', '/edit/\r\nset-cookie: a=b', '/edit/sign-out', '/edit/sign-in',
    '/edit/sign-in?to=/edit/sign-in', 'edit/text/a', 'data:text/html,/edit/', '/edit/../edit/sign-out'
  ]
  for (const to of hostile) {
    const { headers, statusCode } = await post(app, '/edit/sign-in', { name: 'editor', password: PASSWORD, to })
    assert.equal(statusCode, 303, to)
    assert.match(String(headers.location), /^\/edit\/sign-in\?to=%2F$|^\/edit\/set-cookie:%20a=b$/, to)
    const { body } = await get(app, `/edit/sign-in?${new URLSearchParams({ to })}`, BROWSER)
    assert.match(body, /name="to" value="(\/|\/edit\/set-cookie:%20a=b)"/, to)
  }
  const { body } = await get(app, `/edit/sign-in?${new URLSearchParams({ to: '/edit/text/"><script>' })}`, BROWSER)
  assert.match(body, /name="to" value="\/edit\/text\/%22%3E%3Cscript%3E"/)
})

test('a wrong password and an unknown name get the same status and text, and take similar CPU time', async (t) => {
  const app = await wiki.build(t, peopleOnly(t))
  const attempt = async (/** @type {string} */ name) => {
    const start = process.cpuUsage()
    const answer = await post(app, '/edit/sign-in', { name, password: 'wrong' })
    const { user, system } = process.cpuUsage(start)
    return { ...answer, body: answer.body.replaceAll(name, 'NAME'), work: user + system }
  }
  const [wrong, unknown] = [await attempt('editor'), await attempt('nobody')]
  for (const { statusCode, headers } of [wrong, unknown]) {
    assert.equal(statusCode, 401)
    assert.equal(headers['set-cookie'], undefined)
    assert.match(String(headers['www-authenticate']), /^Bearer /)
  }
  assert.match(wrong.body, /role="alert">This name and this password do not go together/)
  assert.equal(unknown.body, wrong.body)
  // One scrypt takes about 50 ms, the rest about 1 ms: the factor is generous.
  assert.ok(unknown.work > wrong.work / 5, `${unknown.work} and ${wrong.work} µs`)
  for (const name of ['__proto__', 'constructor', '{"$gt":""}', '']) {
    assert.equal((await post(app, '/edit/sign-in', { name, password: PASSWORD })).statusCode, 401, name)
  }
  const program = await app.inject({ method: 'POST', url: '/edit/sign-in', payload: { name: 'nobody', password: 'x' } })
  assert.equal(program.statusCode, 401)
  for (const payload of [
    { name: { $gt: '' }, password: 'x' },
    { name: 'a' },
    { name: 'a', password: 'x'.repeat(1_001) },
    { name: 'a', password: 'x', role: 'admin' }
  ]) {
    assert.equal((await app.inject({ method: 'POST', url: '/edit/sign-in', payload })).statusCode, 400)
  }
  assert.equal((await post(app, '/edit/sign-in', { name: 'a', password: 'x'.repeat(20_000) })).statusCode, 413)
})

test('a client gets 429 after ten failed sign-ins, even concurrent ones; other clients can sign in', async (t) => {
  const app = await wiki.build(t, peopleOnly(t))
  const guess = (/** @type {string} */ name, password = 'guess', address = '192.0.2.1') =>
    post(app, '/edit/sign-in', { name, password }, {}, address)
  /** @type {number[]} */
  const statuses = []
  for (let wave = 0; wave < 10 && statuses.filter((status) => status === 401).length < 10; wave++) {
    const names = Array.from({ length: 14 }, (_, index) => index % 2 ? 'editor' : `nobody ${index}`)
    const answers = await Promise.all(names.map((name) => guess(name)))
    statuses.push(...answers.map(({ statusCode }) => statusCode))
  }
  for (let more = 0; more < 14; more++) statuses.push((await guess('editor')).statusCode)
  assert.equal(statuses.filter((status) => status === 401).length, 10)
  assert.ok(statuses.every((status) => status === 401 || status === 429))
  const refused = await guess('editor', PASSWORD)
  assert.equal(refused.statusCode, 429, 'even with the right password')
  assert.equal(refused.headers['set-cookie'], undefined)
  assert.ok(Number(refused.headers['retry-after']) > 0 && Number(refused.headers['retry-after']) <= 900)
  assert.match(refused.body, /role="alert">Signing in failed too often[^<]* Try again in 1[45] minutes\./)
  assert.match(refused.body, /name="name" [^>]*value="editor"/, 'the form can be sent again')
  assert.equal((await guess('editor', PASSWORD, '192.0.2.2')).statusCode, 303)
})

/**
 * Returns the header with which a browser shows at its next sign-in that it has signed in before.
 * @param {import('light-my-request').Response} answer
 */
const deviceOf = ({ headers }) => {
  const [, device] = /** @type {string[]} */ (headers['set-cookie'])
  return { cookie: device.split(';', 1)[0] }
}

test('guesses from many addresses do not lock out the owner of a name', async (t) => {
  const content = { users: structuredClone(USERS) }
  const app = await wiki.build(t, peopleOnly(t, content))
  const guess = async (/** @type {string} */ password, /** @type {string} */ address, name = 'editor', headers = {}) =>
    await post(app, '/edit/sign-in', { name, password }, headers, address)
  const device = deviceOf(await guess(PASSWORD, '198.51.100.1'))

  await Promise.all([1, 2, 3, 4, 5].map(async (attacker) => {
    for (let failure = 0; failure < 10; failure++) {
      assert.equal((await guess('wrong', `192.0.2.${attacker}`)).statusCode, 401)
    }
    assert.equal((await guess('wrong', `192.0.2.${attacker}`)).statusCode, 429)
  }))
  assert.equal((await guess(PASSWORD, '198.51.100.2')).statusCode, 303, 'from a new address')
  const fromTheirs = await guess(PASSWORD, '192.0.2.1', 'editor', device)
  assert.equal(fromTheirs.statusCode, 303, 'from an address of an attacker, with a known browser')
  assert.equal((await guess(PASSWORD, '192.0.2.1')).statusCode, 429)

  const more = []
  for (let failure = 0; failure < 4; failure++) more.push((await guess('wrong', '192.0.2.6')).statusCode)
  assert.deepEqual(more, [401, 401, 429, 429], 'a name with many failures has a lower limit for each address')
  assert.equal((await guess('wrong', '192.0.2.6', 'admin')).statusCode, 401, 'other names keep the usual limit')

  const known = []
  for (let failure = 0; failure < 11; failure++) {
    known.push((await guess('wrong', '198.51.100.3', 'editor', device)).statusCode)
  }
  assert.deepEqual(known, [...Array(10).fill(401), 429], 'a known browser has its own limit')

  const other = deviceOf(await guess(PASSWORD, '198.51.100.4'))
  const [, id, seal] = /** @type {string[]} */ (/^device=([^.]+)\.(.+)$/.exec(other.cookie))
  const madeUp = ['device=', `device=${id}.`, `device=${'a'.repeat(22)}.${seal}`, `device=${id}.${'a'.repeat(43)}`]
  for (const cookie of madeUp) {
    assert.equal((await guess(PASSWORD, '192.0.2.2', 'editor', { cookie })).statusCode, 429, `forged cookie: ${cookie}`)
  }
  for (let failure = 0; failure < 8; failure++) await guess('wrong', '192.0.2.6', 'admin')
  const ofOther = await guess(PASSWORD, '192.0.2.6', 'admin', other)
  assert.equal(ofOther.statusCode, 429, 'a device cookie is valid only for its own name')

  content.users[1].password = await hashPassword(PASSWORD, { ln: 14, r: 8, p: 1 })
  const later = await wiki.build(t, peopleOnly(t, content))
  for (let failure = 0; failure < 10; failure++) {
    await post(later, '/edit/sign-in', { name: 'editor', password: 'x' })
  }
  const voided = await post(later, '/edit/sign-in', { name: 'editor', password: PASSWORD }, other)
  assert.equal(voided.statusCode, 429, 'a new password makes the device cookie invalid')
})

/**
 * One check runs, and keys take turns; on a busy machine others end while the request arrives. In the order of arrival
 * some twenty would come first.
 */
const CHECKS_FIRST_MAX = 5

test('forty wrong passwords at once hardly delay a sign-in from another address', async (t) => {
  const app = await wiki.build(t, peopleOnly(t))
  /** @type {number[]} */
  const answered = []
  const guesses = Array.from({ length: 40 }, async () => {
    const answer = await post(app, '/edit/sign-in', { name: 'editor', password: 'wrong' }, {}, '192.0.2.1')
    answered.push(answer.statusCode)
    if (answer.statusCode === 429) assert.ok(Number(answer.headers['retry-after']) > 0)
  })
  const answeredWith = (/** @type {number} */ refusal) => answered.filter((status) => status === refusal).length
  // Guesses that find the queue full are refused without a check.
  assert.ok(await waitUntil(() => answeredWith(429) >= 20, 60_000, 1))
  const before = answeredWith(401)
  const honest = await post(app, '/edit/sign-in', { name: 'admin', password: PASSWORD }, {}, '198.51.100.1')
  assert.equal(honest.statusCode, 303)
  assert.ok(answeredWith(401) - before <= CHECKS_FIRST_MAX, `${answeredWith(401) - before} checks came first`)
  await Promise.all(guesses)
  assert.equal(answeredWith(401) + answeredWith(429), 40)
})

test('many guesses from other addresses hardly delay the sign-in of a known browser', async (t) => {
  const app = await wiki.build(t, peopleOnly(t))
  const device = deviceOf(await post(app, '/edit/sign-in', { name: 'admin', password: PASSWORD }))
  let checked = 0
  let refused = 0
  const crowd = Array.from({ length: 60 }, async (_guess, index) => {
    const guess = { name: 'admin', password: 'wrong' }
    const { statusCode } = await post(app, '/edit/sign-in', guess, {}, `192.0.2.${index}`)
    if (statusCode === 401) checked += 1
    else refused += 1
  })
  assert.ok(await waitUntil(() => refused >= 20, 60_000, 1))
  const before = checked
  const honest = await post(app, '/edit/sign-in', { name: 'admin', password: PASSWORD }, device)
  assert.equal(honest.statusCode, 303)
  assert.ok(checked - before <= CHECKS_FIRST_MAX, `${checked - before} checks came first`)
  await Promise.all(crowd)
})

test('of thirty sign-ins at once at least twenty succeed, and the others get 429', async (t) => {
  const app = await wiki.build(t, peopleOnly(t))
  const answers = await Promise.all(Array.from({ length: 30 }, (_, index) =>
    post(app, '/edit/sign-in', { name: 'editor', password: PASSWORD }, {}, `192.0.2.${index}`)))
  const statuses = answers.map(({ statusCode }) => statusCode)
  assert.ok(statuses.filter((status) => status === 303).length >= 20)
  assert.ok(statuses.includes(429))
  assert.ok(statuses.every((status) => status === 303 || status === 429))
})

test('each sign-in creates a new session, which expires and whose token is not stored as it is sent', async (t) => {
  const content = { users: structuredClone(USERS) }
  const settings = { ...peopleOnly(t, content), MONGODB_URI: wiki.freshUri() }
  const app = await wiki.build(t, settings)
  const planted = { cookie: `session=${'a'.repeat(43)}` }
  const first = await post(app, '/edit/sign-in', { name: 'editor', password: PASSWORD }, planted)
  const cookie = { cookie: String(first.headers['set-cookie']).split(';', 1)[0] }
  assert.notEqual(cookie.cookie, planted.cookie)
  assert.equal(await isSignedIn(app, planted), false)
  assert.equal(await isSignedIn(app, cookie), true)

  const second = await post(app, '/edit/sign-in', { name: 'editor', password: PASSWORD }, cookie)
  const renewed = { cookie: String(second.headers['set-cookie']).split(';', 1)[0] }
  assert.equal(await isSignedIn(app, cookie), false, 'the new sign-in ends the previous session')

  const sessions = database().collection('sessions')
  const [session] = await sessions.find().toArray()
  assert.doesNotMatch(JSON.stringify(session), new RegExp(renewed.cookie.slice('session='.length)))
  assert.deepEqual(
    (await sessions.indexes())
      .filter(({ expireAfterSeconds }) => expireAfterSeconds === 0)
      .map(({ key }) => key),
    [{ expires_at: 1 }]
  )
  await sessions.updateMany({}, { $set: { expires_at: new Date(Date.now() - 1) } })
  assert.equal(await isSignedIn(app, renewed), false, 'an expired session ends even before the database removes it')

  const cookies = []
  for (let count = 0; count < 22; count++) cookies.push(await cookieOf(app, 'editor'))
  assert.equal(await isSignedIn(app, cookies[0]), false, 'the oldest of too many sessions ends')
  assert.equal(await isSignedIn(app, cookies[21]), true)
  assert.ok(await sessions.countDocuments() <= 20)

  content.users[1].password = content.users[1].password.replace('$ln=14', '$ln=15')
  const later = await wiki.build(t, { ...settings, ...peopleOnly(t, content) })
  assert.equal(await isSignedIn(later, cookies[21]), false, 'a new password ends the sessions of the user')
  const without = await wiki.build(t, { ...settings, ...peopleOnly(t, { users: USERS.slice(0, 1) }) })
  assert.equal(await isSignedIn(without, cookies[21]), false, 'the sessions of a removed user end')
})
