import assert from 'node:assert/strict'
import test from 'node:test'
import { createRenderer } from '../src/markdown/renderer.js'
import { BROWSER, get, save, useWiki } from './helper.js'
import { say } from './say.js'

const wiki = useWiki()

/** @typedef {import('fastify').FastifyInstance} App */

/** @param {App} app */
const rawOf = async (app, name = 'Talk:a') => (await get(app, `/raw/${encodeURI(name)}`)).body
/** @param {App} app @param {string} from @param {string} to */
const rename = async (app, from, to) => {
  const url = `/edit/rename/${encodeURIComponent(from)}`
  const { statusCode, body } = await app.inject({ method: 'POST', url, payload: { to } })
  assert.equal(statusCode, 201, body)
}

test('a message does not change where links of other messages lead', async (t) => {
  const app = await wiki.build(t)
  const ask = { topic: 'See [docs]', content: 'It is in the [docs] and [^1].', author: 'Ana' }
  assert.equal((await say(app, ask)).statusCode, 303)
  const { headers: { etag } } = await get(app, '/wiki/Talk:a')
  for (const content of [
    '[docs]: http://evil.test', 'Yes.\n\n[DOCS]: </wiki/evil> "title"', '> > [docs]:\n> > /evil',
    '- x\n\n  [docs]: /evil', '[^1]: /evil', '[docs]: /evil\r\n[docs]', '[\\[docs]: /evil', '[do\ncs]: /evil'
  ]) {
    const places = /** @type {Record<string, string>[]} */ ([{ topic: 'x' }, { section: '1', base_revision: '1' }])
    for (const place of places) {
      const { statusCode, body } = await say(app, { ...place, content })
      assert.equal(statusCode, 422, content)
      assert.match(body, /role="alert">A line such as “\[name\]: address” would/)
      assert.match(body, / would[^<]* Write \[text\]\(address\) at each/)
      const typed = content.replaceAll('\r\n', '\n').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
        .replaceAll('"', '&quot;')
      assert.ok(body.includes(`>\n${typed}</textarea>`), body)
    }
  }
  assert.equal((await get(app, '/wiki/Talk:a')).headers.etag, etag)
  for (const content of [
    '[docs](/good)', '\\[docs]: /x', '`[docs]: /x`', '```\n[docs]: /x\n```', 'see [docs]: /x', '[a]:'
  ]) {
    assert.equal((await say(app, { topic: 'x', content })).statusCode, 303, content)
  }
  assert.match((await get(app, '/wiki/Talk:a', BROWSER)).body, /It is in the \[docs\] and \[\^1\]\./)
})

test('a form that is sent twice adds one message; the same words of another author, or elsewhere, count', async (t) => {
  const app = await wiki.build(t)
  const topic = { topic: 'Tea?', content: 'With milk\n\nor without?', author: 'Ana' }
  const twice = await Promise.all([say(app, topic), say(app, topic)])
  assert.deepEqual(twice.map(({ headers }) => headers.location), Array(2).fill('/wiki/Talk:a?saved=1#tea'))
  const reply = { section: '1', base_revision: '1', content: 'or without?', author: 'Ana' }
  for (const saved of [2, 2]) {
    assert.equal((await say(app, reply)).headers.location, `/wiki/Talk:a?saved=${saved}#tea`)
  }
  await say(app, { ...reply, author: 'Ben' })
  await say(app, { ...topic, topic: 'Coffee?' })
  const raw = await rawOf(app)
  assert.equal(raw.split('## ').length - 1, 2)
  assert.equal(raw.split('or without?').length - 1, 4, raw)
})

test('what is sent to a former name of a talk page is on the page that it is now', async (t) => {
  const app = await wiki.build(t)
  await save(app, 'a', 'text')
  await say(app, { topic: 'first', content: 'x' })
  await rename(app, 'a', 'b')
  await rename(app, 'b', 'c')
  const topic = await say(app, { topic: 'second', content: 'y' })
  assert.equal(topic.headers.location, '/wiki/Talk:c?saved=4#second', topic.body)
  const reply = await say(app, { section: '1', base_revision: '1', content: 'z' })
  assert.equal(reply.headers.location, '/wiki/Talk:c?saved=5#first', reply.body)
  assert.equal((await get(app, '/wiki/Talk:a')).headers.location, '/wiki/Talk:b', 'it leads there still')
  assert.match(await rawOf(app, 'Talk:c'), /## first[^]*> x[^]*> z[^]*## second[^]*> y/)

  await save(app, 'Talk:d', '## old\n')
  await rename(app, 'Talk:d', 'Archive')
  const anew = await say(app, { topic: 'new', content: 'x' }, { name: 'Talk:d' })
  assert.equal(anew.headers.location, '/wiki/Talk:d?saved=3#new', 'an ordinary page gets no topics')
  assert.equal(await rawOf(app, 'Archive'), '## old\n')
})

test('of people that write at once on a page each causes one rendering of it', async (t) => {
  let renderings = 0
  const app = await wiki.build(t, {}, {}, {
    makeRenderer (options) {
      const renderer = createRenderer(options)
      return {
        ...renderer,
        render (markdown, how) {
          renderings++
          return renderer.render(markdown, how)
        }
      }
    }
  })
  await save(app, 'Talk:a', '## topic\n\n> text\n')
  const before = renderings
  const answers = await Promise.all(Array.from({ length: 12 }, (_, i) => say(app, {
    content: `said ${i}`,
    ...Object.fromEntries(i % 2 ? [['topic', `topic ${i}`]] : [['section', '1'], ['base_revision', '1']])
  })))
  assert.deepEqual(answers.map(({ statusCode }) => statusCode), Array(12).fill(303))
  assert.equal(renderings - before, 12)
  assert.equal((await rawOf(app)).match(/> said \d+\n/g)?.length, 12)
})

test('nothing is added where a block of code of the page would swallow it', async (t) => {
  const app = await wiki.build(t)
  const open = '## topic\n\n```\nnever closed\n'
  await save(app, 'Talk:a', open)
  const { statusCode, body } = await say(app, { topic: 'x', content: 'y' })
  assert.equal(statusCode, 422)
  assert.match(body, /role="alert">Something is open at the end of “Talk:a”[^]*>\ny<\/textarea>/)
  const reply = await say(app, { section: '1', base_revision: '1', content: 'y' })
  assert.match(reply.body, /role="alert">Something is open at the end of “topic”[^]*>\ny<\/textarea>/)
  assert.equal(await rawOf(app), open)
})

test('a reply without a revision is to the newest text', async (t) => {
  const app = await wiki.build(t)
  await save(app, 'Talk:a', '## first\n')
  await save(app, 'Talk:a', '## new\n\n## first\n')
  const { body } = await get(app, '/edit/topic/Talk:a?section=2', BROWSER)
  const [, base] = /name="base_revision" value="(\d+)"/.exec(body) ?? []
  const { statusCode } = await say(app, { section: '2', base_revision: base, content: 'x' })
  assert.deepEqual([base, statusCode], ['2', 303])
  assert.match(await rawOf(app), /## new\n\n## first\n\n> x\n/)
})

test('where a page is missing there is a link to its talk page, if that is written', async (t) => {
  const app = await wiki.build(t)
  for (const name of ['a', 'b', 'Talk:a']) await save(app, name, 'text')
  for (const name of ['a', 'b']) {
    assert.equal((await app.inject({ method: 'DELETE', url: `/wiki/${name}` })).statusCode, 204)
  }
  const [a, b] = await Promise.all(['a', 'b'].map((name) => get(app, `/wiki/${name}`, BROWSER)))
  assert.equal(a.statusCode, 404)
  assert.match(a.body, /<a href="\/wiki\/Talk:a" rel="nofollow">Its talk page<\/a>/)
  assert.doesNotMatch(b.body, /talk page|Talk:/)
})
