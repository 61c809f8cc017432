import assert from 'node:assert/strict'
import test from 'node:test'
import { BROWSER, get, save, submit, useWiki } from './helper.js'

const wiki = useWiki()

/** @param {string} html */
const text = (html) => html.replace(/<[^>]*>/g, ' ').replace(/\s+/g, ' ')

test('every revision is kept with its author and summary, at an immutable URL', async (t) => {
  const app = await wiki.build(t)
  await save(app, 'a', 'first')
  await submit(app, 'a', { content: 'second', author: 'Žan', summary: 'a better word', base_revision: '1' })
  await app.inject({ method: 'DELETE', url: '/wiki/a' })
  await save(app, 'a', 'fourth')

  const history = await get(app, '/history/a')
  assert.equal(history.statusCode, 200)
  assert.equal(history.headers['cache-control'], 'public, no-cache')
  assert.match(
    text(history.body),
    /revision 4 , difference .*deleted in revision 3.*revision 2 , difference by Žan : a better word.*revision 1 without a name/
  )

  for (const [revision, word] of [[1, 'first'], [2, 'second'], [4, 'fourth']]) {
    const past = await get(app, `/revision/a/${revision}`)
    assert.equal(past.statusCode, 200)
    assert.equal(past.headers['cache-control'], 'public, max-age=86400, immutable')
    assert.equal(past.headers['page-revision'], String(revision))
    assert.match(past.body, new RegExp(`<p>${word}</p>`))
    assert.match(past.body, new RegExp(`This is revision ${revision}`))
  }
  for (const url of [
    '/revision/a/3', '/revision/a/5', '/revision/none/1', '/history/none', '/difference/a?from=1&to=9', '/raw/none'
  ]) {
    assert.equal((await get(app, url)).statusCode, 404, url)
  }
  for (const url of [
    '/revision/a/0', '/revision/a/-1', '/revision/a/1e3', '/revision/a/x',
    '/difference/a?from=$ne&to=1', '/difference/a?from=1&from=2', '/difference/a?to=0', '/history/a?before=x'
  ]) {
    assert.equal((await get(app, url)).statusCode, 400, url)
  }
  assert.equal((await get(app, '/history/a?before[$gt]=1')).headers.location, '/history/a')
})

test('any two revisions can be compared; long unchanged parts are left out', async (t) => {
  const app = await wiki.build(t)
  const lines = Array.from({ length: 40 }, (_, index) => `line ${index}`)
  await save(app, 'a', lines.join('\n'))
  lines[20] = '<script>alert(1)</script>'
  await save(app, 'a', lines.join('\n'))
  await save(app, 'a', 'all new')
  const { body, headers } = await get(app, '/difference/a?from=1&to=2')
  assert.equal(headers['cache-control'], 'public, max-age=86400, immutable')
  assert.match(body, /<del>line 20<\/del>\n<ins>&lt;script&gt;alert\(1\)&lt;\/script&gt;<\/ins>/)
  assert.match(
    body,
    /… 17 unchanged lines …[^]*<span>line 17<\/span>[^]*<span>line 23<\/span>[^]*… 16 unchanged lines …/
  )
  assert.doesNotMatch(body, /line 10</)
  assert.match((await get(app, '/difference/a?from=2&to=2')).body, /The texts are the same/)
  assert.match((await get(app, '/difference/a?from=3&to=1')).body, /<del>all new<\/del>/)
})

test('the history compares any two revisions, and a comparison without numbers shows the newest change', async (t) => {
  const app = await wiki.build(t)
  await save(app, 'a', 'one')
  assert.doesNotMatch((await get(app, '/history/a')).body, /<select/)
  const leadsTo = async (/** @type {string} */ url) => (await get(app, url)).headers.location
  assert.equal(await leadsTo('/difference/a'), '/history/a', 'one revision has nothing to be compared with')
  await save(app, 'a', 'text 2')
  assert.doesNotMatch((await get(app, '/history/a')).body, /not offered here/)
  for (let number = 3; number <= 60; number++) await save(app, 'a', `text ${number}`)

  const { body } = await get(app, '/history/a')
  const [, form] = /<form class="actions compare" action="\/difference\/a">([^]*?)<\/form>/.exec(body) ?? []
  const chosen = [...form.matchAll(/<select name="(\w+)">[^]*?<option value="(\d+)" selected>/g)]
  assert.deepEqual(chosen.map(([, name, value]) => [name, value]), [['from', '59'], ['to', '60']])
  const offered = (/** @type {string} */ html) => [...html.matchAll(/<option value="(\d+)"/g)].length / 2
  assert.equal(offered(form), 50)
  const older = (await get(app, '/history/a?before=11')).body
  assert.equal(offered(older), 11)
  assert.match(older, /<option value="60">60, the newest<\/option>/)
  for (const html of [body, older]) assert.match(html, /that are not offered here, change the numbers in the address/)
  assert.match(
    (await get(app, '/difference/a?from=2&to=57')).body,
    /<del>text <mark>2<\/mark><\/del>\n<ins>text <mark>57<\/mark><\/ins>/
  )

  assert.equal(await leadsTo('/difference/a'), '/difference/a?from=59&to=60')
  assert.equal(await leadsTo('/difference/a?from=3'), '/difference/a?from=3&to=60')
  assert.equal(await leadsTo('/difference/a?from=&to=7'), '/difference/a?from=6&to=7')
  assert.equal((await get(app, '/difference/none')).statusCode, 404)
  const bad = await get(app, '/difference/a?from=new&to=old', BROWSER)
  assert.equal(bad.statusCode, 400)
  assert.match(bad.body, /numbers of two revisions, such as \?from=1&amp;to=2[^]*href="\/history\/a"/)
  await app.inject({ method: 'POST', url: '/edit/rename/a', payload: { to: 'b' } })
  assert.equal(await leadsTo('/difference/a'), '/difference/b')
})

test('a comparison says which change it ends with, and leads to the change before until there is none', async (t) => {
  const app = await wiki.build(t)
  await save(app, 'a', 'one')
  await submit(app, 'a', { content: 'two', author: '<b>Žan', summary: 'a & b', base_revision: '1' })
  await save(app, 'a', 'three')
  const { body: last } = await get(app, '/difference/a?from=2&to=3')
  assert.match(text(last), /From revision 2 to revision 3 The change before Revision 3: .* UTC , without a name /)
  const before = /<a href="([^"]*)" rel="prev nofollow">/.exec(last)?.[1].replaceAll('&amp;', '&')
  assert.equal(before, '/difference/a?from=1&to=2')
  const { body: first } = await get(app, before)
  assert.match(text(first), /Revision 2: .* UTC , by &lt;b&gt;Žan : a &amp; b /)
  for (const url of [before, '/difference/a?from=3&to=1', '/difference/a?from=2&to=2']) {
    assert.doesNotMatch((await get(app, url)).body, /rel="prev/, url)
  }
})

test('two texts that have nothing in common are compared in bounded time', async (t) => {
  const app = await wiki.build(t)
  const random = (/** @type {number} */ seed) => Array.from(
    { length: 30_000 },
    (_, index) => ((index + seed) * 2654435761 % 4294967296).toString(36)
  ).join('\n')
  await save(app, 'a', random(1))
  await save(app, 'a', random(500_000))
  const { statusCode, body } = await get(app, '/difference/a?from=1&to=2')
  assert.equal(statusCode, 200)
  assert.ok(body.includes('<ins>') && body.includes('<del>'))
})

test('an old revision can be restored, also of a deleted page, without removing history', async (t) => {
  const app = await wiki.build(t)
  await save(app, 'a', 'good')
  await save(app, 'a', 'vandalism')
  const revert = (/** @type {Record<string, string>} */ fields, headers = BROWSER) => app.inject({
    method: 'POST',
    url: '/edit/revert/a',
    headers: { ...headers, 'content-type': 'application/x-www-form-urlencoded' },
    payload: new URLSearchParams(fields).toString()
  })

  const form = (await get(app, '/edit/revert/a?revision=1', BROWSER)).body
  assert.match(form, /<del>vandalism<\/del>[^]*<ins>good<\/ins>/, 'what would change')
  assert.match(form, /name="revision" value="1">\n<input type="hidden" name="base_revision" value="2">/)
  assert.match(form, /name="summary"[^>]*value="Back to revision 1"/)
  const back = await revert({ revision: '1', base_revision: '2' })
  assert.equal(back.statusCode, 303)
  assert.equal(back.headers.location, '/wiki/a?saved=3')
  assert.match((await get(app, '/wiki/a')).body, /<p>good<\/p>/)
  assert.match(text((await get(app, '/history/a')).body), /revision 3 .*Back to revision 1.*revision 2 .*revision 1/)
  const stale = await revert({ revision: '2', base_revision: '2', summary: 'it was right' })
  assert.equal(stale.statusCode, 409, 'revision 3 is newer')
  assert.match(stale.body, /Someone changed the page in the meantime[^]*<ins>vandalism<\/ins>[^]*value="it was right"/)
  assert.equal((await revert({ revision: '1', base_revision: '2' }, { accept: '*/*' })).statusCode, 412)
  for (const query of ['', '?revision=x', '?revision=1&revision=2']) {
    assert.equal((await get(app, `/edit/revert/a${query}`, BROWSER)).statusCode, 400, query)
  }
  assert.equal((await get(app, '/edit/revert/a?revision=9', BROWSER)).statusCode, 404)

  await app.inject({ method: 'DELETE', url: '/wiki/a' })
  const gone = await get(app, '/wiki/a', BROWSER)
  assert.equal(gone.statusCode, 404)
  assert.match(gone.body, /href="\/history\/a"/)
  assert.match(
    (await get(app, '/history/a')).body,
    /action="\/edit\/revert\/a"><input type="hidden" name="revision" value="3"><button>Bring back/
  )
  assert.match((await get(app, '/edit/revert/a?revision=3', BROWSER)).body, /The page is deleted\. It comes back/)
  assert.equal((await get(app, '/edit/revert/a?revision=4', BROWSER)).statusCode, 404)
  assert.equal((await revert({ revision: '4', base_revision: '0' })).statusCode, 404, 'a deletion has no text')
  assert.equal((await revert({ revision: '3', base_revision: '0' }, { accept: '*/*' })).json().revision, 5)
  assert.match((await get(app, '/wiki/a')).body, /<p>good<\/p>/)
})

test('changes are listed newest first, for the whole wiki or one author, and as an Atom feed', async (t) => {
  const app = await wiki.build(t)
  assert.match((await get(app, '/changes')).body, /There are no changes yet/)
  assert.match((await get(app, '/changes.atom')).body, /<updated>1970-01-01T00:00:00\.000Z<\/updated>/)
  for (let index = 1; index <= 60; index++) {
    await submit(app, `page ${index}`,
      { content: 'text', author: index % 2 ? 'Ana' : 'B & <b>', summary: `change ${index}` })
  }

  const first = await get(app, '/changes')
  assert.equal(first.headers['cache-control'], 'public, no-cache')
  assert.match(text(first.body), /page 60 revision 1.*page 59 .*page 11 /)
  assert.doesNotMatch(first.body, />page 10</)
  const next = /<a href="(\/changes\?before=[0-9a-f]{24})" rel="next">/.exec(first.body)?.[1]
  const second = await get(app, String(next))
  assert.match(text(second.body), /page 10 .*page 1 /)
  assert.doesNotMatch(second.body, /rel="next"/)

  const byAuthor = await get(app, `/changes?author=${encodeURIComponent('B & <b>')}`)
  assert.match(byAuthor.body, /Changes by B &amp; &lt;b&gt;/)
  assert.doesNotMatch(byAuthor.body, />page 59</)
  assert.match(byAuthor.body, />page 60</)

  const feed = await get(app, '/changes.atom')
  assert.equal(feed.headers['content-type'], 'application/atom+xml; charset=utf-8')
  assert.equal(feed.body.match(/<entry>/g)?.length, 30)
  assert.match(feed.body, /^<\?xml version="1\.0" encoding="utf-8"\?>\n<feed/)
  assert.match(feed.body, /<name>B &amp; &lt;b&gt;<\/name>/)
  assert.equal((await get(app, '/changes?before=1')).statusCode, 400)
  for (const query of ['before[$gt]=1', 'author[$ne]=x']) {
    assert.equal((await get(app, `/changes?${query}`)).headers.location, '/changes')
  }
})

test('documents name the feed; its links are absolute, its ids stay, and it says what changed', async (t) => {
  const app = await wiki.build(t)
  await submit(app, 'a', { content: 'one', author: 'Ana', summary: 'First words' })
  await save(app, 'a', 'one and more')
  await save(app, 'a', 'one')
  await app.inject({ method: 'DELETE', url: '/wiki/a' })
  const links = (/** @type {string} */ body) =>
    [...body.matchAll(/<link rel="(?:self|alternate)"[^>]* href="([^"]*)"/g)].map(([, url]) => url)
  assert.deepEqual(links((await get(app, '/pages')).body), ['/changes.atom'])
  assert.deepEqual(links((await get(app, '/changes?author=Ana')).body), ['/changes.atom?author=Ana'])

  const feedOf = async (/** @type {typeof app} */ from, url = '/changes.atom', host = 'wiki.example:8080') =>
    (await get(from, url, { host })).body
  const feed = await feedOf(app)
  assert.deepEqual(links(feed), [
    'changes.atom', 'changes', 'difference/a?from=3&amp;to=4', 'difference/a?from=2&amp;to=3',
    'difference/a?from=1&amp;to=2', 'revision/a/1'
  ].map((path) => `http://wiki.example:8080/${path}`))
  assert.deepEqual([...feed.matchAll(/<summary>([^<]*)</g)].map(([, said]) => said), [
    'The page was deleted.', 'Now 3 bytes, 9 bytes less than before.', 'Now 12 bytes, 9 bytes more than before.',
    'First words. A new page of 3 bytes.'
  ])
  const ids = (/** @type {string} */ body) => [...body.matchAll(/<id>([^<]*)</g)].map(([, id]) => id)
  assert.equal(new Set(ids(feed)).size, 5)
  const hers = await feedOf(app, '/changes.atom?author=Ana')
  assert.notEqual(ids(hers)[0], ids(feed)[0])
  assert.equal(ids(hers)[1], ids(feed)[4])

  assert.match(await feedOf(app, '/changes.atom', 'a"><b>'), /<link rel="self" type="[^"]*" href="\/changes\.atom"/)
  const named = await wiki.build(t, { PUBLIC_URL: 'https://wiki.example/' })
  assert.match(await feedOf(named), /<link rel="self" type="[^"]*" href="https:\/\/wiki\.example\/changes\.atom"/)
  assert.equal((await get(app, '/changes.atom?before=5f0000000000000000000000')).headers.location, '/changes.atom')
})

test('the feed is well-formed whatever names, tags, authors and summaries contain', async (t) => {
  const app = await wiki.build(t)
  const hostile = ']]><script>alert(1)</script>&amp;<!-- "\''
  await submit(app, hostile, { content: 'text', author: hostile, summary: hostile, tags: hostile.replaceAll('/', '') })
  for (const [author, summary] of [['\uFFFF', ''], ['', '\uD800'], ['a\u0001', ''], ['a\nb', '']]) {
    assert.equal(
      (await app.inject({ method: 'POST', url: '/wiki/a', payload: { content: 'x', author, summary } })).statusCode,
      400
    )
  }
  const { body } = await get(app, '/changes.atom')
  assert.doesNotMatch(body, /<script|<!--|\]\]><|&(?!amp;|lt;|gt;|quot;|#39;)/)
  // Well-formed XML closes every element by its own name.
  /** @type {string[]} */
  const open = []
  for (const [, closing, name, empty] of body.matchAll(/<(\/?)([a-z]+)[^>]*?(\/?)>/g)) {
    if (closing) assert.equal(open.pop(), name)
    else if (!empty) open.push(name)
  }
  assert.deepEqual(open, [])
})

test('/raw returns a page’s Markdown source and revalidates with its ETag', async (t) => {
  const app = await wiki.build(t)
  await save(app, 'a', '# *Source*')
  const raw = await get(app, '/raw/a')
  assert.equal(raw.headers['content-type'], 'text/markdown; charset=utf-8')
  assert.equal(raw.body, '# *Source*')
  assert.equal((await get(app, '/raw/a', { 'if-none-match': String(raw.headers.etag) })).statusCode, 304)
})
