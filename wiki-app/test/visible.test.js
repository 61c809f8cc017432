import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import mongoose from 'mongoose'
import { isLine } from '../src/access/users.js'
import { hiddenIn } from '../src/pages/visible.js'
import { BROWSER, get, save, submit, useWiki } from './helper.js'
import { png } from './images.js'

const wiki = useWiki()

/** @typedef {import('fastify').FastifyInstance} App */

/** @type {Record<string, string>} */
const HIDDEN = {
  'a zero-width space': 'Ho\u200Bme',
  'a joiner between Latin letters': 'Ho\u200Dme',
  'a non-joiner between Latin letters': 'Ho\u200Cme',
  'a joiner at the end': '\u0646\u0627\u200D',
  'a non-joiner at the beginning': '\u200C\u0646\u0627',
  'a word joiner': 'a\u2060b',
  'a soft hyphen': 'a\u00ADb',
  'a left-to-right mark': 'a\u200Eb',
  'a right-to-left mark': 'a\u200Fb',
  'an Arabic letter mark': 'a\u061Cb',
  'a combining grapheme joiner': 'a\u034Fb',
  'a Hangul filler': 'a\u3164b',
  'a Hangul choseong filler': 'a\u115Fb',
  'a halfwidth Hangul filler': 'a\uFFA0b',
  'a blank Braille pattern': 'a\u2800b',
  'a variation selector after a letter': 'a\uFE0Fb',
  'a variation selector after a digit alone': '1\uFE0F',
  'an ideographic variation selector after a letter': 'a\u{E0100}',
  'a Mongolian variation selector after a letter': 'a\u180B',
  'a tag character': 'a\u{E0041}',
  'an interlinear annotation anchor': 'a\uFFF9b',
  'an invisible times sign': 'a\u2062b',
  'a reserved ignorable character': 'a\u{E0FFF}'
}
const SEEN = {
  Persian: '\u0645\u06CC\u200C\u062E\u0648\u0627\u0647\u0645',
  Hindi: '\u0915\u094D\u200D\u0937',
  Sinhala: '\u0DC1\u0DCA\u200D\u0DBB\u0DD3',
  'a family': '👩‍👩‍👧',
  'a heart on fire': '❤️‍🔥',
  'a technologist': '👩🏽‍💻',
  'a keycap emoji': '1️⃣',
  'a rainbow': '🏳️‍🌈',
  'a Japanese name': '葛\u{E0100}城',
  accents: 'Žižek S\u030Ctevec naïve Ελλάς',
  Hebrew: '\u05E9\u05DC\u05D5\u05DD',
  Korean: '한국어',
  Braille: '⠓⠊'
}
/** Joiners and selectors that have no visible effect: at an end, after a Latin letter, or one after another. */
const JOINER = '(?:\\u200C|\\u200D|\\uFE0F)'
const MISPLACED = [
  `^${JOINER}`, '(?:\\u200C|\\u200D)$', `[a-z]${JOINER}`, '\\u200C\\u200C|\\u200D\\u200D|\\uFE0F\\uFE0F'
].map((pattern) => new RegExp(pattern, 'u'))
const code = /U\+[0-9A-F]{4,6} at place \d+, which is invisible or changes the direction of the text/

test('an invisible character is found and named with its position', () => {
  for (const [why, text] of Object.entries(HIDDEN)) assert.match(String(hiddenIn(text)), code, why)
  for (const [why, text] of Object.entries(SEEN)) assert.equal(hiddenIn(text), null, why)
  assert.match(String(hiddenIn('😀é\u200B')), /U\+200B at place 3,/)
  for (const text of ['\uFEFFa', 'a\u202Eb', 'a\u2066b', 'a\u2028b']) assert.match(String(hiddenIn(text)), code)
})

test('a text that passes the check has ignorable characters only where they have a visible effect', () => {
  const single = fc.constantFrom(
    '\u200B', '\u200C', '\u200D', '\uFE0F', '\u00AD', '\u{E0020}', 'a', '\u0646', '\u094D', '👩', '1', ' '
  )
  const unit = fc.oneof(single, fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }))
  fc.assert(fc.property(fc.array(unit, { maxLength: 12 }).map((units) => units.join('')), (text) => {
    if (hiddenIn(text) !== null) return
    for (const never of [/[\u200B\u00AD\u202A-\u202E\u2066-\u2069\u200E\u200F\u{E0020}-\u{E007F}]/u, ...MISPLACED]) {
      assert.doesNotMatch(text, never)
    }
  }), { numRuns: 5_000, seed: 16 })
  fc.assert(fc.property(fc.string({ unit: fc.constantFrom(...'aŽñ日한שن 1-.👩') }), (text) =>
    assert.equal(hiddenIn(text), null)), { seed: 16 })
})

/** @param {App} app @param {'PUT' | 'POST' | 'DELETE'} method @param {string} url @param {object} [payload] */
const call = (app, method, url, payload) => app.inject({ method, url: `/api/v1${url}`, payload })

test('new names of pages, authors, tags and users with invisible characters are refused everywhere', async (t) => {
  const app = await wiki.build(t)
  await save(app, 'there', 'text')
  for (const [why, name] of Object.entries(HIDDEN)) {
    const address = encodeURIComponent(name)
    for (const answer of [
      await save(app, name, 'text'),
      await submit(app, name, { content: 'text' }),
      await get(app, `/edit/text/${address}`, BROWSER),
      await call(app, 'PUT', `/pages/${address}`, { content: 'text' }),
      await call(app, 'POST', '/pages/there/rename', { to: name }),
      await call(app, 'PUT', '/pages/there', { content: 'text', author: name }),
      await call(app, 'PUT', '/pages/there', { content: 'text', tags: [name] }),
      await call(app, 'DELETE', `/pages/there?author=${address}`),
      await submit(app, 'there', { content: 'text', author: name, base_revision: '1' }),
      await app.inject({
        method: 'POST',
        url: `/api/v1/files?author=${address}`,
        headers: { 'content-type': 'image/png' },
        payload: png()
      })
    ]) {
      assert.equal(answer.statusCode, 400, why)
      assert.match(answer.body, code, why)
    }
    assert.equal(isLine(name.trim(), 80), false, why)
  }
  for (const name of Object.values(SEEN)) {
    assert.equal((await save(app, name, `[[${name}]]`)).statusCode, 201, name)
    const { statusCode } = await call(app, 'PUT', '/pages/there', { content: 'text', author: name, tags: [name] })
    assert.equal(statusCode, 200, name)
    assert.ok(isLine(name.normalize('NFC'), 80), name)
  }
  const turning = await call(app, 'PUT', '/pages/there', { content: 'text', summary: 'a\u202Eb' })
  assert.match(turning.json().detail, /summary.*U\+202E at place 2/)
  assert.equal((await call(app, 'PUT', '/pages/there', { content: 'text', summary: 'a\u200Fb' })).statusCode, 200)
})

test('old pages and authors with invisible characters in their names can still be used', async (t) => {
  const uri = wiki.freshUri()
  const app = await wiki.build(t, { MONGODB_URI: uri })
  const [old, gone, author] = ['Ho\u200Bme', 'Tr\u00ADash', 'A\u202Ena\u200B']
  for (const name of ['old', 'gone']) await save(app, name, 'text')
  const client = await mongoose.mongo.MongoClient.connect(uri)
  t.after(() => client.close())
  const database = client.db()
  for (const [from, to] of [['old', old], ['gone', gone]]) {
    // Stores the pages as an earlier version wrote them.
    const page = await database.collection('pages').findOne({ _id: /** @type {any} */ (from) })
    await database.collection('pages').insertOne({ ...page, _id: /** @type {any} */ (to) })
    await database.collection('revisions').updateMany({ page: from }, { $set: { page: to, author } })
    await database.collection('targets').insertOne({ _id: /** @type {any} */ (to), is: 'page', sources: 0 })
  }
  const address = `/wiki/${encodeURIComponent(old)}`
  assert.equal((await get(app, address)).statusCode, 200)
  await save(app, 'links', `[[${old}]]`)
  assert.match((await get(app, '/wiki/links')).body, new RegExp(`href="${address}"`))
  assert.equal((await get(app, `/edit/text/${encodeURIComponent(old)}`, BROWSER)).statusCode, 200)
  assert.equal((await save(app, old, 'new text')).statusCode, 200)
  assert.equal((await call(app, 'PUT', `/pages/${encodeURIComponent(old)}`, { content: 'newer text' })).statusCode, 200)
  const changes = await get(app, `/changes?author=${encodeURIComponent(author)}`)
  assert.equal(changes.statusCode, 200)
  assert.match(changes.body, new RegExp(`by <a href="[^"]+" dir="auto">${author}</a>`))
  assert.equal((await call(app, 'POST', `/pages/${encodeURIComponent(old)}/rename`, { to: 'Home' })).statusCode, 201)
  assert.equal((await get(app, address)).headers.location, '/wiki/Home')
  assert.equal((await save(app, old, 'again')).statusCode, 400, 'after the rename the old name counts as new')
  assert.equal((await call(app, 'DELETE', `/pages/${encodeURIComponent(gone)}`)).statusCode, 204)
})
