import assert from 'node:assert/strict'
import test from 'node:test'
import mongoose from 'mongoose'
import { editUrl, viewUrl } from '../src/pages/name.js'
import { BROWSER, get, save, useWiki } from './helper.js'

const wiki = useWiki()
const ZONE = { PURGE_ZONE: 'zone', PUBLIC_URL: 'https://wiki.example', PURGE_TOKEN: 'token-in-the-environment' }

test('a page is the same HTML document for all clients, with caching headers', async (t) => {
  const app = await wiki.build(t)
  await save(app, 'Home page', '# Welcome\n\nto *stevec*')

  const page = await get(app, '/wiki/Home%20page')
  assert.equal(page.statusCode, 200)
  assert.equal(page.headers['content-type'], 'text/html; charset=utf-8')
  assert.equal(page.headers['cache-control'], 'public, max-age=180')
  assert.equal(page.headers['page-revision'], '1')
  assert.match(String(page.headers.etag), /^"[\w-]+"$/)
  assert.equal(new Date(String(page.headers['last-modified'])).toUTCString(), page.headers['last-modified'])
  assert.equal(Number(page.headers['content-length']), page.rawPayload.length)
  assert.equal(page.headers.vary, undefined)
  assert.equal(page.headers['set-cookie'], undefined)
  assert.match(page.body, /<title>Home page – stevec<\/title>/)
  assert.match(page.body, /<h2 id="welcome">Welcome<\/h2>[^\n]*\n<p>to <em>stevec<\/em><\/p>/)
  assert.match(page.body, /href="\/edit\/text\/Home%20page"/)
  assert.doesNotMatch(page.body, /\/wiki\/stevec/, 'crawlers would follow a link to the counter, which resets it')

  for (const headers of [
    BROWSER,
    { accept: 'application/json' },
    { accept: 'image/*', 'accept-language': 'sl', 'x-forwarded-host': 'evil.example', cookie: 'a=b' }
  ]) {
    const same = await get(app, '/wiki/Home%20page', headers)
    assert.equal(same.body, page.body)
    assert.equal(same.headers.etag, page.headers.etag)
  }
  for (const query of [
    '?', '?x=1', '?saved', '?saved=', '?saved=0', '?saved=-1', '?saved=1.5', '?saved=1e3', '?saved=x',
    '?saved=1&saved=1', '?saved[]=1'
  ]) {
    const same = await get(app, `/wiki/Home%20page${query}`)
    assert.equal(same.body, page.body, query)
    assert.equal(same.headers['cache-control'], page.headers['cache-control'], query)
  }
})

test('a page has less than 3 kB around its content', async (t) => {
  const app = await wiki.build(t)
  await save(app, 'x'.repeat(50), 'a')
  const { rawPayload } = await get(app, `/wiki/${'x'.repeat(50)}`)
  assert.ok(rawPayload.length < 3_000, `${rawPayload.length} bytes`)
})

test('what can be done with a page stands beside its title, also above its history and an old revision', async (t) => {
  const app = await wiki.build(t)
  await save(app, 'a/b & c', 'first')
  await save(app, 'a/b & c', 'text\n\n'.repeat(1_000))
  await save(app, 'Talk:a/b & c', 'text')
  const page = '/wiki/a/b%20&%20c'
  const { body } = await get(app, page)
  const [tools] = /<nav class="tools"[^]*?<\/nav>/.exec(body) ?? ['']
  assert.ok(body.indexOf(tools) < body.indexOf('<article'), 'before the text')
  assert.deepEqual([...tools.matchAll(/<a [^>]*>([^<]*)</g)].map(([, words]) => words), [
    'Talk', 'Edit', 'History', 'Rename', 'Delete', 'Export as Markdown', 'What links here',
    'Permanent link to revision 2'
  ])
  for (const [, url] of tools.matchAll(/href="([^"]*)"/g)) {
    assert.equal((await get(app, url.replaceAll('&amp;', '&'), BROWSER)).statusCode, 200, url)
  }
  const [footer] = /<footer>[^]*<\/footer>/.exec(body) ?? ['']
  assert.match(footer, /Last edited <time/)
  assert.doesNotMatch(footer, /<a /)

  const others = ['/history/a/b%20&%20c', '/difference/a/b%20&%20c?from=1&to=2']
  for (const url of others) {
    const other = (await get(app, url)).body
    assert.match(other,
      /<a href="\/wiki\/a\/b%20&amp;%20c">Page<\/a>\n<a [^>]*>Talk<\/a>\n<a class="writes" href="\/edit\/text\//, url)
    assert.match(other, />Export as Markdown</, url)
  }
  assert.match((await get(app, '/revision/a/b%20&%20c/1')).body, />Permanent link to revision 1</)

  await app.inject({ method: 'DELETE', url: page })
  assert.doesNotMatch((await get(app, others[0])).body, /class="tools"/, 'a deleted page has nothing to edit')
})

test('the same page has another entity tag where other people may write', async (t) => {
  const uri = wiki.freshUri()
  const open = await wiki.build(t, { MONGODB_URI: uri })
  await save(open, 'a', 'text')
  const { etag } = (await get(open, '/wiki/a')).headers
  const closed = await wiki.build(t, { MONGODB_URI: uri, ACCESS: 'read-only' })
  const answer = await get(closed, '/wiki/a', { 'if-none-match': String(etag) })
  assert.equal(answer.statusCode, 200)
  assert.notEqual(answer.headers.etag, etag)
})

test('HEAD has the headers of GET and no body', async (t) => {
  const app = await wiki.build(t)
  await save(app, 'a', 'text')
  const { headers } = await get(app, '/wiki/a')
  const head = await app.inject({ method: 'HEAD', url: '/wiki/a' })
  assert.equal(head.statusCode, 200)
  assert.equal(head.body, '')
  for (const name of ['etag', 'last-modified', 'cache-control', 'page-revision', 'content-length', 'content-type']) {
    assert.equal(String(head.headers[name]), String(headers[name]))
  }
})

test('a conditional request for an unchanged page gets 304 without a body (RFC 9110 §13)', async (t) => {
  const app = await wiki.build(t)
  await save(app, 'a', 'text')
  const { headers } = await get(app, '/wiki/a')
  const etag = String(headers.etag)
  const lastModified = String(headers['last-modified'])
  const earlier = new Date(Date.parse(lastModified) - 1000).toUTCString()
  const later = new Date(Date.parse(lastModified) + 1000).toUTCString()

  const conditions = /** @type {[number, Record<string, string>][]} */ ([
    [304, { 'if-none-match': etag }],
    [304, { 'if-none-match': `W/${etag}` }],
    [304, { 'if-none-match': `"other", W/"another",${etag}` }],
    [304, { 'if-none-match': '*' }],
    [200, { 'if-none-match': '"other"' }],
    [200, { 'if-none-match': etag.slice(1, -1) }],
    [304, { 'if-modified-since': lastModified }],
    [200, { 'if-modified-since': later }],
    [200, { 'if-modified-since': earlier }],
    [200, { 'if-modified-since': 'yesterday' }],
    [200, { 'if-none-match': '"other"', 'if-modified-since': later }],
    [304, { 'if-none-match': etag, 'if-modified-since': earlier }],
    [200, { 'if-none-match': etag, 'cache-control': 'no-cache' }]
  ])
  for (const [status, condition] of conditions) {
    const answer = await get(app, '/wiki/a', condition)
    assert.equal(answer.statusCode, status, JSON.stringify(condition))
    for (const name of ['etag', 'last-modified', 'cache-control', 'page-revision']) {
      assert.equal(answer.headers[name], headers[name], `${name} of ${status}`)
    }
    if (status === 304) assert.equal(answer.body, '')
  }

  await save(app, 'a', 'text')
  assert.equal(
    (await get(app, '/wiki/a', { 'if-none-match': etag })).statusCode,
    200,
    'a new revision has a new entity tag, even with the same text'
  )
  await app.inject({ method: 'DELETE', url: '/wiki/a' })
  for (const condition of [etag, '*']) {
    assert.equal(
      (await get(app, '/wiki/a', { 'if-none-match': condition })).statusCode,
      404,
      'a deleted page is 404, not 304'
    )
  }
})

test('a view takes one database read, without the text for a 304; an outdated copy takes two', async (t) => {
  const app = await wiki.build(t, { MONGODB_URI: `${wiki.freshUri()}&monitorCommands=true` })
  await save(app, 'a', 'text')
  const etag = String((await get(app, '/wiki/a')).headers.etag)

  /** @type {string[]} */
  const commands = []
  const client = mongoose.connections[mongoose.connections.length - 1].getClient()
  // The queue and the index of words read, too, at times of their own.
  client.on('commandStarted', ({ commandName, command }) => {
    if (command.projection?.html_hash) commands.push(`${commandName} ${Object.keys(command.projection ?? {})}`)
  })
  const validators = 'find revision,html_hash,subpages_hash,renderer,links_outdated,rendered_at,deleted_at,redirect_to'
  const whole = `${validators},html,content_bytes,modified_at,tags,subpages`
  for (const [url, headers, status, reads] of /** @type {[string, Record<string, string>, number, string[]][]} */ ([
    ['/wiki/a', {}, 200, [whole]],
    ['/wiki/a', { 'if-none-match': etag }, 304, [validators]],
    ['/wiki/a?saved=1', {}, 200, [whole]],
    ['/wiki/none', {}, 404, [whole]],
    // Only a client with an outdated copy waits for two reads.
    ['/wiki/a', { 'if-none-match': '"older"' }, 200, [validators, whole]]
  ])) {
    commands.length = 0
    assert.equal((await get(app, url, headers)).statusCode, status)
    assert.deepEqual(commands, reads, url)
  }
})

test('pages that together exceed the size of one database reply are all sent', async (t) => {
  const app = await wiki.build(t, { MONGODB_URI: `${wiki.freshUri()}&monitorCommands=true` })
  const names = Array.from({ length: 6 }, (_, index) => `large ${index}`)
  for (const name of names) await save(app, name, 'text')
  const client = mongoose.connections[mongoose.connections.length - 1].getClient()
  await client.db().collection('pages').updateMany({}, { $set: { html: Buffer.alloc(3_000_000, 'x') } })

  /** @type {string[]} */
  const commands = []
  client.on('commandStarted', ({ commandName }) => commands.push(commandName))
  const answers = await Promise.all(names.map((name) => get(app, `/wiki/${encodeURIComponent(name)}`)))
  for (const { statusCode, body } of answers) {
    assert.equal(statusCode, 200)
    assert.ok(body.includes('x'.repeat(3_000_000)))
  }
  assert.ok(commands.includes('killCursors'), 'the cursor is closed instead of left to time out')
})

test('the cache policy sets Cache-Control, and the notice after a save says when others see the edit', async (t) => {
  for (const [settings, cacheControl, notice] of /** @type {[Record<string, string>, string, RegExp][]} */ ([
    [
      { CACHE_POLICY: 'ttl', CACHE_TTL_S: '60' }, 'public, max-age=60',
      /you and others .* for up to 1 minute: .* your browser/
    ],
    [{ CACHE_POLICY: 'ttl', CACHE_TTL_S: '0' }, 'public, max-age=0', /Everybody sees it from now on\./],
    [
      { CACHE_POLICY: 'purge-url', ...ZONE }, 'public, no-cache',
      /caches have not confirmed yet .* for up to 24 hours\./
    ],
    [{ CACHE_POLICY: 'bounded' }, 'public, no-cache', /Everybody sees it within 500 milliseconds\./],
    [
      { CACHE_POLICY: 'bounded', CACHE_BEYOND_BOUND_S: '5' }, 'public, max-age=0, s-maxage=5, must-revalidate',
      /within 500 milliseconds; behind a cache that this wiki does not reach, up to 5 seconds later\./
    ],
    [{ CACHE_POLICY: 'revalidate' }, 'public, no-cache', /Everybody sees it from now on\./],
    [{ CACHE_POLICY: 'no-store' }, 'private, no-store', /Everybody sees it from now on\./]
  ])) {
    const app = await wiki.build(t, settings)
    await save(app, 'a', 'text')
    assert.equal((await get(app, '/wiki/a')).headers['cache-control'], cacheControl)

    const saved = await get(app, '/wiki/a?saved=1', { 'if-none-match': '*' })
    assert.equal(saved.statusCode, 200)
    assert.match(saved.body, notice)
    assert.equal(saved.headers['cache-control'], 'private, no-store')
    assert.equal(saved.headers.etag, undefined)
    assert.equal(saved.headers['page-revision'], '1')
    // This URL may be requested before the edit: no cache may store the old text under it.
    const early = await get(app, '/wiki/a?saved=2')
    const { etag, 'cache-control': caching } = early.headers
    assert.deepEqual([early.statusCode, caching, etag], [200, 'private, no-store', undefined])
    assert.doesNotMatch(early.body, /Saved as revision/)
  }
})

test('every other spelling of a name redirects to the canonical URL of its page', async (t) => {
  const app = await wiki.build(t)
  await save(app, 'Šola in dom', 'text')
  for (const spelling of ['%20%C5%A0ola%20in%20dom', 'S%CC%8Cola%20in%20%20dom%20', '%C5%A0ola%C2%A0in%20dom?x=1']) {
    const answer = await get(app, `/wiki/${spelling}`)
    assert.equal(answer.statusCode, 301)
    assert.equal(answer.headers.location, '/wiki/%C5%A0ola%20in%20dom')
    assert.equal(answer.headers['cache-control'], 'public, max-age=180')
  }
  // Caches compare bytes, so another percent-encoding is another spelling, too.
  assert.equal((await get(app, '/wiki/%c5%a0ola%20in%20do%6d')).headers.location, '/wiki/%C5%A0ola%20in%20dom')
  for (const [spelling, url] of [['C%2B%2B', 'C++'], ['a%2Fb', 'a/b'], ['%7Eana', '~ana'], ['a%3Ab', 'a:b']]) {
    assert.equal((await get(app, `/wiki/${spelling}`)).headers.location, `/wiki/${url}`)
  }
  for (const [kind, location] of [
    ['history', '/history/a/b?before=3'],
    ['raw', '/raw/a/b'],
    ['links', '/links/a/b'],
    ['revision', '/revision/a/b/1'],
    ['difference', '/difference/a/b?from=1&to=2']
  ]) {
    const answer = await get(app, location.replace('a/b', 'a%2Fb'))
    assert.deepEqual([answer.statusCode, answer.headers.location?.split('?')[0]], [301, location.split('?')[0]], kind)
  }
  assert.equal((await get(app, '/wiki/%20stevec')).headers.location, '/wiki/stevec')
})

test('a missing page gets 404 with no-store, and in a browser a link to create it', async (t) => {
  const app = await wiki.build(t)
  const program = await get(app, '/wiki/no%20%22such%22')
  assert.equal(program.statusCode, 404)
  assert.equal(program.headers['cache-control'], 'no-store')
  assert.equal(program.json().detail, 'There is no page named “no "such"”.')

  const person = await get(app, '/wiki/no%20%22such%22', BROWSER)
  assert.equal(person.statusCode, 404)
  assert.match(person.body, /href="\/edit\/text\/no%20%22such%22" rel="nofollow">Create it</)
})

test('page names are escaped wherever HTML shows them', async (t) => {
  const app = await wiki.build(t)
  for (const name of [
    '<script>alert(1)<', '"onmouseover="alert(1)', "'&amp;<u>", 'javascript:alert(1)', '$where', '{"$ne":1}',
    '__proto__', '%2e%2e', '<%= it %>', '$& $1'
  ]) {
    assert.equal((await save(app, name, 'text')).statusCode, 201, name)
    const url = viewUrl(name)
    const text = name
      .replaceAll('&', '&amp;')
      .replaceAll('<', '&lt;')
      .replaceAll('>', '&gt;')
      .replaceAll('"', '&quot;')
      .replaceAll("'", '&#39;')
    for (const { body } of await Promise.all([
      get(app, url),
      get(app, editUrl(name)),
      get(app, '/pages'),
      get(app, viewUrl(`no ${name}`), BROWSER)
    ])) {
      assert.ok(body.includes(text), `${name} in ${body}`)
      assert.doesNotMatch(body, /<script(?! type=)|<u>|"onmouseover|href="javascript/)
    }
  }
})
