import assert from 'node:assert/strict'
import test from 'node:test'
import mongoose from 'mongoose'
import { BROWSER, get, useWiki } from './helper.js'
import { cookieOf, PASSWORD, peopleOnly, post, USERS } from './people.js'

const wiki = useWiki()

/** @param {import('fastify').FastifyInstance} app @param {Record<string, string>} cookie */
const isSignedIn = async (app, cookie) => (await get(app, '/edit/new', cookie)).statusCode === 200

/** The database of the application that was built last. */
const database = () => /** @type {import('mongodb').Db} */ (mongoose.connections[mongoose.connections.length - 1].db)

test('a person who wants to write is asked to sign in, and comes back to the very form', async (t) => {
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
  assert.match(String(signedIn.headers['set-cookie']), /^session=[\w-]{43}; Max-Age=1209600; Path=\/edit; HttpOnly; SameSite=Strict$/)
  const cookie = { cookie: String(signedIn.headers['set-cookie']).split(';', 1)[0] }
  assert.match((await get(app, '/edit/text/a', { ...BROWSER, ...cookie })).body, /Signed in as <b dir="auto">editor<\/b>/)

  const signedOut = await post(app, '/edit/sign-out', {}, cookie)
  assert.equal(signedOut.headers.location, '/')
  assert.match(String(signedOut.headers['set-cookie']), /^session=; Max-Age=0; Path=\/edit; Expires=Thu, 01 Jan 1970 00:00:00 GMT; HttpOnly; SameSite=Strict$/)
  assert.equal(await isSignedIn(app, cookie), false, 'the cookie is worth nothing any more')
  assert.equal(await database().collection('sessions').countDocuments(), 0)
})

test('for a wiki on https the cookie is, too', async (t) => {
  const app = await wiki.build(t, { ...peopleOnly(t), PUBLIC_URL: 'https://wiki.example' })
  const { headers } = await post(app, '/edit/sign-in', { name: 'editor', password: PASSWORD })
  assert.match(String(headers['set-cookie']), /^__Secure-session=[\w-]{43}; .*; HttpOnly; Secure; SameSite=Strict$/)
  assert.ok(await isSignedIn(app, await cookieOf(app, 'editor')))
  assert.equal(await isSignedIn(app, { cookie: `session=${String(headers['set-cookie']).split(/[=;]/)[1]}` }), false)
})

test('signing in leads to our own forms and nowhere else', async (t) => {
  const app = await wiki.build(t, peopleOnly(t))
  const hostile = [
    'https://evil.example/edit/text/a', '//evil.example/edit/', '/\\evil.example/edit/', '\\\\evil.example', '/edit/../wiki/stevec', '/edit/%2e%2e/wiki/stevec', '/edit/..//evil.example', '/edit', '/wiki/a', '',
    'javascript:alert(1)', ' /edit/text/a', '/edit/\r\nset-cookie: a=b', '/edit/sign-out', '/edit/sign-in', '/edit/sign-in?to=/edit/sign-in', 'edit/text/a', 'data:text/html,/edit/', '/edit/../edit/sign-out'
  ]
  for (const to of hostile) {
    const { headers, statusCode } = await post(app, '/edit/sign-in', { name: 'editor', password: PASSWORD, to })
    assert.equal(statusCode, 303, to)
    assert.match(String(headers.location), /^\/$|^\/edit\/set-cookie:%20a=b$/, to)
    const { body } = await get(app, `/edit/sign-in?${new URLSearchParams({ to })}`, BROWSER)
    assert.match(body, /name="to" value="(\/|\/edit\/set-cookie:%20a=b)"/, to)
  }
  const { body } = await get(app, `/edit/sign-in?${new URLSearchParams({ to: '/edit/text/"><script>' })}`, BROWSER)
  assert.match(body, /name="to" value="\/edit\/text\/%22%3E%3Cscript%3E"/)
})

test('a wrong password and a name that nobody has are told the same way, by status, by words and by work', async (t) => {
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
  // One scrypt takes some 50 ms, all the rest hardly one: the factor is generous.
  assert.ok(unknown.work > wrong.work / 5, `${unknown.work} and ${wrong.work} µs`)
  for (const name of ['__proto__', 'constructor', '{"$gt":""}', '']) assert.equal((await post(app, '/edit/sign-in', { name, password: PASSWORD })).statusCode, 401, name)
  const program = await app.inject({ method: 'POST', url: '/edit/sign-in', payload: { name: 'nobody', password: 'x' } })
  assert.equal(program.statusCode, 401)
  for (const payload of [{ name: { $gt: '' }, password: 'x' }, { name: 'a' }, { name: 'a', password: 'x'.repeat(1_001) }, { name: 'a', password: 'x', role: 'admin' }]) {
    assert.equal((await app.inject({ method: 'POST', url: '/edit/sign-in', payload })).statusCode, 400)
  }
  assert.equal((await post(app, '/edit/sign-in', { name: 'a', password: 'x'.repeat(20_000) })).statusCode, 413)
})

test('guessing ends after ten failures of one client, also of many at once, and others go on', async (t) => {
  const app = await wiki.build(t, peopleOnly(t))
  const guess = (/** @type {string} */ name, password = 'guess', address = '192.0.2.1') => post(app, '/edit/sign-in', { name, password }, {}, address)
  const answers = await Promise.all(Array.from({ length: 14 }, (_, index) => guess(index % 2 ? 'editor' : `nobody ${index}`)))
  assert.deepEqual(answers.map(({ statusCode }) => statusCode).sort(), [...Array(10).fill(401), ...Array(4).fill(429)])
  const refused = await guess('editor', PASSWORD)
  assert.equal(refused.statusCode, 429, 'not even with the right one')
  assert.equal(refused.headers['set-cookie'], undefined)
  assert.ok(Number(refused.headers['retry-after']) > 0 && Number(refused.headers['retry-after']) <= 900)
  assert.match(refused.body, /Try again in \d+ s/)
  assert.equal((await guess('editor', PASSWORD, '192.0.2.2')).statusCode, 303)
})

test('a crowd that asks at once is told to wait, rather than that the wiki stands still', async (t) => {
  const app = await wiki.build(t, peopleOnly(t))
  const answers = await Promise.all(Array.from({ length: 30 }, (_, index) => post(app, '/edit/sign-in', { name: 'editor', password: PASSWORD }, {}, `192.0.2.${index}`)))
  const statuses = answers.map(({ statusCode }) => statusCode)
  assert.ok(statuses.filter((status) => status === 303).length >= 20)
  assert.ok(statuses.includes(429))
  assert.ok(statuses.every((status) => status === 303 || status === 429))
})

test('a session is new each time, is not kept as it is sent, and ends', async (t) => {
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
  assert.equal(await isSignedIn(app, cookie), false, 'the one before ends with it')

  const sessions = database().collection('sessions')
  const [session] = await sessions.find().toArray()
  assert.doesNotMatch(JSON.stringify(session), new RegExp(renewed.cookie.slice('session='.length)))
  assert.deepEqual((await sessions.indexes()).filter(({ expireAfterSeconds }) => expireAfterSeconds === 0).map(({ key }) => key), [{ expires_at: 1 }])
  await sessions.updateMany({}, { $set: { expires_at: new Date(Date.now() - 1) } })
  assert.equal(await isSignedIn(app, renewed), false, 'also before the database has removed it')

  const cookies = []
  for (let count = 0; count < 22; count++) cookies.push(await cookieOf(app, 'editor'))
  assert.equal(await isSignedIn(app, cookies[0]), false, 'the oldest of too many')
  assert.equal(await isSignedIn(app, cookies[21]), true)
  assert.ok(await sessions.countDocuments() <= 20)

  content.users[1].password = content.users[1].password.replace('$ln=14', '$ln=15')
  const later = await wiki.build(t, { ...settings, ...peopleOnly(t, content) })
  assert.equal(await isSignedIn(later, cookies[21]), false, 'the user has another password')
  const without = await wiki.build(t, { ...settings, ...peopleOnly(t, { users: USERS.slice(0, 1) }) })
  assert.equal(await isSignedIn(without, cookies[21]), false, 'the user has gone')
})
