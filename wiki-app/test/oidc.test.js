import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import test from 'node:test'
import { MongoClient } from 'mongodb'
import { authorsOf } from '../src/history/authors.js'
import { recordCommands } from './commands.js'
import { BROWSER, createLog, get, useWiki } from './helper.js'
import {
  begin, CLIENT_SECRET, comeBack, sessionFrom, settingsFor, signInBy, signInThere, startProvider
} from './oidc.js'
import { bearer, cookieOf, peopleOnly, post } from './people.js'

const wiki = useWiki()

/** @param {import('fastify').FastifyInstance} app @param {string} url @param {object} payload */
const administer = (app, url, payload) => app.inject({
  method: 'POST', url: `/edit/${url}`, headers: { accept: 'application/json', ...bearer('admin') }, payload
})

/** @param {import('fastify').FastifyInstance} app @returns {Promise<string[]>} */
const namesOf = async (app) => (await get(app, '/edit/people', bearer('admin'))).json().people
  .map((/** @type {{name: string}} */ { name }) => name)

/** @param {import('./helper.js').Response} invited */
const secretOf = (invited) => String(invited.json().url).split('/').pop() ?? ''

test('somebody signs in at the provider, gets a name and a role, writes, and is the same person the next time',
  async (t) => {
    const { issuer } = await startProvider(t, { claims: { preferred_username: 'ana', name: 'Ana Novak' } })
    const app = await wiki.build(t, { ...peopleOnly(t), ...settingsFor(issuer) })
    const form = await get(app, '/edit/sign-in?to=/wiki/Bees', BROWSER)
    assert.match(form.body, /action="\/edit\/sign-in\/oidc">\n<input type="hidden" name="to" value="\/wiki\/Bees">/)
    assert.match(form.body, /<button>Sign in with Firm &amp; &lt;b&gt;Co&lt;\/b&gt;<\/button>/)

    const { answer, url, cookie } = await begin(app, { to: '/edit/text/Bees' })
    assert.equal(answer.statusCode, 200)
    assert.match(
      String(answer.headers['set-cookie']),
      /^oidc=[\w-]{300,3000}; Max-Age=600; Path=\/edit\/sign-in\/oidc; HttpOnly; SameSite=Lax$/
    )
    const asked = new URL(url).searchParams
    assert.equal(asked.get('code_challenge_method'), 'S256')
    assert.equal(asked.get('redirect_uri'), 'http://wiki.example/edit/sign-in/oidc/callback')
    assert.ok(asked.get('nonce') && asked.get('state'))

    const back = await comeBack(app, await signInThere(url, 'subject-1'), cookie)
    assert.equal(back.statusCode, 200, back.body)
    assert.equal(back.headers.refresh, '0;url=/edit/text/Bees')
    assert.equal(back.headers['referrer-policy'], 'no-referrer')
    const session = sessionFrom(back)
    const saved = await post(app, '/edit/text/Bees', { content: 'x', tags: '', base_revision: '0' }, session)
    assert.equal(saved.statusCode, 303, saved.body)
    const [change] = (await get(app, '/api/v1/pages/Bees/revisions')).json().items
    assert.equal(change.author, 'ana')
    const account = await get(app, '/edit/account', { ...BROWSER, ...session })
    assert.match(account.body, /Your name in this wiki is <b dir="auto">ana<\/b>/)
    assert.match(account.body, /You have no password here/)
    assert.doesNotMatch(account.body, /type="password"/)

    assert.equal((await signInBy(app, 'subject-1')).statusCode, 200)
    assert.equal((await signInBy(app, 'subject-2')).statusCode, 200)
    const { people } = (await get(app, '/edit/people', bearer('admin'))).json()
    assert.deepEqual(people.map((/** @type {any} */ { name, role, has_password: password, has_identity: identity }) =>
      [name, role, password, identity]), [['ana', 'editor', false, true], ['ana 2', 'editor', false, true]])
    const { acts } = (await get(app, '/edit/audit', bearer('admin'))).json()
    assert.deepEqual(acts.map((/** @type {any} */ { actor, did, to, role }) => [actor, did, to, role]), [
      ['OpenID Connect', 'admitted', 'ana 2', 'editor'], ['OpenID Connect', 'admitted', 'ana', 'editor']
    ])
  })

test('an invitation connects an account there with the name that is invited; nobody else comes in', async (t) => {
  const { issuer } = await startProvider(t, { claims: { preferred_username: 'editor', name: 'editor' } })
  const app = await wiki.build(t, { ...peopleOnly(t), ...settingsFor(issuer, 'none') })
  const stranger = await signInBy(app, 'subject')
  assert.equal(stranger.statusCode, 403)
  assert.match(stranger.body, /Ask an administrator to invite you/)
  assert.equal(sessionFrom(stranger).cookie, '')
  assert.deepEqual(await namesOf(app), [], 'a name like one of here opens nothing')

  const invitation = secretOf(await administer(app, 'people', { name: 'Ana', role: 'reader' }))
  const form = await get(app, `/invitations/${invitation}`, BROWSER)
  assert.match(form.body, new RegExp(`name="invitation" value="${invitation}"`))
  const joined = await signInBy(app, 'subject', { invitation })
  assert.equal(joined.statusCode, 200, joined.body)
  assert.match(joined.body, /Your name in this wiki is “Ana”/)
  const again = await signInBy(app, 'subject')
  assert.deepEqual((await get(app, '/edit/account', sessionFrom(again))).json(), { name: 'Ana', tokens: [] })
  const reused = await signInBy(app, 'another', { invitation })
  assert.equal(reused.statusCode, 404)
  assert.match(reused.body, /This link was used/)

  const second = secretOf(await administer(app, 'people', { name: 'Bor', role: 'editor' }))
  const taken = await signInBy(app, 'subject', { invitation: second })
  assert.equal(taken.statusCode, 409)
  assert.match(taken.body, /You are “Ana” in this wiki already/)
  const password = 'a new password'
  assert.equal((await post(app, `/invitations/${second}`, { password, again: password })).statusCode, 303)
  const { acts } = (await get(app, '/edit/audit', bearer('admin'))).json()
  assert.ok(acts.some((/** @type {any} */ { actor, did, to }) =>
    actor === 'OpenID Connect' && did === 'connected' && to === 'Ana'))
})

test('a link connects somebody with a password, too: both ways lead in, and sessions from before end', async (t) => {
  const { issuer } = await startProvider(t)
  const app = await wiki.build(t, { ...peopleOnly(t), ...settingsFor(issuer, 'none') })
  const password = 'a new password'
  const first = secretOf(await administer(app, 'people', { name: 'Ana', role: 'editor' }))
  await post(app, `/invitations/${first}`, { password, again: password })
  const before = sessionFrom(await post(app, '/edit/sign-in', { name: 'Ana', password }))
  assert.equal((await get(app, '/edit/account', before)).statusCode, 200)
  const invitation = secretOf(await administer(app, 'people/link', { name: 'Ana' }))
  const connected = sessionFrom(await signInBy(app, 'subject', { invitation }))
  assert.equal((await get(app, '/edit/account', before)).statusCode, 401)
  const account = await get(app, '/edit/account', { ...BROWSER, ...connected })
  assert.match(account.body, /You sign in with OpenID Connect or with your password/)
  assert.equal((await post(app, '/edit/sign-in', { name: 'Ana', password })).statusCode, 303)
  assert.equal((await signInBy(app, 'subject')).statusCode, 200)
})

test('blocked and removed people do not come in, and a link lets in again', async (t) => {
  const { issuer } = await startProvider(t, { claims: { preferred_username: 'ana' } })
  const app = await wiki.build(t, { ...peopleOnly(t), ...settingsFor(issuer) })
  const session = sessionFrom(await signInBy(app, 'subject'))
  await post(app, '/edit/text/a', { content: 'x', tags: '', base_revision: '0' }, session)
  await administer(app, 'people/block', { name: 'ana' })
  assert.equal((await get(app, '/edit/account', session)).statusCode, 401)
  const blocked = await signInBy(app, 'subject')
  assert.equal(blocked.statusCode, 403)
  assert.match(blocked.body, /“ana” is blocked/)
  await administer(app, 'people/unblock', { name: 'ana' })
  assert.equal((await signInBy(app, 'subject')).statusCode, 200)

  assert.equal((await administer(app, 'people/remove', { name: 'ana' })).statusCode, 204)
  const removed = await signInBy(app, 'subject')
  assert.equal(removed.statusCode, 403)
  assert.match(removed.body, /was removed from this wiki/)
  assert.deepEqual(await namesOf(app), [])
  const invitation = secretOf(await administer(app, 'people', { name: 'Ana again', role: 'reader' }))
  assert.equal((await signInBy(app, 'subject', { invitation })).statusCode, 200)
  assert.equal((await signInBy(app, 'subject')).statusCode, 200)
  assert.deepEqual(await namesOf(app), ['Ana again'])
  assert.equal((await signInBy(app, 'a namesake')).statusCode, 200)
  assert.deepEqual(await namesOf(app), ['ana 2', 'Ana again'], 'the history has changes by “ana”')
})

test('an identity that a link replaced is no other person, until an invitation forgets it', async (t) => {
  const { issuer } = await startProvider(t, { claims: { preferred_username: 'ana' } })
  const app = await wiki.build(t, { ...peopleOnly(t), ...settingsFor(issuer, 'reader') })
  assert.equal((await signInBy(app, 'first')).statusCode, 200)
  const invitation = secretOf(await administer(app, 'people/link', { name: 'ana' }))
  assert.equal((await signInBy(app, 'second', { invitation })).statusCode, 200)
  assert.match((await signInBy(app, 'first')).body, /was removed from this wiki/)
  for (const verb of ['block', 'remove']) {
    await administer(app, `people/${verb}`, { name: 'ana' })
    for (const sub of ['first', 'second']) assert.equal((await signInBy(app, sub)).statusCode, 403, `${verb} ${sub}`)
  }
  assert.deepEqual(await namesOf(app), [])

  const again = secretOf(await administer(app, 'people', { name: 'Ana', role: 'reader' }))
  assert.equal((await signInBy(app, 'first', { invitation: again })).statusCode, 200)
  const same = secretOf(await administer(app, 'people/link', { name: 'Ana' }))
  assert.equal((await signInBy(app, 'first', { invitation: same })).statusCode, 200)
  assert.equal((await signInBy(app, 'first')).statusCode, 200, 'the same identity once more is not one of before')
  assert.equal((await signInBy(app, 'second')).statusCode, 403)
  assert.deepEqual(await namesOf(app), ['Ana'])
})

test('a name is nobody else’s, is a line of ordinary letters, and no mail address', async (t) => {
  const provider = await startProvider(t, { inIdToken: false })
  const app = await wiki.build(t, { ...peopleOnly(t), ...settingsFor(provider.issuer) })
  await post(app, '/edit/text/a', { content: 'x', tags: '', base_revision: '0' },
    sessionFrom(await post(app, '/edit/sign-in', { name: 'editor', password: 'correct horse' })))
  const given = /** @type {[Record<string, string>, string][]} */ ([
    [{ preferred_username: 'EDITOR' }, 'EDITOR 2'],
    [{ preferred_username: 'The Server' }, 'The Server 2'],
    [{ preferred_username: 'openid connect' }, 'openid connect 2'],
    [{ preferred_username: 'cene@firm.example' }, 'cene'],
    [{ preferred_username: '\uff23ene' }, 'Cene 2'],
    [{ preferred_username: '@', name: 'Dana  Kos' }, 'Dana Kos'],
    [{ preferred_username: 'D\u0430na', name: 'dana\u202e' }, 'Person'],
    [{ preferred_username: '<script>alert(1)</script>' }, '<script>alert(1)</script>'],
    [{ name: 'x'.repeat(5_000) }, 'x'.repeat(72)],
    [{ preferred_username: '4711' }, 'Person 2'],
    [{}, 'Person 3']
  ])
  for (const [index, [claims, name]] of given.entries()) {
    for (const key of Object.keys(provider.claims)) delete provider.claims[key]
    Object.assign(provider.claims, claims)
    const answer = await signInBy(app, `subject-${index}`)
    assert.equal(answer.statusCode, 200, answer.body)
    assert.doesNotMatch(answer.body, /<script>alert/)
    const account = await get(app, '/edit/account', sessionFrom(answer))
    assert.equal(account.json().name, name)
    const page = await get(app, '/edit/account', { ...BROWSER, ...sessionFrom(answer) })
    assert.doesNotMatch(page.body, /<script>alert/)
  }
})

test('nobody takes the name of an author in other capitals, and that is one pass over names', async (t) => {
  const MONGODB_URI = `${wiki.freshUri()}&monitorCommands=true`
  const open = await wiki.build(t, { MONGODB_URI })
  const authors = ['Ana Novak', 'ana NOVAK 2', 'C\u030cEBELA', 'Ana', '']
  for (const [index, author] of authors.entries()) {
    for (const page of ['a', 'b', 'c']) {
      const { statusCode } = await post(open, `/edit/text/${page}`, {
        content: `text ${index}`, tags: '', author, base_revision: String(index)
      })
      assert.equal(statusCode, 303)
    }
  }
  const { issuer, claims } = await startProvider(t)
  const { built: app, sent } = await recordCommands(() =>
    wiki.build(t, { MONGODB_URI, ...peopleOnly(t), ...settingsFor(issuer) }))
  for (const [index, [given, name]] of [
    ['ANA NOVAK', 'ANA NOVAK 3'], ['ana novak', 'ana novak 4'], ['\u010debela', '\u010debela 2'],
    ['Ana Nova', 'Ana Nova']
  ].entries()) {
    claims.preferred_username = given
    const account = await get(app, '/edit/account', sessionFrom(await signInBy(app, `subject-${index}`)))
    assert.equal(account.json().name, name)
  }
  const asked = sent.filter(({ collection }) => collection === 'revisions')
  assert.deepEqual(asked.map(({ kind }) => kind), Array(4).fill('aggregate'), 'one pass for each newcomer')
  await signInBy(app, 'subject-0')
  assert.equal(sent.filter(({ collection }) => collection === 'revisions').length, 4, 'none for others')

  const client = await MongoClient.connect(MONGODB_URI)
  t.after(() => client.close())
  const pass = authorsOf(client.db().collection('revisions'))
  assert.deepEqual((await pass.clone().toArray()).map(({ _id }) => _id), [...authors].sort())
  const plan = JSON.stringify(await pass.explain('executionStats'))
  assert.match(plan, /"stage":"DISTINCT_SCAN"/)
  assert.match(plan, new RegExp(`"totalKeysExamined":${authors.length},"totalDocsExamined":0,`))
})

test('two first sign-ins of one person at once make one person', async (t) => {
  const { issuer } = await startProvider(t, { claims: { preferred_username: 'ana' } })
  const app = await wiki.build(t, { ...peopleOnly(t), ...settingsFor(issuer) })
  const ready = await Promise.all([1, 2].map(async () => {
    const { url, cookie } = await begin(app)
    return { returned: await signInThere(url, 'subject'), cookie }
  }))
  const both = await Promise.all(ready.map(({ returned, cookie }) => comeBack(app, returned, cookie)))
  assert.deepEqual(both.map(({ statusCode }) => statusCode), [200, 200])
  assert.deepEqual(await namesOf(app), ['ana'])
})

test('signing in ends the session that the browser had, and no log has a code, a state or a secret', async (t) => {
  const { issuer } = await startProvider(t, { claims: { preferred_username: 'ana' } })
  const { lines, logTo } = createLog()
  const app = await wiki.build(t, { ...peopleOnly(t), ...settingsFor(issuer), LOG_LEVEL: 'trace' }, {}, { logTo })
  const before = sessionFrom(await post(app, '/edit/sign-in', { name: 'reader', password: 'correct horse' }))
  const { url, cookie } = await begin(app, {}, before)
  assert.equal((await get(app, '/edit/account', before)).statusCode, 200, 'until the way is gone to its end')
  const returned = await signInThere(url, 'subject')
  const session = sessionFrom(await comeBack(app, returned, cookie))
  assert.equal((await get(app, '/edit/account', session)).json().name, 'ana')
  assert.equal((await get(app, '/edit/account', before)).statusCode, 401)
  const logged = JSON.stringify(lines)
  assert.match(logged, /"\/edit\/sign-in\/oidc\/callback"/)
  const { code, state } = Object.fromEntries(new URL(returned, 'http://wiki').searchParams)
  for (const secret of [code, state, CLIENT_SECRET, cookie, session.cookie.slice('session='.length)]) {
    assert.ok(secret.length > 10 && !logged.includes(secret), secret)
  }
})

test('signing in also ends the session of the browser from before READ_ACCESS changed', async (t) => {
  const { issuer } = await startProvider(t, { claims: { preferred_username: 'ana' } })
  const settings = { ...peopleOnly(t), ...settingsFor(issuer), MONGODB_URI: wiki.freshUri() }
  const [open, closed] =
    [await wiki.build(t, settings), await wiki.build(t, { ...settings, READ_ACCESS: 'members' })]
  const [ofOpen, ofClosed] = [await cookieOf(open, 'reader'), await cookieOf(closed, 'editor')]
  const { url, cookie } = await begin(open, {}, { cookie: `${ofOpen.cookie}; ${ofClosed.cookie}` })
  assert.equal((await comeBack(open, await signInThere(url, 'subject'), cookie)).statusCode, 200)
  assert.equal((await get(open, '/edit/account', ofOpen)).statusCode, 401)
  assert.equal((await get(closed, '/edit/account', ofClosed)).statusCode, 401)
})

test('a browser is not known by a cookie for a name without a password, which everybody could make', async (t) => {
  const { issuer } = await startProvider(t, { claims: { preferred_username: 'ana' } })
  const app = await wiki.build(t, { ...peopleOnly(t), ...settingsFor(issuer) })
  await signInBy(app, 'subject')
  const statuses = []
  for (let guess = 0; guess < 11; guess++) {
    const id = Buffer.alloc(16, guess).toString('base64url')
    const seal = createHmac('sha256', '').update(`device ${id} ana`).digest('base64url')
    const answer = await post(app, '/edit/sign-in', { name: 'ana', password: 'x' }, { cookie: `device=${id}.${seal}` })
    statuses.push(answer.statusCode)
  }
  assert.deepEqual(statuses, [...Array.from({ length: 10 }, () => 401), 429])
})
