// Pages whose changes wait for a review: editors propose, administrators publish.
import assert from 'node:assert/strict'
import test from 'node:test'
import { MongoClient, ObjectId } from 'mongodb'
import { BROWSER, get, useWiki } from './helper.js'
import { bearer, cookieOf, peopleOnly, post, tokenOf, USERS } from './people.js'
import { sha256 } from '../src/access/users.js'

/** @typedef {import('fastify').FastifyInstance} App */

const wiki = useWiki()
const OTHERS = [['Ana', 'editor'], ['Bor', 'admin']].map(([name, role]) =>
  ({ ...USERS[0], name, role, tokens: [{ label: 'x', sha256: sha256(tokenOf(name)) }] }))

/** @param {App} app @param {string} method @param {string} url @param {any} payload @param {string} by */
const send = (app, method, url, payload, by) => app.inject({
  method: /** @type {'GET'} */ (method), url, payload, headers: { accept: 'application/json', ...bearer(by) }
})

/** @param {App} app @param {string} name @param {object} text @param {string} [by] */
const put = (app, name, text, by = 'editor') => send(app, 'PUT', `/api/v1/pages/${encodeURIComponent(name)}`, text, by)

/** @param {App} app @param {string} name @param {object} text @returns {Promise<string>} id of the proposal */
async function propose (app, name, text, by = 'editor') {
  const answer = await put(app, name, text, by)
  assert.equal(answer.statusCode, 202, answer.body)
  return answer.json().id
}

/** @param {App} app @param {string} name @param {object} [rule] */
async function review (app, name, rule = {}) {
  const { statusCode, body } = await send(app, 'PUT', `/api/v1/protections/${name}`, { review: true, ...rule }, 'admin')
  assert.ok(statusCode < 300, body)
}

/** @param {App} app @param {string} name @returns {Promise<string>} */
const textOf = async (app, name) => (await get(app, `/api/v1/pages/${name}`)).json().content

/** @param {App} app @param {string} id @param {string} verb @param {string} [by] @param {object} [payload] */
const act = (app, id, verb, by = 'admin', payload = undefined) =>
  send(app, 'POST', `/api/v1/proposals/${id}/${verb}`, payload, by)

test('editors propose, and administrators publish', async (t) => {
  const uri = wiki.freshUri()
  const app = await wiki.build(t, { ...peopleOnly(t, { users: [...USERS, ...OTHERS] }), MONGODB_URI: uri })
  const client = await MongoClient.connect(uri)
  t.after(() => client.close())
  const db = client.db()
  const [proposals, revisions] = [db.collection('proposals'), db.collection('revisions')]
  const editor = await cookieOf(app, 'editor')
  const admin = await cookieOf(app, 'admin')
  const open = (/** @type {string} */ url, /** @type {object} */ cookie) => get(app, url, { ...BROWSER, ...cookie })

  await t.test('the story: a form proposes, its author and administrators see it, and it is published', async () => {
    await put(app, 'Rules', { content: 'one\n\ntwo\n', tags: ['law'] }, 'admin')
    const view = await get(app, '/wiki/Rules')
    await review(app, 'Rules', { reason: 'agreed <b>' })
    const form = await open('/edit/text/Rules', editor)
    assert.match(form.body, /Your text will wait until an administrator publishes it[^]*<bdi>agreed &lt;b&gt;<\/bdi>/)
    const fields = { content: 'one\n\ntwo <i>\n', tags: 'law, new', summary: 'why <b>', base_revision: '1' }
    const sent = await post(app, '/edit/text/Rules', fields, editor)
    assert.equal(sent.statusCode, 303, sent.body)
    const url = String(sent.headers.location).replace('?saved=0', '')
    assert.match(url, /^\/edit\/proposal\/[0-9a-f]{24}$/)
    const after = await get(app, '/wiki/Rules')
    assert.equal(after.body, view.body, 'a view is the same')
    assert.equal(after.headers.etag, view.headers.etag)
    assert.doesNotMatch((await get(app, '/history/Rules')).body + (await get(app, '/changes')).body, /why/)

    const shown = await open(`${url}?saved=0`, editor)
    assert.equal(shown.headers['cache-control'], 'private, no-store')
    assert.match(shown.body, /waits for a review[^]*why &lt;b&gt;[^]*Tags now:[^]*law, new/)
    assert.match(shown.body, /<mark> ?&lt;i&gt;/)
    assert.doesNotMatch(shown.body, /<button[^>]*>(Publish|Decline)</)
    assert.match(shown.body, />Withdraw</)
    const asAdmin = await open(url, admin)
    assert.match(asAdmin.body, />Publish<[^]*>Decline</)
    assert.doesNotMatch(asAdmin.body, />Withdraw</)
    for (const page of ['/edit/protection', '/edit/people']) {
      assert.match((await open(page, admin)).body, /href="\/edit\/proposals">1 proposal waits for a review</, page)
    }
    assert.match((await open('/edit/proposals', admin)).body, new RegExp(`"${url}"[^]*Rules[^]*editor[^]*why &lt;`))

    const published = await post(app, `${url}/publish`, {}, admin)
    assert.deepEqual([published.statusCode, published.headers.location], [303, '/wiki/Rules?saved=2'])
    const { content, author, summary, tags } = /** @type {any} */ (
      await revisions.findOne({ page: 'Rules', revision: 2 }))
    assert.deepEqual({ content, author, summary, tags },
      { content: fields.content, author: 'editor', summary: 'why <b>', tags: ['law', 'new'] })
    assert.match((await open('/edit/audit', admin)).body, /admin<\/bdi> published a proposal for <bdi>Rules</)
    assert.match((await open('/edit/proposals', editor)).body, /published/)
    assert.match((await open(url, editor)).body, /Published\.[^]*\/difference\/Rules\?from=1&amp;to=2/)
    assert.equal((await proposals.findOne({ name: 'Rules' }))?.content, '', 'an erasure finds the text in one place')
    assert.equal((await post(app, `${url}/publish`, {}, admin)).statusCode, 409)
  })

  await t.test('a program gets 202 and where the proposal is; its preconditions hold', async () => {
    await review(app, 'Api', { subpages: true })
    const answer = await put(app, 'Api/new', { content: 'text', summary: 's' })
    assert.equal(answer.statusCode, 202)
    assert.equal(answer.headers.location, answer.json().url)
    assert.match(String(answer.headers['cache-control']), /no-store/)
    const read = await send(app, 'GET', answer.json().url, undefined, 'editor')
    const { content, tags, state, base_revision: base } = read.json()
    assert.deepEqual({ content, tags, state, base }, { content: 'text', tags: null, state: 'open', base: 0 })
    assert.match(String(read.headers['cache-control']), /private, no-store/)
    assert.equal((await get(app, '/wiki/Api/new')).statusCode, 404)
    const byWiki = await send(app, 'POST', '/wiki/Api/new', { content: 'other' }, 'editor')
    assert.equal(byWiki.statusCode, 202)
    assert.equal((await act(app, answer.json().id, 'publish')).json().revision, 1)
    assert.equal(await textOf(app, 'Api%2Fnew'), 'text')
    assert.equal((await put(app, 'Api/new', { content: 'x', base_revision: 0 })).statusCode, 412)
    const late = await act(app, byWiki.json().id, 'publish')
    assert.equal(late.statusCode, 409)
    assert.match(late.json().detail, /changed in the same places/)
    assert.equal(await textOf(app, 'Api%2Fnew'), 'text')
    assert.equal((await act(app, byWiki.json().id, 'decline', 'admin', { reason: 'no' })).statusCode, 204)
    const { items } = (await send(app, 'GET', '/api/v1/proposals?limit=1', undefined, 'editor')).json()
    assert.deepEqual([items[0].state, items[0].reason], ['declined', 'no'])
  })

  await t.test('publishing merges edits made since; a conflict shows both texts, and is resolved', async () => {
    await put(app, 'Merge', { content: 'a\n\nb\n\nc\n' }, 'admin')
    await review(app, 'Merge')
    const first = await propose(app, 'Merge', { content: 'A\n\nb\n\nc\n' })
    const second = await propose(app, 'Merge', { content: 'other\n\nb\n\nc\n', summary: 'mine' })
    await put(app, 'Merge', { content: 'a\n\nb\n\nC\n' }, 'admin')
    assert.match((await open(`/edit/proposal/${first}`, admin)).body, /it is at revision 2/)
    assert.equal((await act(app, first, 'publish')).statusCode, 200)
    assert.equal(await textOf(app, 'Merge'), 'A\n\nb\n\nC\n')

    const conflict = await post(app, `/edit/proposal/${second}/publish`, {}, admin)
    assert.equal(conflict.statusCode, 409)
    assert.match(conflict.body, /&lt;&lt;&lt;&lt;&lt;&lt;&lt; Your lines\nother\n=+ The lines of revision 3\nA\n/)
    assert.match(conflict.body, new RegExp(`name="proposal" value="${second}"`))
    assert.equal((await proposals.findOne({ _id: new ObjectId(second) }))?.state, 'open')
    const resolved = { content: 'A other\n\nb\n\nC\n', tags: '', summary: 'mine', base_revision: '3', proposal: second }
    const saved = await post(app, '/edit/text/Merge', resolved, admin)
    assert.equal(saved.headers.location, '/wiki/Merge?saved=4')
    assert.equal((await revisions.findOne({ page: 'Merge', revision: 4 }))?.author, 'editor')
    assert.equal((await proposals.findOne({ _id: new ObjectId(second) }))?.revision, 4)
    assert.match((await open('/edit/audit', admin)).body, /changed and published a proposal for <bdi>Merge</)
    const again = await post(app, '/edit/text/Merge', { ...resolved, base_revision: '4', content: 'kept' }, admin)
    assert.equal(again.statusCode, 409)
    assert.match(again.body, /was published already[^]*>\nkept<\/textarea>/)
  })

  await t.test('what the page says already is published without a revision', async () => {
    await put(app, 'Same', { content: 'a' }, 'admin')
    await review(app, 'Same')
    const id = await propose(app, 'Same', { content: 'b' })
    await put(app, 'Same', { content: 'b' }, 'admin')
    assert.deepEqual((await act(app, id, 'publish')).json(), { name: 'Same', revision: 2 })
    assert.equal((await act(app, id, 'publish')).statusCode, 409)
  })

  await t.test('authors withdraw and propose again; what is closed is not published', async () => {
    await review(app, 'Again')
    const id = await propose(app, 'Again', { content: 'first' })
    const form = await open(`/edit/text/Again?proposal=${id}`, editor)
    assert.match(form.body, new RegExp(`name="proposal" value="${id}"[^]*>\\nfirst</textarea>`))
    const elsewhere = await open(`/edit/text/Another?proposal=${id}`, editor)
    assert.deepEqual([elsewhere.statusCode, elsewhere.headers.location], [303, `/edit/proposal/${id}`])
    const fields = { content: 'second', tags: '', base_revision: '0', proposal: id }
    const preview = await post(app, '/edit/preview/Again', fields, editor)
    assert.match(preview.body, new RegExp(`name="proposal" value="${id}"`))
    const { location } = (await post(app, '/edit/text/Again', fields, editor)).headers
    assert.doesNotMatch(String(location), new RegExp(id))
    assert.match((await open(`/edit/proposal/${id}`, admin)).body, /made <a href="\/edit\/proposal\/\w+">another/)
    assert.equal((await act(app, id, 'publish')).statusCode, 409)
    const [, second] = /** @type {RegExpExecArray} */ (/proposal\/(\w+)/.exec(String(location)))
    assert.equal((await post(app, `/edit/proposal/${second}/withdraw`, {}, editor)).statusCode, 303)
    assert.equal((await act(app, second, 'publish')).statusCode, 409)
    assert.equal((await act(app, second, 'withdraw', 'editor')).statusCode, 409)
    assert.equal((await open('/wiki/Again', {})).statusCode, 404)
    const third = await post(app, '/edit/text/Again', { ...fields, proposal: second }, editor)
    assert.equal(third.statusCode, 303, 'a withdrawn one is proposed again')
  })

  await t.test('of two administrators that publish at once, one makes a revision', async () => {
    await review(app, 'Twice', { subpages: true })
    for (let round = 0; round < 4; round++) {
      const name = `Twice/${round}`
      const id = await propose(app, name, { content: 'text' })
      const done = await Promise.all([
        act(app, id, 'publish'), act(app, id, 'publish', 'Bor'), act(app, id, 'decline', 'Bor', { reason: 'no' }),
        act(app, id, 'withdraw', 'editor')
      ])
      const statuses = done.map(({ statusCode }) => statusCode)
      assert.equal(statuses.filter((status) => status < 300).length, 1, statuses.join())
      assert.ok(statuses.every((status) => [200, 204, 409].includes(status)), statuses.join())
      const isPublished = statuses.slice(0, 2).includes(200)
      assert.equal(await revisions.countDocuments({ page: name }), isPublished ? 1 : 0)
      const state = (await proposals.findOne({ _id: new ObjectId(id) }))?.state
      assert.equal(state === 'published', isPublished)
      assert.equal(await db.collection('audit').countDocuments({ did: 'published', to: name }), isPublished ? 1 : 0)
    }
  })

  await t.test('a rule that is made while texts are saved lets none of them through afterwards', async () => {
    for (let round = 0; round < 4; round++) {
      const name = `Race${round}`
      await put(app, name, { content: 'x' })
      const saves = Array.from({ length: 6 }, (_, index) => put(app, name, { content: `text ${index}` }))
      await saves[round]
      await review(app, name)
      const before = await revisions.countDocuments({ page: name })
      const statuses = (await Promise.all(saves)).map(({ statusCode }) => statusCode)
      assert.ok(statuses.every((status) => [200, 202].includes(status)), statuses.join())
      assert.equal(await revisions.countDocuments({ page: name }), before)
      assert.equal(await proposals.countDocuments({ name }), statuses.filter((status) => status === 202).length)
      await proposals.deleteMany({ name })
    }
  })

  await t.test('a page that was renamed or deleted since: both are said, and the text is not lost', async () => {
    for (const name of ['Old', 'Gone']) {
      await put(app, name, { content: 'a\n\nb\n' }, 'admin')
      await review(app, name)
    }
    const moved = await propose(app, 'Old', { content: 'a\n\nB\n' })
    const gone = await propose(app, 'Gone', { content: 'c' })
    await send(app, 'POST', '/api/v1/pages/Old/rename', { to: 'New' }, 'admin')
    await send(app, 'DELETE', '/api/v1/pages/Gone', undefined, 'admin')
    assert.match((await open(`/edit/proposal/${moved}`, admin)).body, /renamed to “<a href="\/wiki\/New"/)
    assert.match((await open(`/edit/proposal/${gone}`, admin)).body, /The page was deleted since/)
    for (const id of [moved, gone]) assert.equal((await act(app, id, 'publish')).statusCode, 409)
    const shown = await post(app, `/edit/proposal/${moved}/publish`, {}, admin)
    assert.equal(shown.statusCode, 409)
    assert.match(shown.body, /renamed this page to[^]*action="\/edit\/text\/New"[^]*a\n\nB\n/)
    const fields = { content: 'a\n\nB\n', tags: '', base_revision: '1', proposal: moved }
    const { headers } = await post(app, '/edit/text/New', fields, admin)
    assert.match(String(headers.location), /^\/wiki\/New\?saved=3/)
    assert.equal((await proposals.findOne({ _id: new ObjectId(moved) }))?.name, 'New')
    const deleted = await post(app, `/edit/proposal/${gone}/publish`, {}, admin)
    assert.match(deleted.body, /deleted this page[^]*>\nc<\/textarea>/)
  })

  await t.test('others see nothing of it, and hostile input is refused', async () => {
    await review(app, 'Mine')
    const id = await propose(app, 'Mine', { content: 'a <script>secret</script>' }, 'Ana')
    const ana = `/edit/proposal/${id}`
    assert.equal((await open(ana, editor)).statusCode, 404)
    assert.equal((await open(`/edit/text/Mine?proposal=${id}`, editor)).statusCode, 404)
    assert.doesNotMatch((await open('/edit/proposals', editor)).body, new RegExp(id))
    const taken = { content: 'mine now', tags: '', base_revision: '0', proposal: id }
    const refused = await post(app, '/edit/text/Mine', taken, editor)
    assert.deepEqual([refused.statusCode, /mine now/.test(refused.body)], [404, true])
    assert.equal((await act(app, id, 'withdraw', 'editor')).statusCode, 404)
    assert.equal((await act(app, id, 'withdraw', 'admin')).statusCode, 404, 'an administrator declines')
    for (const verb of ['publish', 'decline']) {
      for (const by of ['editor', 'Ana', 'reader']) {
        assert.equal((await act(app, id, verb, by, { reason: 'x' })).statusCode, 403, `${verb} by ${by}`)
      }
    }
    assert.equal((await send(app, 'GET', `/api/v1/proposals/${id}`, undefined, 'reader')).statusCode, 403)
    for (const reason of ['', '  ', 'x'.repeat(201), 'a\nb', 'a\u202Eb', { $gt: '' }]) {
      assert.equal((await act(app, id, 'decline', 'admin', { reason })).statusCode, 400, String(reason))
    }
    for (const other of ['x', '0'.repeat(23), '[$ne]', '%00', 'a'.repeat(24)]) {
      const { statusCode } = await send(app, 'GET', `/api/v1/proposals/${other}`, undefined, 'editor')
      assert.equal(statusCode, other === 'a'.repeat(24) ? 404 : 400, other)
    }
    const wrong = await post(app, '/edit/text/Mine', { ...taken, proposal: '{"$gt":""}' }, admin)
    const elsewhere = await post(app, '/edit/text/Rules', { ...taken, base_revision: '1' }, admin)
    assert.deepEqual([wrong.statusCode, elsewhere.statusCode, /mine now/.test(elsewhere.body)], [400, 409, true])
    assert.match((await open(ana, admin)).body, /a &lt;script&gt;secret/)
    const protectedToo = await send(app, 'PUT', '/api/v1/protections/x', { role: 'editor', review: true }, 'admin')
    assert.equal(protectedToo.statusCode, 400)
    assert.equal((await send(app, 'POST', '/wiki/Mine', taken, 'Ana')).statusCode, 400, 'a program proposes anew')
  })

  await t.test('there are limits, for a person and for the wiki', async () => {
    await review(app, 'Many', { subpages: true })
    await proposals.deleteMany({})
    const made = (/** @type {string} */ key) => (/** @type {unknown} */ _, /** @type {number} */ index) => ({
      name: `Many/${index}`,
      base_revision: 0,
      content: '',
      tags: null,
      summary: '',
      author: key,
      author_key: key,
      state: 'open',
      at: new Date()
    })
    await proposals.insertMany(Array.from({ length: 19 }, made('editor')))
    const at = await Promise.all([1, 2, 3].map((index) => put(app, `Many/${index}`, { content: 'x' })))
    assert.deepEqual(at.map(({ statusCode }) => statusCode).sort(), [202, 409, 409])
    const refused = await post(app, '/edit/text/Many/x', { content: 'kept', tags: '', base_revision: '0' }, editor)
    assert.equal(refused.statusCode, 409)
    assert.match(refused.body, /20 of your proposals wait[^]*>\nkept<\/textarea>/)
    await proposals.insertMany(Array.from({ length: 979 }, made('x')))
    await propose(app, 'Many/last', { content: 'x' }, 'Ana')
    const full = await put(app, 'Many/more', { content: 'x' }, 'Ana')
    assert.deepEqual([full.statusCode, /1000 proposals wait/.test(full.json().detail)], [409, true])
    const first = await open('/edit/proposals', admin)
    const [next] = /** @type {RegExpExecArray} */ (/\/edit\/proposals\?after=\w+/.exec(first.body))
    assert.equal((await open(next, admin)).body.split('<li>').length - 1, 50)
    const indexes = await proposals.indexes()
    assert.equal(indexes.find(({ key }) => key.closed_at)?.expireAfterSeconds, 90 * 86_400)
  })
})
