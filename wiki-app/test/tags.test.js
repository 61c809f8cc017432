import assert from 'node:assert/strict'
import test from 'node:test'
import { canonicalTags } from '../src/pages/tags.js'
import { BROWSER, get, save, submit, untilCounted, useWiki } from './helper.js'

const wiki = useWiki()

test('tags are canonical, unique and sorted, and invalid ones get 400', () => {
  assert.deepEqual(canonicalTags(' Go,  b  c ,, S\u030C, go'), ['b c', 'go', '\u0161'])
  assert.deepEqual(canonicalTags(['Z', 'a']), ['a', 'z'])
  assert.deepEqual(canonicalTags(''), [])
  assert.equal(canonicalTags(undefined), undefined)
  for (const bad of ['a/b', 'a\\b', 'a\0b', '\u202Ea', 'x'.repeat(51), '..', '\uD800']) {
    assert.throws(() => canonicalTags(bad), { statusCode: 400 }, bad)
  }
  assert.throws(() => canonicalTags(['a,b']), { statusCode: 400 })
  assert.throws(
    () => canonicalTags(Array.from({ length: 21 }, (_, index) => `t${index}`)),
    { statusCode: 400, message: /more than 20/ }
  )
})

test('a page lists its tags, a tag lists its pages, and /tags counts the pages of each tag', async (t) => {
  const app = await wiki.build(t)
  await submit(app, 'apple', { content: 'text', tags: 'Fruit, red things' })
  await submit(app, 'Cherry', { content: 'text', tags: 'fruit' })
  assert.match(
    (await get(app, '/wiki/apple')).body,
    /<p class="tags">Tags: <a href="\/tags\/fruit" dir="auto">fruit<\/a>, <a href="\/tags\/red%20things" dir="auto">red things<\/a><\/p>/
  )
  assert.match((await get(app, '/edit/text/apple', BROWSER)).body, /name="tags"[^>]*value="fruit, red things"/)
  assert.match((await get(app, '/tags/fruit')).body, />apple<\/a>[^]*>Cherry<\/a>/)
  await untilCounted(app)
  assert.match(
    (await get(app, '/tags')).body,
    />fruit<\/a> <span class="soft">2 pages<[^]*>red things<\/a> <span class="soft">1 page</
  )
  assert.equal((await get(app, '/tags/FRUIT')).headers.location, '/tags/fruit')

  await app.inject({ method: 'DELETE', url: '/wiki/Cherry' })
  await submit(app, 'apple', { content: 'text', tags: 'fruit' })
  await untilCounted(app)
  const { body } = await get(app, '/tags')
  assert.match(body, />fruit<\/a> <span class="soft">1 page</)
  assert.doesNotMatch(body, /red things/)
  assert.match((await get(app, '/tags/red%20things')).body, /No page has this tag/)
})

test('a save without tags keeps the tags, and a revert restores those of its revision', async (t) => {
  const app = await wiki.build(t)
  await submit(app, 'a', { content: 'one', tags: 'x' })
  await save(app, 'a', 'two')
  assert.match((await get(app, '/wiki/a')).body, /href="\/tags\/x"/)
  await submit(app, 'a', { content: 'three', tags: '' })
  assert.doesNotMatch((await get(app, '/wiki/a')).body, /href="\/tags\/x"/)
  await app.inject({ method: 'POST', url: '/edit/revert/a', payload: { revision: 1 } })
  assert.match((await get(app, '/wiki/a')).body, /href="\/tags\/x"/)
  await app.inject({ method: 'DELETE', url: '/wiki/a' })
  await save(app, 'a', 'new')
  assert.doesNotMatch((await get(app, '/wiki/a')).body, /\/tags\//, 'a page that is created again has no tags')
})

test('a change of tags alone changes the entity tag of the page', async (t) => {
  const app = await wiki.build(t)
  await submit(app, 'a', { content: 'one', tags: 'x' })
  const before = await get(app, '/wiki/a')
  await submit(app, 'a', { content: 'one', tags: 'y' })
  const after = await get(app, '/wiki/a', { 'if-none-match': String(before.headers.etag) })
  assert.equal(after.statusCode, 200)
})

test('tags are escaped in HTML, and tags that are not strings get 400', async (t) => {
  const app = await wiki.build(t)
  const tag = '<script>alert(1)<"\'&'
  await submit(app, 'a', { content: 'one', tags: tag })
  await untilCounted(app)
  for (const url of ['/wiki/a', '/tags', '/tags/%3Cscript%3Ealert(1)%3C%22\'&', '/edit/text/a']) {
    const { statusCode, body } = await get(app, url)
    assert.equal(statusCode, 200, url)
    assert.doesNotMatch(body, /<script(?! type=)|"'&[^a#]/)
    assert.match(body, /&lt;script&gt;alert\(1\)/)
  }
  for (const tags of [{ $gt: '' }, [{ $gt: '' }], 7, Array(21).fill('a')]) {
    const { statusCode } = await app.inject({ method: 'POST', url: '/wiki/a', payload: { content: 'x', tags } })
    assert.equal(statusCode, 400)
  }
})
