import assert from 'node:assert/strict'
import test from 'node:test'
import { waitUntil } from '@stevec/harness/processes'
import { createLog, useWiki } from './helper.js'
import { begin, BEGIN, CLIENT_SECRET, comeBack, sessionFrom, settingsFor, signInThere, startProvider } from './oidc.js'
import { ACCESS_TOKEN, CODE, returnOf, startFake } from './oidc-fake.js'
import { peopleOnly, post } from './people.js'

/** @typedef {import('./helper.js').Response} Response */
/** @typedef {import('./oidc-fake.js').Behaviour} Behaviour */

const wiki = useWiki()

/** @param {Response} answer @param {number} status @param {RegExp} reason */
function assertRefused (answer, status, reason) {
  assert.equal(answer.statusCode, status, answer.body)
  assert.match(answer.body, reason)
  assert.match(answer.body, /role="alert"/)
  assert.match(answer.body, /action="\/edit\/sign-in\/oidc"/, 'the page has the button to begin again')
  assert.equal(sessionFrom(answer).cookie, '', 'nobody is signed in')
}

test('a return that this browser did not begin signs nobody in: of another one, forged, or repeated', async (t) => {
  const { issuer } = await startProvider(t, { claims: { preferred_username: 'mallory' } })
  const uri = wiki.freshUri()
  const settings = { ...peopleOnly(t), ...settingsFor(issuer), MONGODB_URI: uri }
  const [app, other] = [await wiki.build(t, settings), await wiki.build(t, settings)]
  const [victim, attacker] = [await begin(app), await begin(app)]
  const returned = await signInThere(attacker.url, 'attacker')
  const notBegun = /was not begun in this browser within the last 10 minutes/
  assertRefused(await comeBack(app, returned, ''), 400, notBegun)
  assertRefused(await comeBack(app, returned, victim.cookie), 400, notBegun)
  // The last character may have bits that do not count.
  const forged = attacker.cookie.replace(/.(?=.{4}$)/, (each) => each === 'A' ? 'B' : 'A')
  for (const cookie of [forged, 'oidc=', 'oidc=x', `oidc=${'A'.repeat(400)}`, `oidc=${'A'.repeat(9_000)}`]) {
    assertRefused(await comeBack(app, returned, cookie), 400, notBegun)
  }
  // The code of another sign-in, with the own state: the provider sees that it was made for another verifier.
  const mixed = new URL(returned, 'http://wiki')
  mixed.searchParams.set('state', String(new URL(victim.url).searchParams.get('state')))
  assertRefused(await comeBack(app, mixed.pathname + mixed.search, victim.cookie), 400, /was used or took too long/)

  const again = await begin(app)
  const good = await signInThere(again.url, 'attacker')
  const both = await Promise.all([app, other].map((each) => comeBack(each, good, again.cookie)))
  assert.deepEqual(both.map(({ statusCode }) => statusCode).sort(), [200, 400], 'it counts once, in all processes')
  assertRefused(await comeBack(app, good, again.cookie), 400, notBegun)
})

test('a sign-in that another process began is finished by each one, within ten minutes', async (t) => {
  const { issuer } = await startProvider(t)
  const settings = { ...peopleOnly(t), ...settingsFor(issuer), MONGODB_URI: wiki.freshUri() }
  const [app, other] = [await wiki.build(t, settings), await wiki.build(t, settings)]
  const { url, cookie } = await begin(app, { to: '/wiki/a' })
  const back = await comeBack(other, await signInThere(url, 'someone'), cookie)
  assert.equal(back.statusCode, 200, back.body)
  assert.equal(back.headers.refresh, '0;url=/edit/sign-in?to=%2Fwiki%2Fa')

  const late = await begin(app)
  const returned = await signInThere(late.url, 'someone')
  t.mock.timers.enable({ apis: ['Date'], now: Date.now() + 601_000 })
  const answer = await comeBack(other, returned, late.cookie)
  t.mock.timers.reset()
  assertRefused(answer, 400, /was not begun in this browser within the last 10 minutes/)
})

test('it leads only within this wiki, and no other site begins it', async (t) => {
  const { issuer, signIn } = await startFake(t)
  const app = await wiki.build(t, { ...peopleOnly(t), ...settingsFor(issuer) })
  assert.equal((await signIn(app)).statusCode, 200)
  for (const to of [
    'https://evil.example/edit/', '//evil.example/edit/', '/\\evil.example/edit/', '/edit/..//evil.example',
    '/\t/evil.example', 'javascript:alert(1)', `${BEGIN}/callback?code=x`, '/edit/sign-out', '/invitations/x',
    '/%65dit/%73ign-out', '/feeds/x', '/%66eeds/x', '/wiki/stevec', '/wiki/%73tevec', '/wiki/%20stevec?x', '/wiki/%zz',
    '/wiki/%C3', `/wiki/${'%F0%9F%90%9D'.repeat(210)}`, `/search?q=${'\\'.repeat(2_280)}`
  ]) {
    const { url, cookie } = await begin(app, { to })
    const state = String(new URL(url).searchParams.get('state'))
    const refused = await comeBack(app, returnOf({ error: 'access_denied', state }), cookie)
    assertRefused(refused, 400, /You cancelled signing in/)
    assert.match(refused.body, /name="to" value="\/"/, to)
  }
  for (const to of ['/wiki/%C4%8Cebela%2Fa%25', '/wiki/stevec/a', '/search?q=%zz', `/search?q=${'\\'.repeat(1_100)}`]) {
    const { url, cookie } = await begin(app, { to })
    const state = String(new URL(url).searchParams.get('state'))
    const refused = await comeBack(app, returnOf({ error: 'access_denied', state }), cookie)
    assert.ok(refused.body.includes(`name="to" value="${to}"`), to)
  }
  const { answer } = await begin(app, {}, { 'sec-fetch-site': 'cross-site' })
  assert.equal(answer.statusCode, 403)
  assert.equal(answer.headers['set-cookie'], undefined)
})

test('the longest cookie is one that browsers keep, and has the sessions of both cookies and a link', async (t) => {
  const { issuer, signIn } = await startFake(t)
  const app = await wiki.build(t, { ...peopleOnly(t), ...settingsFor(issuer) })
  assert.equal((await signIn(app)).statusCode, 200)
  const token = 'x'.repeat(43)
  const sessions = { cookie: `session=${token}; session-of-reader=${token}` }
  const lengths = []
  for (let length = 2_250; length < 2_350; length++) {
    const to = `/${'x'.repeat(length)}`
    const { url, cookie } = await begin(app, { to, invitation: token }, sessions)
    const state = String(new URL(url).searchParams.get('state'))
    const { body } = await comeBack(app, returnOf({ error: 'access_denied', state }), cookie)
    assert.match(body, /You cancelled signing in/, String(length))
    lengths.push(cookie.length)
    if (!body.includes(to)) break
  }
  assert.ok(lengths.length > 2 && lengths.length < 100, 'the longest address that is kept is among these')
  assert.ok(Math.max(...lengths) < 4_000, String(Math.max(...lengths)))
  assert.ok(Number(lengths.pop()) < 1_000, 'a longer one is forgotten')
})

test('over https no other host of the site can set the cookie of a sign-in, and the return ends it', async (t) => {
  const { issuer, signIn } = await startFake(t)
  const app = await wiki.build(t, { ...peopleOnly(t), ...settingsFor(issuer), PUBLIC_URL: 'https://wiki.example' })
  const { answer, cookie } = await begin(app)
  assert.match(String(answer.headers['set-cookie']),
    /^__Host-oidc=[\w-]{300,3000}; Max-Age=600; Path=\/; HttpOnly; Secure; SameSite=Lax$/)
  const back = await signIn(app)
  assert.equal(back.statusCode, 200, back.body)
  assert.match(String(back.headers['set-cookie']), /__Host-oidc=; Max-Age=0; Path=\/; /)
  const begun = new URL((await begin(app)).url)
  const returned = returnOf({ code: CODE, state: String(begun.searchParams.get('state')) })
  for (const name of ['oidc', '__Secure-oidc']) {
    const planted = await comeBack(app, returned, cookie.replace('__Host-oidc', name))
    assertRefused(planted, 400, /was not begun in this browser/)
  }
})

test('a return while too many others wait is refused, and works a moment later', async (t) => {
  const { issuer, fake } = await startFake(t)
  const app = await wiki.build(t, { ...peopleOnly(t), ...settingsFor(issuer) })
  const ready = []
  for (let count = 0; count < 21; count++) {
    const { url, cookie } = await begin(app)
    const { state, nonce } = Object.fromEntries(new URL(url).searchParams)
    ready.push({ cookie, nonce, returned: returnOf({ code: CODE, state }) })
  }
  const last = ready.pop()
  assert.ok(last)
  /** @type {import('node:http').ServerResponse[]} */
  const held = []
  fake.answers = (path, response) => path === '/token' && held.push(response) > 0
  const waiting = ready.map(({ returned, cookie }) => comeBack(app, returned, cookie))
  assert.ok(await waitUntil(() => held.length === ready.length, 60_000))
  const refused = await comeBack(app, last.returned, last.cookie)
  assertRefused(refused, 429, /Try again in a moment/)
  assert.equal(refused.headers['retry-after'], '5')
  assert.equal(refused.headers['set-cookie'], undefined, 'the browser keeps what it has begun')
  for (const response of held) response.writeHead(500).end()
  await Promise.all(waiting)
  Object.assign(fake, { answers: undefined, nonce: last.nonce })
  assert.equal((await comeBack(app, last.returned, last.cookie)).statusCode, 200)
})

test('an answer of the provider that is not signed, or not for this sign-in, signs nobody in', async (t) => {
  const { issuer, fake, signIn } = await startFake(t)
  const app = await wiki.build(t, { ...peopleOnly(t), ...settingsFor(issuer) })
  const believed = /did not pass the wiki’s checks/
  const day = 86_400
  for (const [what, behaviour, status, reason] of /** @type {[string, Behaviour, number, RegExp][]} */ ([
    ['unsigned', { signature: 'none' }, 403, believed],
    ['signed by somebody else', { signature: 'foreign' }, 403, believed],
    ['a changed signature', { signature: 'broken' }, 403, believed],
    ['for another client', { claims: (claims) => ({ ...claims, aud: 'another' }) }, 403, believed],
    ['for two', { claims: (claims) => ({ ...claims, aud: ['wiki', 'x'], azp: 'x' }) }, 403, believed],
    ['of another issuer', { claims: (claims) => ({ ...claims, iss: 'https://evil.example' }) }, 403, believed],
    ['of another sign-in', { claims: (claims) => ({ ...claims, nonce: 'another' }) }, 403, believed],
    ['without a nonce', { claims: ({ nonce, ...claims }) => claims }, 403, believed],
    ['without a subject', { claims: ({ sub, ...claims }) => claims }, 403, believed],
    ['with a huge subject', { claims: (claims) => ({ ...claims, sub: 'x'.repeat(300) }) }, 403, believed],
    ['too old', { claims: (claims) => ({ ...claims, exp: claims.exp - day }) }, 503, /The clocks of the wiki and/],
    ['from tomorrow', { claims: (claims) => ({ ...claims, nbf: claims.iat + day }) }, 503, /The clocks of/]
  ])) {
    Object.assign(fake, { claims: undefined, signature: undefined }, behaviour)
    const answer = await signIn(app)
    assert.equal(answer.statusCode, status, `${what}: ${answer.body}`)
    assertRefused(answer, status, reason)
  }
  Object.assign(fake, { claims: (/** @type {any} */ claims) => ({ ...claims, exp: claims.iat - 30 }) })
  assert.equal((await signIn(app)).statusCode, 200, 'clocks may differ by a minute')
})

test('a return that names another issuer, or none where the provider says that it does, is refused', async (t) => {
  const { issuer, fake, signIn } = await startFake(t)
  fake.announcesIss = true
  const app = await wiki.build(t, { ...peopleOnly(t), ...settingsFor(issuer) })
  assertRefused(await signIn(app, { iss: 'https://evil.example' }), 403, /did not pass the wiki’s checks/)
  assertRefused(await signIn(app), 403, /did not pass the wiki’s checks/)
  assert.ok(!fake.asked.includes('/token'), 'the code was given to nobody')
  assert.equal((await signIn(app, { iss: issuer })).statusCode, 200)
})

test('for a provider that is away, slow, or does not know the wiki, a page says so; passwords work on', async (t) => {
  const { issuer, fake, signIn, stop } = await startFake(t)
  const { lines, logTo } = createLog()
  const app = await wiki.build(t, { ...peopleOnly(t), ...settingsFor(issuer), LOG_LEVEL: 'info' }, {}, { logTo })
  fake.answers = () => true
  const slow = await begin(app)
  assertRefused(slow.answer, 503, /does not answer just now/)
  assert.equal(slow.answer.headers['retry-after'], '10')
  fake.answers = (_path, response) => Boolean(response.writeHead(200, { 'content-type': 'application/json' })
    .end(JSON.stringify({ issuer, x: 'x'.repeat(2_000_000) })))
  assertRefused((await begin(app)).answer, 503, /does not answer just now/)
  const refusing = (/** @type {string} */ error, status = 400) =>
    (/** @type {string} */ path, /** @type {import('node:http').ServerResponse} */ response) => path === '/token' &&
      Boolean(response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify({ error })))
  for (const [answers, status, reason] of /** @type {[Behaviour['answers'], number, RegExp][]} */ ([
    [refusing('invalid_client', 401), 503, /does not accept the wiki’s settings/],
    [refusing('invalid_grant'), 400, /was used or took too long/],
    [refusing('server_error', 500), 503, /does not answer just now/],
    [refusing('<script>alert(1)</script>'), 403, /did not pass the wiki’s checks/]
  ])) {
    fake.answers = answers
    assertRefused(await signIn(app), status, reason)
  }
  fake.answers = undefined
  assertRefused(await signIn(app, { error: 'login_required' }), 403, /did not sign you in \(login_required\)/)
  const odd = await signIn(app, { error: '<script>alert(1)</script>', error_description: '<b>call 555</b>' })
  assertRefused(odd, 403, /did not sign you in\. Try again/)
  assert.doesNotMatch(odd.body, /<script>alert|555/)
  assert.equal((await signIn(app)).statusCode, 200, 'as soon as it is back')

  await stop()
  assertRefused(await signIn(app), 503, /does not answer just now/)
  assert.equal((await post(app, '/edit/sign-in', { name: 'editor', password: 'correct horse' })).statusCode, 303)
  const logged = JSON.stringify(lines)
  assert.match(logged, /a sign-in with OpenID Connect failed/)
  assert.match(logged, /ECONNREFUSED/)
  for (const secret of [CODE, ACCESS_TOKEN, CLIENT_SECRET, fake.nonce, 'eyJ', 'code=', 'state=']) {
    assert.ok(!logged.includes(secret), `${secret} is in the log`)
  }
})
