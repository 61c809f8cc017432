// Protection and review in private spaces: their administrators see to it, and nobody elsewhere sees anything.
import assert from 'node:assert/strict'
import test from 'node:test'
import { ObjectId } from 'mongodb'
import { BROWSER, get, useWiki } from './helper.js'
import { bearer, cookieOf, post } from './people.js'
import { makeSpace, put, send, startWithPeople, WORD } from './spaces.js'

/** @typedef {import('fastify').FastifyInstance} App */

const wiki = useWiki()
const TEAM = '?space=Team'

/** @param {App} app @param {string} name @param {object} [rule] @param {string} [by] */
const protect = (app, name, rule = {}, by = 'teamadmin') =>
  send(app, `/api/v1/protections/${encodeURIComponent(name)}`, rule, by, 'PUT')

/**
 * @param {App} app @param {string} name @param {string} content @param {string} [by]
 * @returns {Promise<string>} id
 */
async function propose (app, name, content, by) {
  const answer = await put(app, name, { content, summary: WORD }, by)
  assert.equal(answer.statusCode, 202, answer.body)
  return answer.json().id
}

/** @param {App} app @param {string} url @param {string} by */
const open = (app, url, by) => get(app, url, { ...BROWSER, ...bearer(by) })

test('groups protect and review in their private space', async (t) => {
  const { app, db } = await startWithPeople(t, wiki)
  const [rules, proposals] = [db.collection('space_protections'), db.collection('space_proposals')]
  await makeSpace(app, 'Team')
  // The person “editor” administers another space, and has no role in this one.
  await send(app, '/edit/spaces', { name: 'Other' })
  await send(app, '/edit/groups', { name: 'others' })
  await send(app, '/edit/groups/add', { name: 'others', person: 'editor' })
  await send(app, '/edit/spaces/grant', { name: 'Other', group: 'others', role: 'admin' })
  await put(app, 'Team/Rules', { content: 'one\n\ntwo\n', tags: ['law'] }, 'teamadmin')

  await t.test('an administrator has it reviewed, an editor proposes, and the text appears as theirs', async () => {
    const [admin, editor] = [await cookieOf(app, 'teamadmin'), await cookieOf(app, 'teameditor')]
    const asAdmin = (/** @type {string} */ url) => get(app, url, { ...BROWSER, ...admin })
    const asEditor = (/** @type {string} */ url) => get(app, url, { ...BROWSER, ...editor })
    assert.match((await asAdmin('/edit/in/pages?space=Team')).body,
      /"\/edit\/proposals\?space=Team"[^]*"\/edit\/protection\?space=Team"/)
    assert.doesNotMatch((await asEditor('/edit/in/pages?space=Team')).body, /edit\/protection/)
    assert.match((await asAdmin('/edit/text/Team/Rules')).body,
      /"\/edit\/protection\?space=Team&amp;name=Team%2FRules"/)
    const rule = { name: 'Team', subpages: 'true', review: 'true', role: 'admin', reason: 'agreed <b>' }
    const made = await post(app, `/edit/protection${TEAM}`, rule, admin)
    assert.deepEqual([made.statusCode, made.headers.location], [303, `/edit/protection${TEAM}`], made.body)
    const list = await asAdmin(`/edit/protection${TEAM}`)
    assert.match(list.body, /Protected pages of the private space “Team”[^]*agreed &lt;b&gt;/)
    assert.doesNotMatch(list.body, /\/edit\/audit/)
    assert.equal(list.headers['cache-control'], 'private, no-store')

    assert.match((await asEditor('/edit/text/Team/Rules')).body,
      /Your text will wait[^]*agreed &lt;b&gt;[^]*"\/edit\/proposals\?space=Team"/)
    const typed = { content: 'one\n\ntwo <i>\n', tags: 'law', summary: 'why', base_revision: '1' }
    const sent = await post(app, '/edit/text/Team/Rules', typed, editor)
    assert.match(String(sent.headers.location), /^\/edit\/proposal\/[0-9a-f]{24}\?space=Team&saved=0$/, sent.body)
    const url = String(sent.headers.location).replace('&saved=0', '')
    const act = (/** @type {string} */ verb) => url.replace('?', `/${verb}?`)
    assert.match((await asEditor(url)).body, /waits for a review[^]*<mark> ?&lt;i&gt;[^]*\/withdraw\?space=Team"/)
    assert.match((await asEditor(`/edit/proposals${TEAM}`)).body, /Your proposals in[^]*Team\/Rules[^]*open/)
    assert.match((await asAdmin(`/edit/proposals${TEAM}`)).body, /Team\/Rules[^]*teameditor[^]*why/)
    assert.match((await asAdmin(`/edit/protection${TEAM}`)).body, /1 proposal waits for a review/)
    assert.match((await asAdmin(url)).body, /\/publish\?space=Team"[^]*\/decline\?space=Team"/)
    for (const [by, status] of [['teamreader', 403], ['teameditor', 403], ['editor', 403]]) {
      assert.equal((await send(app, act('publish'), {}, String(by))).statusCode, status, String(by))
    }
    const published = await post(app, act('publish'), {}, admin)
    assert.deepEqual([published.statusCode, published.headers.location], [303, '/wiki/Team/Rules?saved=2'])
    const revision = await db.collection('space_revisions').findOne({ page: 'Team/Rules', revision: 2 })
    assert.deepEqual([revision?.content, revision?.author], [typed.content, 'teameditor'])
    assert.equal((await proposals.findOne({}))?.content, '')

    const again = await propose(app, 'Team/New', WORD)
    const api = `/api/v1/proposals/${again}`
    assert.equal((await send(app, `${api}/decline${TEAM}`, { reason: 'not yet' }, 'teamadmin')).statusCode, 204)
    assert.match((await asEditor(`/edit/proposal/${again}${TEAM}`)).body, /Declined:[^]*not yet/)
    const read = await get(app, `${api}${TEAM}`, bearer('teameditor'))
    assert.deepEqual([read.json().url, read.json().state, read.headers['cache-control']],
      [api + TEAM, 'declined', 'private, no-store'])
    const form = await asEditor(`/edit/text/Team/New?proposal=${again}`)
    assert.match(form.body, /This is your proposal/)
    const { acts } = (await get(app, '/edit/audit', bearer('admin'))).json()
    assert.deepEqual(acts.slice(0, 3).map((/** @type {any} */ { actor, did }) => [actor, did]),
      [['teamadmin', 'declined'], ['teamadmin', 'published'], ['teamadmin', 'reviewed-below']])
  })

  await t.test('a conflict shows both texts, and saving that form publishes the proposal', async () => {
    const admin = await cookieOf(app, 'teamadmin')
    const id = await propose(app, 'Team/Rules', 'ONE\n\ntwo <i>\n')
    await put(app, 'Team/Rules', { content: 'One\n\ntwo <i>\n' }, 'teamadmin')
    const conflict = await post(app, `/edit/proposal/${id}/publish${TEAM}`, {}, admin)
    assert.equal(conflict.statusCode, 409)
    assert.match(conflict.body, /&lt;&lt;&lt; Your lines\nONE\n=+ The lines of revision 3\nOne\n/)
    assert.match(conflict.body, new RegExp(`name="proposal" value="${id}"`))
    const resolved = { content: 'oNe\n\ntwo <i>\n', tags: '', base_revision: '3', proposal: id }
    const saved = await post(app, '/edit/text/Team/Rules', resolved, admin)
    assert.equal(saved.headers.location, '/wiki/Team/Rules?saved=4', saved.body)
    const revision = await db.collection('space_revisions').findOne({ page: 'Team/Rules', revision: 4 })
    assert.equal(revision?.author, 'teameditor')
    assert.equal((await proposals.findOne({ _id: new ObjectId(id) }))?.state, 'published')
  })

  await t.test('nothing of it is anywhere else, and no other role reaches it', async () => {
    const id = await propose(app, `Team/${WORD}`, WORD)
    await protect(app, `Team/${WORD}`, { review: true, reason: WORD })
    assert.equal(await db.collection('protections').countDocuments(), 0)
    assert.equal(await db.collection('proposals').countDocuments(), 0)
    for (const by of ['editor', 'reader', 'teameditor', 'teamadmin', 'admin']) {
      for (const url of ['/edit/proposals', '/edit/protection', '/api/v1/proposals', '/api/v1/protections',
        ...['/edit/proposals', '/edit/protection', '/api/v1/proposals'].map((list) => `${list}?space=Other`),
        '/edit/people', `/edit/proposal/${id}`, `/edit/proposal/${id}?space=Other`, `/api/v1/proposals/${id}`,
        `/edit/text/Other/x?proposal=${id}`, `/edit/text/Public?proposal=${id}`]) {
        const { statusCode, body } = await open(app, url, by)
        assert.ok(!body.replaceAll(`proposal=${id}`, '').includes(WORD), `${url} for ${by}`)
        assert.doesNotMatch(body, /Team\/|[1-9]\d* proposals? wait/, `${url} for ${by}`)
        assert.ok(!url.includes(id) || [403, 404].includes(statusCode), `${url} for ${by}: ${statusCode}`)
      }
    }
    for (const query of ['', '?space=Other', '?space=Other/x']) {
      for (const verb of ['publish', 'decline', 'withdraw']) {
        for (const path of ['/edit/proposal', '/api/v1/proposals']) {
          const url = `${path}/${id}/${verb}${query}`
          const by = query === '' ? 'admin' : 'editor'
          assert.equal((await send(app, url, { reason: 'x' }, by)).statusCode, 404, url)
        }
      }
    }
    const taken = { content: 'mine', base_revision: '0', proposal: id }
    const stolen = await post(app, '/edit/text/Other/x', taken, await cookieOf(app, 'editor'))
    assert.deepEqual([stolen.statusCode, stolen.body.includes(WORD)], [404, false])
    assert.equal((await protect(app, 'Team/x', {}, 'editor')).statusCode, 403)
    assert.equal((await protect(app, 'Team/x', {}, 'teameditor')).statusCode, 403)
    const across = { name: 'Team/x', role: 'admin' }
    for (const by of ['editor', 'admin']) {
      assert.equal((await send(app, '/edit/protection?space=Other', across, by)).statusCode, 409, by)
      assert.equal((await send(app, '/edit/protection/remove?space=Other', { name: 'Team' }, by)).statusCode, 409, by)
      assert.match((await send(app, '/edit/protection?space=Other', { name: 'Free' }, by)).body,
        /“Free” is not in the private space “Other”.*“Other\/Plan”/, by)
    }
    for (const list of ['/edit/proposals', '/edit/protection', '/api/v1/proposals', '/api/v1/protections']) {
      for (const name of ['Nowhere', '', '%00', 'a&space=Team', '[$ne]']) {
        const { statusCode } = await open(app, `${list}?space=${name}`, 'admin')
        assert.ok([400, 404].includes(statusCode), `${list} ${name}: ${statusCode}`)
      }
    }
    assert.equal((await proposals.findOne({ _id: new ObjectId(id) }))?.state, 'open')

    // Administrators of the wiki may all: their list sends what is of a space there.
    const led = await send(app, '/edit/protection', across)
    assert.deepEqual([led.statusCode, led.headers.location], [307, `/edit/protection${TEAM}`])
    assert.match((await open(app, `/edit/proposals${TEAM}`, 'admin')).body, new RegExp(WORD))
    await send(app, `/edit/protection/remove${TEAM}`, { name: `Team/${WORD}` })
    assert.equal((await send(app, `/edit/proposal/${id}/publish${TEAM}`, {})).statusCode, 200)
  })

  await t.test('a role that ends in the space ends the sight of proposals, also of own ones', async () => {
    const id = await propose(app, 'Team/mine', 'mine', `${WORD}er`)
    const urls = [`/edit/proposals${TEAM}`, `/edit/proposal/${id}${TEAM}`, `/api/v1/proposals/${id}${TEAM}`,
      `/edit/text/Team/mine?proposal=${id}`]
    const statuses = async () => Promise.all(urls.map(async (url) => (await open(app, url, `${WORD}er`)).statusCode))
    assert.deepEqual(await statuses(), [200, 200, 200, 200])
    await send(app, '/edit/groups/take', { name: 'editors', person: `${WORD}er` })
    assert.deepEqual(await statuses(), [403, 403, 403, 403])
    assert.doesNotMatch((await open(app, '/edit/proposals', `${WORD}er`)).body, /Team/)
    assert.equal((await send(app, `/api/v1/proposals/${id}/withdraw${TEAM}`, {}, `${WORD}er`)).statusCode, 403)
    await send(app, '/edit/groups/add', { name: 'editors', person: `${WORD}er` })
    assert.deepEqual(await statuses(), [200, 200, 200, 200])
    assert.equal((await send(app, `/edit/proposal/${id}/withdraw${TEAM}`, {}, `${WORD}er`)).statusCode, 204)
  })

  await t.test('all ways of writing obey a rule; a renamed page stays protected', async () => {
    for (const content of ['first', 'Intro\n\n## Part\n\n- [ ] a task\n']) {
      for (const name of ['Team/Law', 'Talk:Team/Law']) await put(app, name, { content }, 'teamadmin')
    }
    await protect(app, 'Team/Law', { subpages: true, reason: 'the law' })
    await protect(app, 'Talk:Team/Law', {})
    await protect(app, 'Team/Law/Box', { role: 'editor' })
    await protect(app, 'Team/Free', { role: 'editor' })
    await put(app, 'Team/Free', { content: 'x' })
    /** @type {[string, object, string?][]} */
    const ways = [
      ['/edit/text/Team/Law', { content: 'x' }], ['/wiki/Team/Law', { content: 'x' }],
      ['/api/v1/pages/Team%2FLaw%2Fnew', { content: 'x' }, 'PUT'], ['/api/v1/pages/Team%2FLaw', {}, 'DELETE'],
      ['/edit/delete/Team/Law', {}], ['/edit/rename/Team/Law', { to: 'Team/Gone' }],
      ['/api/v1/pages/Team%2FFree/rename', { to: 'Team/Law/in' }], ['/edit/revert/Team/Law', { revision: 1 }],
      ['/edit/task/Team/Law', { base_revision: '2', task: '5', checked: 'true' }],
      ['/edit/topic/Talk:Team/Law', { topic: 'T', content: 'x' }]
    ]
    const count = () => db.collection('space_revisions').countDocuments()
    const before = await count()
    for (const [url, payload, method] of ways) {
      const answer = await send(app, url, payload, 'teameditor', method)
      assert.deepEqual([answer.statusCode, /is protected/.test(answer.body)], [403, true], `${url} ${answer.body}`)
    }
    assert.equal(await count(), before)
    assert.equal((await put(app, 'Team/Law/Box', { content: 'x' })).statusCode, 201, 'an exception')
    assert.equal((await put(app, 'Team/Law', { content: 'changed' }, 'teamadmin')).statusCode, 200)
    assert.equal((await send(app, '/edit/rename/Team/Law', { to: 'Team/Law2' }, 'teamadmin')).statusCode, 201)
    assert.equal((await put(app, 'Team/Law2', { content: 'x' })).statusCode, 403)
    const names = (await get(app, `/api/v1/protections${TEAM}`, bearer('teamadmin'))).json().protections
      .map((/** @type {{name: string}} */ { name }) => name)
    assert.deepEqual(names,
      ['Talk:Team/Law', 'Talk:Team/Law2', 'Team', 'Team/Free', 'Team/Law', 'Team/Law/Box', 'Team/Law2'])
    assert.equal((await send(app, '/api/v1/protections/Team%2FLaw2', {}, 'teamadmin', 'DELETE')).statusCode, 204)
    assert.equal((await put(app, 'Team/Law2', { content: 'x' })).statusCode, 202, 'the rule above it counts again')
  })

  await t.test('once a rule is made, no save that began before it is committed', async () => {
    for (let round = 0; round < 3; round++) {
      const root = `Team/Race${round}`
      await protect(app, root, { subpages: true, role: 'editor' })
      await put(app, `${root}/old`, { content: 'x' })
      const saves = ['', '/old', '/new/deep', '/new'].map((path) => put(app, root + path, { content: 'y' }))
      await saves[round]
      assert.equal((await protect(app, root, { subpages: true })).statusCode, 200)
      const count = await db.collection('space_revisions').countDocuments()
      const statuses = (await Promise.all(saves)).map(({ statusCode }) => statusCode)
      assert.ok(statuses.every((status) => [200, 201, 403].includes(status)), statuses.join())
      assert.equal(await db.collection('space_revisions').countDocuments(), count, statuses.join())
    }
  })

  await t.test('each space has limits of its own', async () => {
    const made = (/** @type {string} */ space) => (/** @type {unknown} */ _, /** @type {number} */ index) => ({
      space,
      name: `${space}/${index}`,
      base_revision: 0,
      content: '',
      tags: null,
      summary: '',
      author: 'teameditor',
      author_key: 'teameditor',
      state: 'open',
      at: new Date()
    })
    await proposals.deleteMany({})
    await proposals.insertMany(Array.from({ length: 25 }, made('Other')))
    await propose(app, 'Team/a', 'x')
    await proposals.insertMany(Array.from({ length: 19 }, made('Team')))
    const refused = await put(app, 'Team/b', { content: 'x' })
    assert.equal(refused.statusCode, 409)
    assert.match(refused.json().detail, /20 of your proposals wait.*Withdraw one at \/edit\/proposals\?space=Team/)
    const more = Array.from({ length: 200 }, (_, index) => ({ _id: /** @type {any} */ (`Other/${index}`) }))
    await rules.insertMany(more.map((rule) => ({ ...rule, space: 'Other', role: 'admin', at: new Date() })))
    assert.equal((await protect(app, 'Team/b')).statusCode, 201)
    assert.equal((await protect(app, 'Other/more', {}, 'editor')).statusCode, 409)

    // A removed account takes its proposals along.
    await send(app, '/edit/people', { name: 'Ana', role: 'reader' })
    await proposals.updateOne({ space: 'Other' }, { $set: { author: 'Ana', author_key: 'ana' } })
    await send(app, '/edit/people/remove', { name: 'Ana', sure: 'yes' })
    assert.equal(await proposals.countDocuments({ author_key: 'ana' }), 0)
  })

  await t.test('a space with open proposals stays; what else there is of it goes along', async () => {
    await makeSpace(app, 'Gone')
    await protect(app, 'Gone', { subpages: true, review: true })
    const remove = () => send(app, '/edit/spaces/remove', { name: 'Gone' })
    const id = await propose(app, 'Gone/a', 'x')
    const space = await db.collection('spaces').findOne({ _id: /** @type {any} */ ('Gone') })
    assert.equal(space?.reviewed, 2, 'the rule and the proposal have written it: a removal at the same time conflicts')
    const kept = await remove()
    assert.equal(kept.statusCode, 409)
    assert.match(kept.json().detail, /proposals wait for a review \(1\).*\/edit\/proposals\?space=Gone/)
    await send(app, `/edit/proposal/${id}/decline?space=Gone`, { reason: 'no' }, 'teamadmin')
    const [removed, ...late] = await Promise.all([remove(), ...[1, 2, 3].map((index) =>
      put(app, `Gone/${index}`, { content: 'x' }))])
    const isThere = removed.statusCode !== 204
    const open = await proposals.countDocuments({ space: 'Gone', state: 'open' })
    const statuses = late.map(({ statusCode }) => statusCode)
    assert.equal(open, statuses.filter((status) => status === 202).length, `${removed.statusCode} ${statuses.join()}`)
    assert.equal(isThere, open > 0, removed.body)
    await proposals.updateMany({ space: 'Gone' }, { $set: { state: 'declined' } })
    if (isThere) assert.equal((await remove()).statusCode, 204)
    for (const each of [rules, proposals]) assert.equal(await each.countDocuments({ space: 'Gone' }), 0)
    await makeSpace(app, 'Gone')
    assert.equal((await put(app, 'Gone/a', { content: 'x' })).statusCode, 201)
    const own = await get(app, '/api/v1/proposals?space=Gone', bearer('teameditor'))
    assert.deepEqual(own.json().items, [])
  })
})
