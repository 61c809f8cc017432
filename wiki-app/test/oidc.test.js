import assert from 'node:assert/strict'
import test from 'node:test'
import { BROWSER, createLog, get, useWiki } from './helper.js'
import { begin, comeBack, sessionFrom, settingsFor, signInBy, signInThere, startProvider } from './oidc.js'
import { bearer, peopleOnly, post } from './people.js'

const wiki = useWiki()

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
