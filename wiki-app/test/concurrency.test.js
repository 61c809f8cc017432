import assert from 'node:assert/strict'
import test from 'node:test'
import mongoose from 'mongoose'
import { inTransaction } from '../src/database/transaction.js'
import { BROWSER, get, save, submit, useWiki } from './helper.js'

/** A refused attempt has waited in the queue for its maximum, 20 s. */
const ATTEMPTS_MAX = 200
/** Just below 20 s, the time for which the wiki retries an edit that lost a race, or lets it wait in the queue. */
const PATIENCE_MS = 19_000

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

test('a form based on an old revision gets 409 with both texts and their difference; the merge saves', async (t) => {
  const app = await wiki.build(t)
  await save(app, 'a', 'one\ntwo\nthree')
  assert.match((await get(app, '/edit/text/a', BROWSER)).body, /name="base_revision" value="1"/)
  await save(app, 'a', 'one\nTWO\nthree')

  const merge = await submit(app, 'a', {
    content: 'one\r\ntwo\r\nthree & four',
    author: 'Ana',
    summary: 'mine',
    base_revision: '1'
  })
  assert.equal(merge.statusCode, 409)
  assert.equal(merge.headers['cache-control'], 'private, no-store')
  assert.match(merge.body, /Someone saved revision 2 while you were editing/)
  assert.match(merge.body, /<textarea id="_content"[^>]*>\none\ntwo\nthree &amp; four<\/textarea>/)
  assert.match(merge.body, /<textarea id="_current"[^>]*>\none\nTWO\nthree<\/textarea>/)
  assert.match(merge.body, /<del>TWO<\/del>/)
  assert.match(merge.body, /<ins>two<\/ins>/)
  assert.match(merge.body, /name="author"[^>]*value="Ana"/)
  assert.match(merge.body, /name="base_revision" value="2"/)
  assert.equal((await get(app, '/wiki/a')).headers['page-revision'], '2', 'nothing was saved')

  assert.equal(
    (await submit(app, 'a', { content: 'one\nTWO\nthree & four', base_revision: '2' })).headers.location,
    '/wiki/a?saved=3'
  )
})

test('a save based on the state before a deletion or a creation is a conflict', async (t) => {
  const app = await wiki.build(t)
  await save(app, 'a', 'text')
  await app.inject({ method: 'DELETE', url: '/wiki/a' })
  assert.match((await submit(app, 'a', { content: 'edited', base_revision: '1' })).body, /Someone deleted this page/)
  assert.equal((await submit(app, 'a', { content: 'edited', base_revision: '0' })).statusCode, 303)
  assert.equal((await submit(app, 'a', { content: 'new', base_revision: '0' })).statusCode, 409)
  const json = (/** @type {object} */ body) => app.inject({ method: 'POST', url: '/wiki/a', payload: body })
  assert.equal((await json({ content: 'program', base_revision: 1 })).statusCode, 412)
  assert.equal((await json({ content: 'program', base_revision: 3 })).statusCode, 200)
  for (const base of [-1, 1.5, 'x', '', null, { $gt: 0 }]) {
    assert.equal((await json({ content: 'x', base_revision: base })).statusCode, 400, String(base))
  }
})

test('2000 concurrent edits of one page through two applications are all stored', async (t) => {
  const uri = wiki.freshUri()
  const apps = [await wiki.build(t, { MONGODB_URI: uri }), await wiki.build(t, { MONGODB_URI: uri })]
  const edits = 2_000
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
  const [answer] = answers.filter((answer) => answer.json().revision === 1_000)
  const index = answers.indexOf(answer)
  assert.match(
    (await get(apps[1], '/revision/hot/1000')).body,
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

test('40 concurrent edits of pages that share a tag and a link all succeed; no 503 comes early', async (t) => {
  const uri = wiki.freshUri()
  const apps = [await wiki.build(t, { MONGODB_URI: uri }), await wiki.build(t, { MONGODB_URI: uri })]
  async function edit (/** @type {number} */ page) {
    for (let attempt = 1; ; attempt++) {
      const startedMs = performance.now()
      const payload = { content: 'to [[all]]', tags: ['all'] }
      const { statusCode } = await apps[page % 2].inject({ method: 'PUT', url: `/api/v1/pages/${page}`, payload })
      if (statusCode !== 503) return statusCode
      assert.ok(performance.now() - startedMs >= PATIENCE_MS, 'a 503 comes only after almost 20 s')
      assert.ok(attempt < ATTEMPTS_MAX)
    }
  }
  const statuses = await Promise.all(Array.from({ length: 40 }, (_, page) => edit(page)))
  assert.deepEqual(new Set(statuses), new Set([201]))
  assert.match((await get(apps[0], '/api/v1/tags')).body, /"pages":40\b/)
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
