import assert from 'node:assert/strict'
import test from 'node:test'
import mongoose from 'mongoose'
import { inTransaction } from '../src/database/transaction.js'
import { BROWSER, get, save, submit, untilCounted, useWiki } from './helper.js'

/** A refused attempt has waited in the queue for its maximum, 20 s. */
const ATTEMPTS_MAX = 200

const wiki = useWiki()

test('a write whose If-Match or If-None-Match is false gets 412 (RFC 9110 §13.1)', async (t) => {
  const app = await wiki.build(t)
  assert.equal((await save(app, 'a', 'first', { 'if-match': '*' })).statusCode, 412, 'there is no page to replace')
  assert.equal((await save(app, 'a', 'first', { 'if-none-match': '*' })).statusCode, 201)
  const refused = await save(app, 'a', 'again', { 'if-none-match': '*' })
  assert.equal(refused.statusCode, 412)
  assert.match(refused.json().detail, /it is at revision 1\. Nothing was changed/)

  const etag = String((await get(app, '/wiki/a')).headers.etag)
  for (const wrong of ['"x"', `W/${etag}`, `"x", W/${etag}`, 'x']) {
    assert.equal((await save(app, 'a', 'second', { 'if-match': wrong })).statusCode, 412, wrong)
  }
  assert.equal((await save(app, 'a', 'second', { 'if-match': `"x", ${etag}` })).statusCode, 200)
  assert.equal((await save(app, 'a', 'third', { 'if-match': etag })).statusCode, 412, 'the ETag is of an old revision')
  assert.equal((await app.inject({ method: 'DELETE', url: '/wiki/a', headers: { 'if-match': etag } })).statusCode, 412)
  assert.match((await get(app, '/wiki/a')).body, /<p>second<\/p>/)
  assert.equal((await app.inject({ method: 'DELETE', url: '/wiki/a', headers: { 'if-match': '*' } })).statusCode, 204)
  assert.equal(
    (await save(app, 'a', 'again', { 'if-none-match': '*' })).statusCode,
    201,
    'a deleted page does not exist'
  )
})

/** @type {Record<string, string>} */
const CHARACTERS = { lt: '<', gt: '>', quot: '"', '#39': "'", amp: '&' }

/** @param {string} body  of an editor @returns {Record<string, string>} its fields, as a browser would send them */
function fieldsOf (body) {
  const plain = (/** @type {string} */ text) =>
    text.replace(/&(lt|gt|quot|#39|amp);/g, (_, name) => CHARACTERS[name])
  const content = /<textarea id="_content"[^>]*>\n([^<]*)<\/textarea>/.exec(body)?.[1] ?? ''
  const inputs = [...body.matchAll(/<input (?:type="hidden" |id="\w+" )name="(base_revision|tags|author|summary)"[^>]*value="([^"]*)"/g)]
  return Object.fromEntries([['content', plain(content)], ...inputs.map(([, name, value]) => [name, plain(value)])])
}

test('a form based on an old revision is merged when the changes touch different lines', async (t) => {
  const app = await wiki.build(t)
  await submit(app, 'a', { content: 'one\ntwo\nthree', tags: 'both, removed by Ana' })
  const ana = fieldsOf((await get(app, '/edit/text/a', BROWSER)).body)
  await submit(app, 'a', { content: 'one\ntwo\nTHREE', tags: 'both, removed by Ana, of Bor', base_revision: '1' })
  const saved = await submit(app, 'a', {
    ...ana, content: 'one & 1\r\ntwo\r\nthree', tags: 'both, of Ana', author: 'Ana', summary: 'mine'
  })
  assert.equal(saved.statusCode, 303)
  assert.equal(saved.headers.location, '/wiki/a?saved=3&merged=2')
  const { body } = await get(app, '/wiki/a?saved=3&merged=2', BROWSER)
  assert.match(body, /Saved as revision 3\. It is merged with revision 2, which someone saved while you were editing/)
  assert.match(body, /<a href="\/difference\/a\?from=2&amp;to=3">/)
  const { content, tags } = (await get(app, '/api/v1/pages/a')).json()
  assert.equal(content, 'one & 1\ntwo\nTHREE')
  assert.deepEqual(tags, ['both', 'of ana', 'of bor'])
  const [{ author, summary }] = (await get(app, '/api/v1/pages/a/revisions')).json().items
  assert.deepEqual({ author, summary }, { author: 'Ana', summary: 'mine' })
})

test('changes to the same lines get 409 with the changes of both; saving again cannot drop them unseen', async (t) => {
  const app = await wiki.build(t)
  await save(app, 'a', 'one\ntwo\nthree\nfour')
  const first = fieldsOf((await get(app, '/edit/text/a', BROWSER)).body)
  await save(app, 'a', 'ONE\nTWO\nthree\nfour')

  const merge = await submit(app, 'a',
    { ...first, content: 'one\n2 & two\nthree\nfour', author: 'Ana', summary: 'mine' })
  assert.equal(merge.statusCode, 409)
  assert.equal(merge.headers['cache-control'], 'private, no-store')
  assert.match(merge.body, /Someone saved revision 2 while you were editing/)
  const [theirs, own] = merge.body.split('<h2>What you changed</h2>')
  assert.match(theirs, /<h2>What revision 2 changed<\/h2>[^]*<del>two<\/del>[^]*<ins>TWO<\/ins>/)
  assert.match(own, /<del>two<\/del>[^]*<ins><mark>2 &amp; <\/mark>two<\/ins>/)
  const fields = fieldsOf(merge.body)
  assert.deepEqual({ ...fields, content: '' },
    { content: '', author: 'Ana', summary: 'mine', tags: '', base_revision: '2' })
  assert.match(fields.content, /^<<<<<<< .*\none\n2 & two\n======= .* revision 2\nONE\nTWO\n>>>>>>> .*\nthree\nfour$/)

  const again = await submit(app, 'a', fields)
  assert.equal(again.statusCode, 422)
  assert.match(again.body, /role="alert">The text still has marked lines/)
  assert.deepEqual(fieldsOf(again.body), fields, 'the text, the summary and the base are kept')
  assert.equal((await get(app, '/wiki/a')).headers['page-revision'], '2', 'nothing was saved')

  await save(app, 'a', 'ONE\nTWO\nthree\nFOUR')
  const solved = await submit(app, 'a', { ...fields, content: 'ONE\n2 & TWO\nthree\nfour' })
  assert.equal(solved.headers.location, '/wiki/a?saved=4&merged=3', 'a third author is merged, too')
  assert.equal((await get(app, '/api/v1/pages/a')).json().content, 'ONE\n2 & TWO\nthree\nFOUR')
})

test('a save based on the state before a deletion or a creation is a conflict', async (t) => {
  const app = await wiki.build(t)
  await save(app, 'a', 'text')
  await app.inject({ method: 'DELETE', url: '/wiki/a' })
  const deleted = await submit(app, 'a', { content: 'edited', base_revision: '1', tags: 'kept' })
  assert.match(deleted.body, /Someone deleted this page/)
  const fields = fieldsOf(deleted.body)
  assert.deepEqual(fields, { content: 'edited', base_revision: '0', tags: 'kept', summary: '', author: '' })
  assert.equal((await submit(app, 'a', fields)).statusCode, 303)

  const created = await submit(app, 'a', { content: 'new', base_revision: '0' })
  assert.equal(created.statusCode, 409, 'the text of the page that someone else created has not been seen')
  assert.match(fieldsOf(created.body).content, /\nnew\n=.*\nedited\n>/)
  assert.equal((await submit(app, 'a', { content: 'new', base_revision: '999' })).statusCode, 409, 'an unknown base')
  const json = (/** @type {object} */ body) => app.inject({ method: 'POST', url: '/wiki/a', payload: body })
  assert.equal((await json({ content: 'program', base_revision: 1 })).statusCode, 412)
  assert.equal((await json({ content: 'program', base_revision: 3 })).statusCode, 200)
  for (const base of [-1, 1.5, 'x', '', null, { $gt: 0 }]) {
    assert.equal((await json({ content: 'x', base_revision: base })).statusCode, 400, String(base))
  }
})

test('a form that arrives twice is saved once, and no merge is reported', async (t) => {
  const app = await wiki.build(t)
  await submit(app, 'a', { content: 'one\ntwo', tags: 'x' })
  const fields = { content: 'ONE\ntwo', tags: 'x, y', base_revision: '1' }
  assert.equal((await submit(app, 'a', fields)).headers.location, '/wiki/a?saved=2')
  assert.equal((await submit(app, 'a', fields)).headers.location, '/wiki/a?saved=2')
  assert.equal((await get(app, '/api/v1/pages/a')).json().revision, 2)
  const other = await submit(app, 'a', { ...fields, tags: 'x, z' })
  assert.equal(other.headers.location, '/wiki/a?saved=3&merged=2', 'other tags are another change')
  const untouched = await submit(app, 'a', { content: 'one\ntwo', tags: 'x', base_revision: '1' })
  assert.equal(untouched.headers.location, '/wiki/a?saved=3', 'a save without changes leads to the newest revision')
})

test('tags of two authors that are too many together come back to be chosen from', async (t) => {
  const app = await wiki.build(t)
  const tags = (/** @type {string} */ of) => Array.from({ length: 15 }, (_, index) => `${of}${index}`).join(', ')
  await submit(app, 'a', { content: 'text' })
  await submit(app, 'a', { content: 'text', tags: tags('a'), base_revision: '1' })
  const { statusCode, body } = await submit(app, 'a', { content: 'longer text', tags: tags('b'), base_revision: '1' })
  assert.equal(statusCode, 409)
  const fields = fieldsOf(body)
  assert.deepEqual([fields.content, fields.tags.split(', ').length], ['longer text', 30])
  const again = await submit(app, 'a', fields)
  assert.equal(again.statusCode, 400)
  assert.match(again.body, /role="alert">These cannot be the tags of a page: more than 20\./)
  assert.equal((await submit(app, 'a', { ...fields, tags: tags('b') })).headers.location, '/wiki/a?saved=3')
})

test('a page that someone renamed meanwhile is saved under its new name, merged', async (t) => {
  const app = await wiki.build(t)
  await save(app, 'a', 'one\ntwo\nthree')
  const form = fieldsOf((await get(app, '/edit/text/a', BROWSER)).body)
  await app.inject({ method: 'POST', url: '/edit/rename/a', payload: { to: 'b' } })
  await save(app, 'b', 'one\ntwo\nTHREE')
  const moved = await submit(app, 'a', { ...form, content: 'ONE\ntwo\nthree' })
  assert.equal(moved.statusCode, 409)
  assert.match(moved.body, /Someone renamed this page to “<a [^>]*>b<\/a>”/)
  assert.match(moved.body, /<form class="editor" method="post" action="\/edit\/text\/b"/)
  const saved = await submit(app, 'b', fieldsOf(moved.body))
  assert.equal(saved.headers.location, '/wiki/b?saved=4&merged=3')
  assert.equal((await get(app, '/api/v1/pages/b')).json().content, 'ONE\ntwo\nTHREE')
})

test('20 concurrent forms on one base that change different lines all end up in the text', async (t) => {
  const uri = wiki.freshUri()
  const apps = [await wiki.build(t, { MONGODB_URI: uri }), await wiki.build(t, { MONGODB_URI: uri })]
  const base = Array.from({ length: 40 }, (_, line) => `line ${line}`)
  await save(apps[0], 'a', base.join('\n'))
  await Promise.all(Array.from({ length: 20 }, async (_, author) => {
    const content = base.map((line, index) => index === 2 * author ? `changed ${author}` : line).join('\n')
    let fields = { content, base_revision: '1' }
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
      const { statusCode, body } = await submit(apps[author % 2], 'a', fields)
      if (statusCode === 303) return
      assert.ok(statusCode === 409 || statusCode === 503, body)
      // Others were faster too often: the page shows the merged text, without markers, to be saved.
      if (statusCode === 409) fields = /** @type {typeof fields} */ (fieldsOf(body))
    }
    assert.fail('never saved')
  }))
  const { content } = (await get(apps[0], '/api/v1/pages/a')).json()
  assert.deepEqual(content.split('\n'), base.map((line, index) => index % 2 === 0 ? `changed ${index / 2}` : line))
})

test('a form that is refused for its tags or its length gets its text back', async (t) => {
  const app = await wiki.build(t, { PAGE_MAX_BYTES: '1000' })
  for (const [status, fields] of /** @type {[number, Record<string, string>][]} */ ([
    [400, { content: 'text & <b>', tags: 'a\\b' }],
    [400, { content: 'text & <b>', tags: 'ok', author: 'Ana\u200b' }],
    [413, { content: 'x'.repeat(1_001), tags: 'ok', summary: 'long' }]
  ])) {
    const { statusCode, body } = await submit(app, 'a', fields)
    assert.equal(statusCode, status, body)
    assert.match(body, /role="alert"/)
    assert.deepEqual(fieldsOf(body), { author: '', summary: '', base_revision: '0', ...fields })
  }
})

test('300 concurrent edits of one page through two applications are all stored', async (t) => {
  const uri = wiki.freshUri()
  const apps = [await wiki.build(t, { MONGODB_URI: uri }), await wiki.build(t, { MONGODB_URI: uri })]
  const edits = 300
  // An edit that waited too long in the queue is refused without being made, so it can be sent again.
  const sendUntilMade = async (/** @type {number} */ index) => {
    for (let attempt = 1; ; attempt++) {
      const answer = await save(apps[index % 2], 'hot', `edit ${index}`)
      if (answer.statusCode !== 503 || attempt === ATTEMPTS_MAX) return answer
    }
  }
  const answers = await Promise.all(Array.from({ length: edits }, (_, index) => sendUntilMade(index)))
  assert.deepEqual([...new Set(answers.map(({ statusCode }) => statusCode))].sort(), [200, 201])
  const revisions = answers.map((answer) => answer.json().revision).sort((a, b) => a - b)
  assert.deepEqual(revisions, Array.from({ length: edits }, (_, index) => index + 1))
  assert.equal(answers.filter(({ statusCode }) => statusCode === 201).length, 1)

  const seen = new Set()
  let url = '/history/hot'
  for (let part = 0; url !== '' && part <= edits / 50; part++) {
    const { body } = await get(apps[0], url)
    for (const [, revision] of body.matchAll(/href="\/revision\/hot\/(\d+)"/g)) seen.add(Number(revision))
    url = /<a href="([^"]+)" rel="next">/.exec(body)?.[1] ?? ''
  }
  assert.equal(seen.size, edits)
  const [answer] = answers.filter((answer) => answer.json().revision === 150)
  const index = answers.indexOf(answer)
  assert.match(
    (await get(apps[1], '/revision/hot/150')).body,
    new RegExp(`<p>edit ${index}</p>`),
    'the stored text is the one that was sent'
  )
})

test('of 40 concurrent edits on the same base revision, one succeeds and the others get 412', async (t) => {
  const uri = wiki.freshUri()
  const apps = [await wiki.build(t, { MONGODB_URI: uri }), await wiki.build(t, { MONGODB_URI: uri })]
  await save(apps[0], 'a', 'base')
  const answers = await Promise.all(Array.from({ length: 40 }, (_, index) => apps[index % 2].inject({
    method: 'POST',
    url: '/wiki/a',
    payload: { content: `edit ${index}`, base_revision: 1 }
  })))
  assert.equal(answers.filter(({ statusCode }) => statusCode === 200).length, 1)
  assert.equal(answers.filter(({ statusCode }) => statusCode === 412).length, 39)
})

test('40 concurrent edits of pages that share a tag and a link all succeed, and all are counted', async (t) => {
  const uri = wiki.freshUri()
  const apps = [await wiki.build(t, { MONGODB_URI: uri }), await wiki.build(t, { MONGODB_URI: uri })]
  const payload = { content: 'to [[all]]', tags: ['all'] }
  const answers = await Promise.all(Array.from({ length: 40 }, (_, page) =>
    apps[page % 2].inject({ method: 'PUT', url: `/api/v1/pages/${page}`, payload })))
  assert.deepEqual(new Set(answers.map(({ statusCode }) => statusCode)), new Set([201]))
  await untilCounted(apps[0])
  assert.match((await get(apps[0], '/api/v1/tags')).body, /"pages":40\b/)
  assert.match((await get(apps[0], '/api/v1/wanted')).body, /"sources":40\b/)
})

test('a transaction that MongoDB aborts as too old, e.g. after the machine was suspended, is retried', async (t) => {
  const connection = await mongoose.createConnection(wiki.freshUri()).asPromise()
  t.after(() => connection.close())
  const admin = connection.getClient().db('admin')
  const before = await admin.command({ setParameter: 1, transactionLifetimeLimitSeconds: 1 })
  const notes = connection.collection('notes')
  await notes.insertOne({ text: 'old' })

  let attempts = 0
  await inTransaction(connection, async (session) => {
    // The server looks for transactions over its limit (1 s here) once a second.
    const $where = attempts++ === 0 ? 'sleep(10000) || true' : 'true'
    await notes.findOneAndUpdate({ $where }, { $set: { text: `of attempt ${attempts}` } }, { session })
  })
  await admin.command({ setParameter: 1, transactionLifetimeLimitSeconds: before.was })
  assert.equal((await notes.findOne())?.text, 'of attempt 2')
})
