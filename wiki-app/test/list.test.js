import assert from 'node:assert/strict'
import test from 'node:test'
import { BROWSER, get, save, untilCounted, useWiki } from './helper.js'

const wiki = useWiki()

/** @param {string} html */
const namesIn = (html) => [...html.matchAll(/<li><a [^>]*>([^<]*)<\/a>/g)].map(([, name]) => name)
/** @param {string} html */
const nextIn = (html) => /href="([^"]*)" rel="next"/.exec(html)?.[1].replaceAll('&amp;', '&')

/**
 * @param {import('fastify').FastifyInstance} app
 * @param {string} [url]
 */
async function walk (app, url) {
  const parts = []
  for (let next = url; next !== undefined; next = nextIn(parts[parts.length - 1])) {
    const { statusCode, body } = await get(app, next)
    assert.equal(statusCode, 200)
    parts.push(body)
  }
  return parts.map(namesIn)
}

test('the list of an empty wiki says that there are no pages and has a form for a new one', async (t) => {
  const app = await wiki.build(t)
  const { statusCode, headers, body } = await get(app, '/pages', BROWSER)
  assert.equal(statusCode, 200)
  assert.equal(headers['cache-control'], 'public, no-cache')
  assert.match(body, /There are no pages yet\./)
  assert.match(body, /<form class="new writes" action="\/edit\/new">/)
})

test('the list of pages is sorted by title and leaves out deleted pages', async (t) => {
  const app = await wiki.build(t)
  for (const name of ['b', 'C', 'a', 'A', 'gone', 'Č', 'd']) await save(app, name, 'text')
  await app.inject({ method: 'DELETE', url: '/wiki/gone' })
  assert.deepEqual(await walk(app, '/pages'), [['a', 'A', 'b', 'C', 'Č', 'd']])
})

test('every list and title search has letters with accents beside those without, and numbers by value', async (t) => {
  const app = await wiki.build(t)
  const names = ['Cvet 1', 'Čebela 2', 'Page 1', 'Page 02', 'Page 2', 'Page 10', 'Page 10/b', 'Page 100', 'Pagé 3',
    'Pages']
  const tags = ['čaj', 'cvet', 't2', 't10']
  for (const name of [...names].reverse()) await save(app, name, '[[Target]] [[W 10]] [[W 9]] [[Č]] [[D]]')
  const put = { method: /** @type {const} */ ('PUT'), url: '/api/v1/pages/Page%201', payload: { content: 'x', tags } }
  await app.inject(put)
  const sorted = [...names].sort(new Intl.Collator('en', { numeric: true }).compare)
  assert.deepEqual((await walk(app, '/pages')).flat(), sorted)
  assert.deepEqual((await walk(app, '/links/Target')).flat(), sorted.filter((name) => name !== 'Page 1'))
  await untilCounted(app)
  assert.deepEqual((await walk(app, '/tags')).flat(), tags)
  assert.deepEqual((await walk(app, '/wanted')).flat(), ['Č', 'D', 'Target', 'W 9', 'W 10'])
  assert.deepEqual((await walk(app, '/orphaned')).flat(), sorted)
  assert.deepEqual(
    (await walk(app, '/pages?q=page')).flat(),
    ['Page 1', 'Page 02', 'Page 2', 'Pagé 3', 'Page 10', 'Page 10/b', 'Page 100', 'Pages']
  )
  // Each name as a cursor: also those that differ only in zeros.
  for (const [url, all] of /** @type {const} */ ([['/api/v1/pages?', sorted], ['/api/v1/pages?q=page&', null]])) {
    /** @type {string[]} */
    const walked = []
    for (let cursor = ''; ;) {
      const { items: [{ name }], next_cursor: next } = (await get(app, `${url}limit=1${cursor}`)).json()
      walked.push(name)
      if (next === null) break
      cursor = `&cursor=${next}`
    }
    assert.deepEqual(walked, all ?? (await walk(app, '/pages?q=page')).flat())
  }
})

test('a long list has parts of 50, and deleting the last page of a part does not change the next part', async (t) => {
  const app = await wiki.build(t)
  const names = Array.from({ length: 120 }, (_, i) => `page ${String(i).padStart(3, '0')} & co`)
  for (const name of names) assert.equal((await save(app, name, 'text')).statusCode, 201)
  const parts = await walk(app, '/pages')
  assert.deepEqual(parts.map((part) => part.length), [50, 50, 20])
  assert.deepEqual(parts.flat(), names.map((name) => name.replace('&', '&amp;')))

  const next = nextIn((await get(app, '/pages')).body)
  await app.inject({ method: 'DELETE', url: `/wiki/${encodeURIComponent(names[49])}` })
  assert.deepEqual(await walk(app, next), parts.slice(1))
})

test('a title search finds the query anywhere in a title and lists titles that begin with it first', async (t) => {
  const app = await wiki.build(t)
  for (const name of ['Apple pie', 'pineapple', 'An apple', 'apple', 'Pear', 'Čaj', 'zzz apple apple']) {
    await save(app, name, 'apple')
  }
  assert.deepEqual(await walk(app, '/pages?q=APPLE'),
    [['apple', 'Apple pie', 'An apple', 'pineapple', 'zzz apple apple']])
  assert.deepEqual(await walk(app, '/pages?q=+%C4%8DAJ+'), [['Čaj']])
  assert.deepEqual((await walk(app, '/pages?q=')).flat().length, 7)

  const nothing = await get(app, '/pages?q=banana')
  assert.match(nothing.body, /No title has “banana” in it\./)
  assert.match(nothing.body, /name="name" required maxlength="200" value="banana"/)
})

test('a long title search is paged: first titles that begin with the query, then the others', async (t) => {
  const app = await wiki.build(t)
  const first = Array.from({ length: 70 }, (_, i) => `in ${String(i).padStart(2, '0')}`)
  const then = Array.from({ length: 70 }, (_, i) => `begin ${String(i).padStart(2, '0')}`)
  for (const name of [...first, ...then, 'other']) assert.equal((await save(app, name, 'text')).statusCode, 201)
  const parts = await walk(app, '/pages?q=In')
  assert.deepEqual(parts.map((part) => part.length), [50, 50, 40])
  assert.deepEqual(parts.flat(), [...first, ...then])
})

test('a title query is plain text, never a pattern or an operator', async (t) => {
  const app = await wiki.build(t)
  for (const name of ['a.c', 'abc', '(a+)+$', '[x]', 'back^$|*?{1}', 'a"b<i>', '_']) await save(app, name, 'text')
  for (const [q, found] of [
    ['a.c', ['a.c']],
    ['.*', []],
    // Not as a pattern, but its word begins theirs.
    ['(a+)+$', ['(a+)+$', 'a&quot;b&lt;i&gt;', 'a.c', 'abc']],
    ['[', ['[x]']],
    ['^$|*?{1}', ['back^$|*?{1}']],
    ['\\Q', []],
    ['$where', []],
    ['_ _', ['_']]
  ]) {
    assert.deepEqual((await walk(app, `/pages?q=${encodeURIComponent(String(q))}`)).flat(), found, String(q))
  }
  const { body } = await get(app, `/pages?q=${encodeURIComponent('"><script>alert(1)</script>')}`)
  assert.doesNotMatch(body, /<script(?! type=)/)
  assert.match(body, /&quot;&gt;&lt;script&gt;/)
})

test('long, repeated or unprintable parameters get 400; unknown ones redirect to the URL without them', async (t) => {
  const app = await wiki.build(t)
  assert.equal((await get(app, `/pages?q=${'%F0%9F%98%80'.repeat(200)}`)).statusCode, 200)
  for (const query of [
    `q=${'a'.repeat(201)}`, 'q=a&q=b', 'q=a%00b', 'q=%0A', 'after=a&after=b', 'after=%00', `after=${'a'.repeat(201)}`
  ]) {
    assert.equal((await get(app, `/pages?${query}`)).statusCode, 400, query)
  }
  for (const query of ['q=%ff', 'q=%zz']) assert.equal((await get(app, `/pages?${query}`)).statusCode, 200, query)
  for (const query of ['q[$ne]=a', 'q[]=a', 'after[$gt]=', 'other=x']) {
    const { statusCode, headers } = await get(app, `/pages?${query}`)
    assert.deepEqual([statusCode, headers.location], [301, '/pages'], query)
  }
})
