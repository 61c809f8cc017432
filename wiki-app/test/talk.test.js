import assert from 'node:assert/strict'
import test from 'node:test'
import { BROWSER, get, save, untilCounted, untilIndexed, useWiki } from './helper.js'
import { bearer, peopleOnly } from './people.js'
import { say } from './say.js'

const wiki = useWiki()

/** @typedef {import('fastify').FastifyInstance} App */

/** @param {App} app */
const rawOf = async (app, name = 'Talk:a') => (await get(app, `/raw/${encodeURI(name)}`)).body
/** The time is another one at each run. @param {string} text */
const timeless = (text) => text.replace(/\d{4}-\d\d-\d\d \d\d:\d\d UTC/g, 'NOW')
/** @param {App} app */
const namesIn = async (app, list = 'pages') => (await get(app, `/api/v1/${list}`)).json().items
  .map((/** @type {{name: string}} */ { name }) => name)
/** @param {App} app @param {string} from @param {object} fields */
const rename = (app, from, fields) =>
  app.inject({ method: 'POST', url: `/edit/rename/${encodeURIComponent(from)}`, payload: fields })

test('a page leads to its talk page, where topics and replies are signed and each is a revision', async (t) => {
  const app = await wiki.build(t)
  await save(app, 'a', 'text')
  const etag = String((await get(app, '/wiki/a')).headers.etag)
  assert.match((await get(app, '/wiki/a', BROWSER)).body, /<a href="\/wiki\/Talk:a" rel="nofollow">Talk<\/a>/)
  const empty = await get(app, '/wiki/Talk:a', BROWSER)
  assert.equal(empty.statusCode, 404)
  assert.match(empty.body,
    /Nothing is written yet about “<a href="\/wiki\/a"[^]*href="\/edit\/topic\/Talk:a"[^>]*>Add a topic/)
  assert.match((await get(app, '/edit/topic/Talk:a', BROWSER)).body, /name="topic"[^]*name="author"/)

  const first = await say(app, { topic: 'Is *this* right?', content: 'I doubt it.\r\n\r\n# No heading', author: 'Ana' })
  assert.deepEqual([first.statusCode, first.headers.location], [303, '/wiki/Talk:a?saved=1#is-this-right'])
  const second = await say(app, { topic: 'Is *this* right?', content: 'Again' })
  assert.equal(second.headers.location, '/wiki/Talk:a?saved=2#is-this-right-2', 'the author comes to the new topic')
  const page = await get(app, '/wiki/Talk:a', BROWSER)
  assert.match(page.body, /<a href="\/wiki\/a">Its page<\/a>/)
  assert.match(page.body, /<form id="_reply" action="\/edit\/topic\/Talk:a" hidden><input[^>]* value="2">/)
  const [, section] =
    /form="_reply" name="section" value="(\d)" aria-label="Reply to “Is \*this\* right\?”"/.exec(page.body) ?? []
  const reply = await say(app, { section, base_revision: '2', content: 'It is.', author: 'B*en*' })
  assert.equal(reply.headers.location, '/wiki/Talk:a?saved=3#is-this-right')
  assert.equal(timeless(await rawOf(app)), [
    '## Is \\*this\\* right?', '> I doubt it.\n>\n> # No heading', '— **Ana**, NOW', '> It is.', '— **B\\*en\\***, NOW',
    '## Is \\*this\\* right?', '> Again', '— without a name, NOW\n'
  ].join('\n\n'))

  const { items } = (await get(app, '/api/v1/pages/Talk:a/revisions')).json()
  assert.deepEqual(items.map((/** @type {any} */ { author, summary }) => [author, summary]), [
    ['B*en*', 'Reply to: Is *this* right?'], ['', 'New topic: Is *this* right?'], ['Ana', 'New topic: Is *this* right?']
  ])
  assert.equal((await get(app, '/wiki/a')).headers.etag, etag, 'copies of the page stay right')
})

test('the editor of a section leads to a new topic about it, with a link back; a page view has no byte of that',
  async (t) => {
    const app = await wiki.build(t)
    await save(app, 'a b', '## One & "two"\n\ntext\n\n## [x] | y\n\ntext')
    assert.doesNotMatch((await get(app, '/wiki/a%20b', BROWSER)).body, /Discuss|edit\/topic/)
    const topicOf = async (/** @type {number} */ section) => {
      const { body } = await get(app, `/edit/text/a%20b?section=${section}`, BROWSER)
      const [, url = ''] = /<a href="([^"]*)">Discuss this section<\/a>/.exec(body) ?? []
      return (await get(app, url, BROWSER)).body
    }
    const topic = await topicOf(1)
    assert.match(topic, /action="\/edit\/topic\/Talk:a%20b"[^]*name="topic"[^>]*value="One &amp; &quot;two&quot;"/)
    assert.match(topic, /<textarea[^>]*>\n\[\[a b#One &amp; (?:"|&quot;)two(?:"|&quot;)\]\]\n/)
    assert.match(await topicOf(2), /name="topic"[^>]*value="\[x\] \| y"[^]*<textarea[^>]*>\n<\/textarea>/)
    await say(app, { topic: 'One & "two"', content: '[[a b#One & "two"]]\n\nIs it so?' }, { name: 'Talk:a b' })
    assert.match((await get(app, '/wiki/Talk:a%20b', BROWSER)).body, /<a href="\/wiki\/a%20b#one-two">/)
    await save(app, 'Talk:Talk:a', '## One')
    for (const name of ['a%20b', 'Talk:a%20b?section=1', 'Talk:Talk:a?section=1']) {
      assert.doesNotMatch((await get(app, `/edit/text/${name}`, BROWSER)).body, /Discuss/)
    }
    assert.equal((await get(app, '/edit/topic/Talk:a?about=%00', BROWSER)).statusCode, 400)
  })

test('signed-in people sign with their names, whatever the form says; others write nothing', async (t) => {
  const app = await wiki.build(t, peopleOnly(t))
  const as = (/** @type {string} */ name) => ({ headers: bearer(name) })
  assert.equal((await say(app, { topic: 't', content: 'x', author: 'admin' }, as('editor'))).statusCode, 303)
  assert.match(await rawOf(app), /— \*\*editor\*\*, /)
  assert.equal((await say(app, { topic: 't', content: 'x' }, as('reader'))).statusCode, 403)
  assert.equal((await say(app, { topic: 't', content: 'x' })).statusCode, 401)
})

test('of people who write at once each is kept, in new topics and in one', async (t) => {
  const app = await wiki.build(t)
  const topics = await Promise.all(Array.from({ length: 8 }, (_, i) =>
    say(app, { topic: `topic ${i}`, content: `text ${i}` })))
  assert.deepEqual(topics.map(({ statusCode }) => statusCode), Array(8).fill(303))
  const replies = await Promise.all(Array.from({ length: 8 }, (_, i) =>
    say(app, { section: '1', base_revision: '8', content: `reply ${i}` })))
  assert.deepEqual(replies.map(({ statusCode }) => statusCode), Array(8).fill(303))
  const text = await rawOf(app)
  for (let i = 0; i < 8; i++) assert.ok(text.includes(`> text ${i}\n`) && text.includes(`> reply ${i}\n`), String(i))
  assert.deepEqual((await namesIn(app, 'pages/Talk:a/revisions')).length, 16, 'one revision each')
  const [, firstTopic] = text.split('## ')
  assert.equal(firstTopic.match(/> reply/g)?.length, 8, 'all are in the topic that they reply to')
})

const HOSTILE = [
  '```\nnever closed', '</textarea><script>alert(1)</script>', '# heading\n\n## heading', '<details>\n\nnever closed',
  '<!-- never',
  '- list\n  - list', '> > quote', '$$\nnever', '| a |\n|---|', '`[^1]: note`', 'text\n===', '\u2028\u0085x',
  '\tcode', '---\na: b\n---'
]

test('no message reaches into another one, into a signature, or into the page', async (t) => {
  const app = await wiki.build(t)
  for (const [index, content] of HOSTILE.entries()) {
    const topic = `t ${content.replaceAll(/[\n\t\u0085]/g, ' ')}`
    const { statusCode, body } = await say(app, { topic, content, author: '**Ana** <b>&[x](/y)' })
    assert.equal(statusCode, 303, body)
    const { body: page } = await get(app, '/wiki/Talk:a', BROWSER)
    const signature = /<p>— <strong>\*\*Ana\*\* &lt;b&gt;&amp;\[x\]\(\/y\)<\/strong>, [\d-]+ [\d:]+ UTC<\/p>/g
    assert.equal(page.match(signature)?.length, index + 1, content)
    assert.equal(page.match(/form="_reply" name/g)?.length, index + 1, `one topic each: ${content}`)
    assert.doesNotMatch(page, /<script>/)
  }
})

test('what is refused comes back as it was typed, with the reason', async (t) => {
  const app = await wiki.build(t, { PAGE_MAX_BYTES: '100000' })
  assert.equal((await say(app, { topic: 'full', content: 'x'.repeat(90_000) })).statusCode, 303)
  for (const [status, fields, reason] of /** @type {[number, Record<string, string>, RegExp][]} */ ([
    [413, { topic: 'a "b"', content: 'y'.repeat(99_000) }, /The text is longer than 97\.7 kB/],
    [413, { section: '1', base_revision: '1', content: 'y'.repeat(50_000) }, /The text is longer than/],
    [409, { section: '2', base_revision: '1', content: 'y' }, /The topic is not on this page any more/],
    [409, { section: '1', base_revision: '9', content: 'y' }, /The topic is not on this page any more/],
    [400, { topic: ' ', content: 'y' }, /Give either a topic/],
    [400, { topic: 'x\u202ey', content: 'y' }, /U\+202E/],
    [400, { topic: 'x', content: 'y', author: 'A\u200bna' }, /cannot be the name of an author/],
    [400, { topic: 'x', content: ' \n ' }, /There is no text/]
  ])) {
    const { statusCode, body } = await say(app, fields)
    assert.equal(statusCode, status, body)
    assert.match(body, reason)
    assert.match(body, /role="alert">[^<]* What you wrote is below and not saved yet\./)
    assert.ok(body.includes(`>\n${fields.content}</textarea>`))
    if (fields.topic) assert.ok(body.includes(`value="${fields.topic.replaceAll('"', '&quot;')}"`))
    if (fields.section) assert.match(body, new RegExp(`name="section" value="${fields.section}"`))
  }
  for (const [name, fields] of /** @type {[string, Record<string, string>][]} */ ([
    ['a', { topic: 'x', content: 'y' }], ['Talk:', { topic: 'x', content: 'y' }],
    ['Talk: a', { topic: 'x', content: 'y' }],
    ['Talk:a', { topic: 'x' }], ['Talk:a', { topic: 'x\ny', content: 'y' }],
    ['Talk:a', { topic: 'x'.repeat(151), content: 'y' }],
    ['Talk:a', { topic: 'x', content: 'y', tags: 'z' }],
    ['Talk:a', { section: '$ne', base_revision: '1', content: 'y' }]
  ])) assert.equal((await say(app, fields, { name })).statusCode, 400, `${name} ${JSON.stringify(fields)}`)
  const foreign = await say(app, { topic: 'x', content: 'y' }, { headers: { 'sec-fetch-site': 'cross-site' } })
  assert.equal(foreign.statusCode, 403)
  assert.equal((await get(app, '/wiki/Talk:a')).headers['page-revision'], '1')
})

test('a page takes its talk page along when it is renamed, with those of its subpages, or neither is', async (t) => {
  const app = await wiki.build(t)
  for (const name of ['a', 'a/b', 'Talk:a', 'Talk:a/b', 'c', 'Talk:taken']) await save(app, name, `of ${name}`)
  assert.match((await get(app, '/edit/rename/a', BROWSER)).body,
    /Its talk page “<span dir="auto">Talk:a<\/span>” is renamed with it/)
  assert.doesNotMatch((await get(app, '/edit/rename/c', BROWSER)).body, /talk page/)
  assert.match((await get(app, '/edit/delete/a', BROWSER)).body, /Its talk page stays, too/)

  const taken = await rename(app, 'a', { to: 'taken' })
  assert.deepEqual([taken.statusCode, taken.json().detail],
    [409, 'Nothing was renamed: these names have pages, or the histories of deleted ones: “Talk:taken”.'])
  const long = 'n'.repeat(197)
  assert.equal((await rename(app, 'a', { to: long })).statusCode, 409, 'the talk page would have too long a name')
  assert.equal((await rename(app, 'c', { to: long })).statusCode, 201)
  assert.doesNotMatch((await get(app, `/wiki/${long}`, BROWSER)).body, />Talk</)

  const renamed = await rename(app, 'a', { to: 'z', subpages: true })
  assert.deepEqual(renamed.json(), { name: 'z', revision: 2, subpages: 1 })
  assert.equal(await rawOf(app, 'Talk:z/b'), 'of Talk:a/b')
  assert.equal((await get(app, '/wiki/Talk:a')).headers.location, '/wiki/Talk:z')
  const { statusCode } = await app.inject({ method: 'DELETE', url: '/wiki/z' })
  assert.equal(statusCode, 204)
  assert.equal((await get(app, '/wiki/Talk:z')).statusCode, 200)
})

test('talk pages need no care, are not drawn and not for crawlers; a search has them last', async (t) => {
  const app = await wiki.build(t)
  for (const name of ['A', 'Talk:A', 'Talk:B', 'Talk:C', 'Tale', 'Tall', 'Z']) {
    await save(app, name, `needle ${'x '.repeat(name.length === 1 ? 50 : 0)}`)
  }
  await untilCounted(app)
  const pages = ['A', 'Tale', 'Tall', 'Z']
  for (const list of ['orphaned', 'dead-ends']) {
    assert.deepEqual(await namesIn(app, list), pages, list)
    const parts = []
    for (let cursor = '', turns = 0; turns < 9; turns++) {
      const { items, next_cursor: next } = (await get(app, `/api/v1/${list}?limit=1${cursor}`)).json()
      parts.push(...items.map((/** @type {{name: string}} */ { name }) => name))
      if (next === null) break
      cursor = `&cursor=${encodeURIComponent(next)}`
    }
    assert.deepEqual(parts, pages, `${list}, one by one`)
  }
  for (let draws = 0; draws < 30; draws++) {
    assert.doesNotMatch(String((await get(app, '/random')).headers.location), /Talk/)
  }
  assert.doesNotMatch((await get(app, '/sitemap/1.xml')).body, /Talk/)
  assert.match((await get(app, '/robots.txt')).body, /^Disallow: \/wiki\/Talk:$/m)
  await untilIndexed(app)
  const found = (await get(app, '/api/v1/search?q=needle')).json().items
    .map((/** @type {{name: string}} */ { name }) => name)
  assert.deepEqual([found.length, found.slice(4).sort()], [7, ['Talk:A', 'Talk:B', 'Talk:C']])
})

test('who watches a page sees what is new on its talk page, also after a renaming', async (t) => {
  const app = await wiki.build(t, peopleOnly(t))
  const watch = await app.inject({ method: 'PUT', url: '/api/v1/watching/pages/a', headers: bearer('reader') })
  assert.equal(watch.statusCode, 204)
  await save(app, 'a', 'text', bearer('editor'))
  await say(app, { topic: 'first', content: 'x' }, { headers: bearer('editor') })
  await app.inject({ method: 'POST', url: '/edit/rename/a', headers: bearer('editor'), payload: { to: 'b' } })
  await say(app, { topic: 'second', content: 'x' }, { name: 'Talk:b', headers: bearer('editor') })
  await say(app, { topic: 'elsewhere', content: 'x' }, { name: 'Talk:c', headers: bearer('editor') })
  const { items } = (await get(app, '/api/v1/watching/changes', bearer('reader'))).json()
  const summaries = items.map((/** @type {any} */ { summary, new: unread }) => `${summary} ${unread}`)
  assert.deepEqual(summaries, [
    'New topic: second true', 'Renamed from “Talk:a” true', 'Renamed from “a” true', 'New topic: first true', ' true'
  ])
})

test('a reply goes to no other topic of the same name, and its summary is one short line', async (t) => {
  const app = await wiki.build(t)
  await save(app, 'Talk:a', '## Q\n\n> first\n\n## Q\n\n> second\n')
  await save(app, 'Talk:a', '## Q\n\n> first\n\n## Q solved\n\n> second\n')
  const gone = await say(app, { section: '2', base_revision: '1', content: 'To the second.' })
  assert.equal(gone.statusCode, 409, gone.body)
  assert.doesNotMatch(await rawOf(app), /To the second/)
  const there = await say(app, { section: '1', base_revision: '1', content: 'To the first.' })
  assert.equal(there.statusCode, 303, there.body)
  assert.match(await rawOf(app), /> first\n\n> To the first\.[^]*## Q solved/)

  await save(app, 'Talk:b', `## \u0001\u202E${'long '.repeat(1000)}\n\n> text\n`)
  const reply = await say(app, { section: '1', base_revision: '1', content: 'Short.' }, { name: 'Talk:b' })
  assert.equal(reply.statusCode, 303, reply.body)
  const [{ summary }] = (await get(app, '/api/v1/pages/Talk:b/revisions')).json().items
  assert.match(summary, /^Reply to: long [a-z ]{100,160}…$/)
})

test('the texts of subpages and talk pages together are what one renaming can take along, or nothing is', async (t) => {
  const app = await wiki.build(t)
  const text = 'x'.repeat(800_000)
  await save(app, 'a', 'text')
  for (const name of ['a/b', 'a/c', 'a/d', 'Talk:a', 'Talk:a/b', 'Talk:a/c']) await save(app, name, text)
  const refused = await rename(app, 'a', { to: 'z', subpages: true })
  assert.equal(refused.statusCode, 409, refused.body)
  assert.match(refused.json().detail, /^Nothing was renamed: the texts of the subpages and talk pages have more than/)
  for (const name of ['a', 'a/b', 'Talk:a', 'Talk:a/b']) {
    assert.equal((await get(app, `/wiki/${name}`)).headers['page-revision'], '1', name)
  }
  assert.equal((await rename(app, 'a/b', { to: 'z/b' })).statusCode, 201, 'some of them first')
  const rest = await rename(app, 'a', { to: 'z', subpages: true })
  assert.deepEqual(rest.json(), { name: 'z', revision: 2, subpages: 2 })
  assert.equal(await rawOf(app, 'Talk:z/b'), text)
  assert.equal(await rawOf(app, 'Talk:z/c'), text)
})

test('a talk page has no talk page, and no page becomes one that takes its own along', async (t) => {
  const app = await wiki.build(t)
  for (const name of ['b', 'Talk:b', 'Talk:Talk:a', 'c']) await save(app, name, '## of\n')
  const { body } = await get(app, '/wiki/Talk:Talk:a', BROWSER)
  assert.doesNotMatch(body, />Talk<|Its page|_reply|edit\/topic/)
  assert.doesNotMatch((await get(app, '/wiki/Talk:b', BROWSER)).body, />Talk<|Talk:Talk/)
  const said = await say(app, { topic: 'x', content: 'y' }, { name: 'Talk:Talk:a' })
  assert.equal(said.statusCode, 400, said.body)
  assert.match(said.body, /is no talk page/)
  const refused = await rename(app, 'b', { to: 'Talk:x' })
  assert.equal(refused.statusCode, 409)
  const { detail } = refused.json()
  assert.match(detail, /^Nothing was renamed: its talk page “Talk:b” cannot go along, .* Choose another/)
  assert.equal((await rename(app, 'c', { to: 'Talk:x' })).statusCode, 201, 'one that has none becomes a talk page')
  await untilCounted(app)
  for (const list of ['orphaned', 'dead-ends']) assert.deepEqual(await namesIn(app, list), ['b'], list)
  assert.doesNotMatch((await get(app, '/sitemap/1.xml')).body, /Talk/)
})
