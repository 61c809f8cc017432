import assert from 'node:assert/strict'
import test from 'node:test'
import mongoose from 'mongoose'
import { BROWSER, get, save, submit, useWiki } from './helper.js'
import { OIDC } from './oidc.js'
import { bearer, cookieOf, MAIL, peopleOnly, post, ROLES } from './people.js'

const wiki = useWiki()

/** The role that each route requires. Add every new route here. */
const DEMANDS = {
  'GET /': 'anyone',
  'GET /pages': 'anyone',
  'GET /wiki': 'anyone',
  'GET /wiki/': 'anyone',
  'GET /search': 'anyone',
  'GET /tags': 'anyone',
  'GET /tags/:tag': 'anyone',
  'GET /links/*': 'anyone',
  'GET /tree/*': 'anyone',
  'GET /orphaned': 'anyone',
  'GET /wanted': 'anyone',
  'GET /dead-ends': 'anyone',
  'GET /overdue': 'anyone',
  'GET /care': 'anyone',
  'GET /random': 'anyone',
  'GET /healthz': 'anyone',
  'GET /status': 'anyone',
  'GET /status.json': 'anyone',
  'GET /readyz': 'anyone',
  'GET /favicon.ico': 'anyone',
  'GET /offline.js': 'anyone',
  'GET /assets/style.css': 'anyone',
  'GET /assets/forms.css': 'anyone',
  'GET /assets/icon.svg': 'anyone',
  'GET /assets/page.js': 'anyone',
  'GET /assets/author.js': 'anyone',
  'GET /assets/editor.css': 'anyone',
  'GET /assets/api.js': 'anyone',
  'GET /assets/copy.js': 'anyone',
  'GET /assets/tasks.js': 'anyone',
  'GET /assets/tree.js': 'anyone',
  'GET /assets/keys.js': 'anyone',
  'GET /assets/make.js': 'anyone',
  'GET /assets/settled.js': 'anyone',
  'GET /assets/name-list.js': 'anyone',
  'GET /assets/search-names.js': 'anyone',
  'GET /assets/api.css': 'anyone',
  'GET /assets/codemirror.js': 'anyone',
  ...Object.fromEntries([
    '', '-codemirror', '-draft', '-field', '-form', '-links', '-markdown', '-pictures', '-preview', '-toolbar'
  ].map((part) => [`GET /assets/editor${part}.js`, 'anyone'])),
  'GET /files': 'anyone',
  'GET /files/:file': 'anyone',
  'GET /files/:file/:name': 'anyone',
  'GET /wiki/stevec': 'anyone',
  'GET /wiki/*': 'anyone',
  'GET /s/:id': 'anyone',
  'GET /history/*': 'anyone',
  'GET /revision/*': 'anyone',
  'GET /raw/*': 'anyone',
  'GET /difference/*': 'anyone',
  'GET /changes': 'anyone',
  'GET /changes.atom': 'anyone',
  'GET /robots.txt': 'anyone',
  'GET /sitemap.xml': 'anyone',
  'GET /sitemap/:part': 'anyone',
  'POST /wiki/*': 'editor',
  'DELETE /wiki/*': 'editor',
  'GET /edit/new': 'editor',
  'GET /edit/new/*': 'anyone',
  'GET /edit/text/*': 'editor',
  'GET /edit/delete/*': 'editor',
  'GET /edit/rename/*': 'editor',
  'POST /edit/text/*': 'editor',
  'POST /edit/preview/*': 'editor',
  'POST /edit/upload': 'editor',
  'GET /edit/import': 'editor',
  'POST /edit/import': 'editor',
  'POST /edit/delete/*': 'editor',
  'POST /edit/rename/*': 'editor',
  'GET /edit/short-link/*': 'editor',
  'POST /edit/short-link/*': 'editor',
  'GET /edit/revert/*': 'editor',
  'POST /edit/revert/*': 'editor',
  'POST /edit/task/*': 'editor',
  'GET /edit/topic/*': 'editor',
  'POST /edit/topic/*': 'editor',
  'GET /edit/picture/:file': 'editor',
  'POST /edit/picture/:file': 'editor',
  'POST /edit/delete-picture/:file': 'editor',
  'GET /edit/erase/*': 'admin',
  'POST /edit/erase/*': 'admin',
  'GET /edit/revert-author': 'admin',
  'POST /edit/revert-author': 'admin',
  'GET /edit/people': 'admin',
  'GET /edit/people/person': 'admin',
  'POST /edit/people': 'admin',
  ...Object.fromEntries(['link', 'role', 'block', 'unblock', 'remove'].map((verb) =>
    [`POST /edit/people/${verb}`, 'admin'])),
  'GET /edit/audit': 'admin',
  'GET /edit/protection': 'admin',
  'POST /edit/protection': 'admin',
  'POST /edit/protection/remove': 'admin',
  ...Object.fromEntries(['/edit/proposal', '/api/v1/proposals'].flatMap((path) => [
    [`GET ${path === '/edit/proposal' ? '/edit/proposals' : path}`, 'editor'],
    [`GET ${path}/:id`, 'editor'],
    [`POST ${path}/:id/publish`, 'admin'],
    [`POST ${path}/:id/decline`, 'admin'],
    [`POST ${path}/:id/withdraw`, 'editor']
  ])),
  'GET /edit/spaces': 'reader',
  'POST /edit/spaces': 'admin',
  'POST /edit/spaces/remove': 'admin',
  'POST /edit/spaces/grant': 'reader',
  'GET /edit/groups': 'admin',
  ...Object.fromEntries(['', '/remove', '/add', '/take'].map((verb) => [`POST /edit/groups${verb}`, 'admin'])),
  ...Object.fromEntries(['wiki/*', 'history/*', 'revision/*', 'raw/*', 'difference/*', 'links/*', 'tree/*', 'pages',
    'changes', 'search', 'files', 'files/*'].map((path) => [`GET /edit/in/${path}`, 'reader'])),
  'GET /edit/in/export': 'admin',
  'GET /edit/in/picture/*': 'editor',
  ...Object.fromEntries(['upload', 'picture', 'delete-picture'].map((verb) => [`POST /edit/in/${verb}/*`, 'editor'])),
  ...Object.fromEntries(['', '/:name', '/:name/pages', '/:name/changes', '/:name/search', '/:name/files'].map((path) =>
    [`GET /api/v1/spaces${path}`, 'reader'])),
  'GET /api/v1/spaces/:name/export': 'admin',
  'POST /api/v1/spaces': 'admin',
  'DELETE /api/v1/spaces/:name': 'admin',
  'PUT /api/v1/spaces/:name/grants/:group': 'admin',
  'DELETE /api/v1/spaces/:name/grants/:group': 'admin',
  'POST /api/v1/spaces/:name/files': 'editor',
  'PATCH /api/v1/spaces/:name/files/:file': 'editor',
  'DELETE /api/v1/spaces/:name/files/:file': 'editor',
  ...Object.fromEntries(['GET /groups', 'POST /groups', 'DELETE /groups/:name', 'GET /groups/:name/members',
    'PUT /groups/:name/members/:person', 'DELETE /groups/:name/members/:person'].map((route) =>
    [route.replace(' ', ' /api/v1'), 'admin'])),
  'GET /api/v1/protections': 'admin',
  'PUT /api/v1/protections/:name': 'admin',
  'DELETE /api/v1/protections/:name': 'admin',
  'GET /edit/account': 'reader',
  'POST /edit/account/mail': 'reader',
  'POST /edit/account/mail/forget': 'reader',
  'POST /edit/account/password': 'reader',
  'POST /edit/account/tokens': 'reader',
  'POST /edit/account/tokens/remove': 'reader',
  'GET /invitations/:secret': 'anyone',
  'POST /invitations/:secret': 'anyone',
  'GET /watching': 'anyone',
  'GET /feeds/:secret': 'anyone',
  'GET /edit/watching': 'reader',
  'POST /edit/watching/read': 'reader',
  'POST /edit/watching/feed': 'reader',
  'POST /edit/watching/digest': 'reader',
  'POST /edit/watching/digest/end': 'reader',
  'GET /digests/confirm/:secret': 'anyone',
  'POST /digests/confirm/:secret': 'anyone',
  'GET /digests/stop/:secret': 'anyone',
  'POST /digests/stop/:secret': 'anyone',
  'GET /edit/watch/*': 'reader',
  'POST /edit/watch/*': 'reader',
  'GET /edit/watch-author': 'reader',
  'POST /edit/watch-author': 'reader',
  'GET /api': 'anyone',
  'GET /api/': 'anyone',
  ...Object.fromEntries([
    'openapi.json', 'counter', 'export', 'pages', 'pages/:name', 'pages/:name/backlinks', 'pages/:name/subpages',
    'pages/:name/revisions', 'pages/:name/revisions/:revision', 'pages/:name/difference',
    'files', 'tags', 'tags/:tag/pages', 'orphaned', 'wanted', 'dead-ends', 'search', 'changes', 'short-links/:id',
    'saves/:id'
  ].map((path) => [`GET /api/v1/${path}`, 'anyone'])),
  'GET /api/v1/watching': 'reader',
  'GET /api/v1/watching/changes': 'reader',
  'POST /api/v1/watching/read': 'reader',
  ...Object.fromEntries(['GET', 'PUT', 'DELETE'].map((method) => [`${method} /api/v1/watching/digest`, 'reader'])),
  ...Object.fromEntries(['PUT', 'DELETE'].flatMap((method) => ['pages/:name', 'authors/:author'].map((path) =>
    [`${method} /api/v1/watching/${path}`, 'reader']))),
  'PUT /api/v1/pages/:name': 'editor',
  'DELETE /api/v1/pages/:name': 'editor',
  'POST /api/v1/pages/:name/rename': 'editor',
  'POST /api/v1/pages/:name/revert': 'editor',
  'POST /api/v1/short-links': 'editor',
  'PUT /api/v1/short-links/:id': 'editor',
  'POST /api/v1/preview': 'editor',
  'POST /api/v1/import': 'editor',
  'POST /api/v1/files': 'editor',
  'PATCH /api/v1/files/:file': 'editor',
  'DELETE /api/v1/files/:file': 'editor',
  'GET /edit/sign-in': 'anyone',
  'POST /edit/sign-in': 'anyone',
  'GET /edit/sign-in/forgotten': 'anyone',
  'POST /edit/sign-in/forgotten': 'anyone',
  'POST /edit/sign-in/oidc': 'anyone',
  'GET /edit/sign-in/oidc/callback': 'anyone',
  'POST /edit/sign-out': 'anyone'
}

/**
 * @param {import('fastify').FastifyInstance} app
 * @returns {{method: 'GET', url: string, key: string, demand: string | undefined, rule: {role: string, config: any}}[]}
 *   every registered route, with a URL to try and its entry in DEMANDS
 */
const routesOf = (app) => /** @type {any} */ (app).rules.flatMap(
  (/** @type {{method: string | string[], url: string}} */ rule) => [rule.method].flat().map((each) => {
    const key = `${each === 'HEAD' ? 'GET' : each} ${rule.url.replace(/\.[0-9a-f]{12}\./, '.')}`
    return {
      method: each,
      url: rule.url.replace(/\*|:(?:tag|name|author|file|id|secret)/, 'a').replace(':revision', '1'),
      key,
      demand: /** @type {Record<string, string>} */ (DEMANDS)[key],
      rule
    }
  })
)

/** @param {{statusCode: number, headers: import('node:http').OutgoingHttpHeaders}} answer */
const ruling = ({ statusCode, headers }) => String(headers.location).startsWith('/edit/sign-in?')
  ? 'sign-in'
  : [401, 403, 405].includes(statusCode) ? statusCode : 'allowed'

test('every route requires the role in the table, and only sign-in and sign-out set cookies', async (t) => {
  const app = await wiki.build(t, { ...peopleOnly(t), ...MAIL, ...OIDC })
  const routes = routesOf(app)
  for (const key of Object.keys(DEMANDS)) {
    assert.ok(routes.some((route) => route.key === key), `${key} is in the table, but no such route exists`)
  }
  const cookies = Object.fromEntries(await Promise.all(ROLES.map(async (role) => [role, await cookieOf(app, role)])))
  const rank = ['anyone', ...ROLES]

  for (const { method, url, key, demand, rule } of routes) {
    /**
     * @param {string} who
     * @param {Record<string, string>} headers
     * @param {string | number} expected
     */
    const check = async (who, headers, expected) => {
      const answer = await app.inject({ method, url, headers })
      assert.equal(
        ruling(answer),
        demand === undefined ? 405 : expected,
        `${method} ${url} by ${who} (a new route? add it to DEMANDS)`
      )
      if (!url.startsWith('/edit/sign-')) assert.equal(answer.headers['set-cookie'], undefined, key)
      if (url.startsWith('/edit/')) assert.match(String(answer.headers['cache-control']), /no-store/, key)
    }
    const personal = url.startsWith('/edit/')
    const free = demand === 'anyone'
    // A private space that is not there is so for everybody: see spaces-api.test.js for one that is.
    const { ofSpace = false } = rule.config
    if (ofSpace) assert.equal(rule.role, demand, key)
    await check('a client without credentials', {}, free ? 'allowed' : 401)
    await check(
      'a browser without credentials',
      BROWSER,
      free ? 'allowed' : personal && (method === 'GET' || String(method) === 'HEAD') ? 'sign-in' : 401
    )
    for (const role of ROLES) {
      const may = ofSpace || rank.indexOf(role) >= rank.indexOf(String(demand))
      await check(`${role} with a token`, bearer(role), may ? 'allowed' : 403)
      // Sign-in and sign-out are the last routes in the list: the cookies are valid until then.
      await check(`${role} with a cookie`, cookies[role], free ? 'allowed' : !personal ? 401 : may ? 'allowed' : 403)
    }
    await check('a client with an unknown token', { authorization: 'Bearer stevec_nobody' }, free ? 'allowed' : 401)
  }
})

test('every route with an unsafe method refuses cross-site requests, even with admin credentials', async (t) => {
  const app = await wiki.build(t, { ...peopleOnly(t), ...MAIL })
  await save(app, 'a', 'text', bearer('editor'))
  const credentials = { ...await cookieOf(app, 'admin'), 'sec-fetch-site': 'cross-site' }
  const unsafe = routesOf(app).filter(({ method, demand }) => demand !== undefined && !['GET', 'HEAD'].includes(method))
  assert.ok(unsafe.length >= 9)
  for (const { method, url } of unsafe) {
    for (const headers of [
      credentials,
      { ...bearer('admin'), 'sec-fetch-site': 'cross-site' },
      { cookie: credentials.cookie, origin: 'https://evil.example' }
    ]) {
      const answer = await app.inject({ method, url, headers })
      assert.equal(answer.statusCode, 403, `${method} ${url}`)
      assert.match(answer.json().detail, /another site/)
    }
  }
})

test('with any credentials a page has the same body, sets no cookie and costs one database read', async (t) => {
  const app = await wiki.build(t, { ...peopleOnly(t), MONGODB_URI: `${wiki.freshUri()}&monitorCommands=true` })
  await save(app, 'a', 'text', bearer('editor'))
  const cookie = await cookieOf(app, 'admin')
  const { body, headers } = await get(app, '/wiki/a')
  assert.equal(headers['cache-control'], 'public, max-age=180')
  assert.equal(headers.vary, undefined)

  /** @type {string[]} */
  const commands = []
  mongoose.connections[mongoose.connections.length - 1].getClient()
    .on('commandStarted', ({ commandName, command }) => {
      // The index of words reads pages, too, but not how they look.
      if (command.projection?.html_hash) commands.push(commandName)
    })
  for (const sent of [cookie, bearer('admin'), { cookie: 'session=x' }]) {
    commands.length = 0
    const same = await get(app, '/wiki/a', sent)
    assert.equal(same.body, body)
    assert.equal(same.headers['set-cookie'], undefined)
    assert.deepEqual(commands, ['find'])
  }
})

test('with sign-in, a change’s author is the signed-in user, whatever author the request names', async (t) => {
  const app = await wiki.build(t, peopleOnly(t))
  const json = (/** @type {object} */ payload) =>
    app.inject({ method: 'POST', url: '/wiki/a', headers: bearer('editor'), payload })
  await json({ content: 'one', author: 'admin' })
  const cookie = await cookieOf(app, 'admin')
  const form = await get(app, '/edit/text/a', { ...BROWSER, ...cookie })
  assert.match(form.body, /show your name: <b dir="auto">admin<\/b>/)
  assert.doesNotMatch(form.body, /name="author"/)
  await post(app, '/edit/text/a', { content: 'two', author: 'editor' }, cookie)
  await post(app, '/edit/rename/a', { to: 'b', author: 'editor' }, cookie)
  await post(app, '/edit/revert/b', { revision: '1', author: 'editor' }, cookie)
  await app.inject({ method: 'DELETE', url: '/wiki/b', headers: bearer('editor') })
  await post(app, '/edit/revert/b', { revision: '2', author: 'editor' }, cookie)
  await post(app, '/edit/delete/b', { author: 'editor' }, cookie)
  const { body } = await get(app, '/history/b')
  assert.deepEqual(
    [...body.matchAll(/author=(\w+)"/g)].map(([, name]) => name),
    ['admin', 'admin', 'editor', 'admin', 'admin', 'admin', 'editor']
  )
})

test('a form sent without sign-in gets 401 and itself, to be sent again after signing in', async (t) => {
  const app = await wiki.build(t, { ...peopleOnly(t), PAGE_MAX_BYTES: '1000' })
  const sent = { content: '\n</textarea><b>long & "work"', tags: 'a, b', summary: '"><script>', base_revision: '0' }
  const answer = await post(app, '/edit/text/a%20b?x="><b>', sent)
  assert.equal(answer.statusCode, 401)
  assert.equal(answer.headers['cache-control'], 'private, no-store')
  assert.match(String(answer.headers['www-authenticate']), /^Bearer /)
  assert.match(answer.body, /sign in on another tab, come back to this one, and send it again/)
  assert.match(answer.body, /<a class="primary" href="\/edit\/sign-in" target="_blank">/)
  assert.match(answer.body, /<form method="post" action="\/edit\/text\/a%20b\?x=%22%3E%3Cb%3E">/)
  assert.match(answer.body,
    /<textarea [^>]*readonly>\n\n&lt;\/textarea&gt;&lt;b&gt;long &amp; &quot;work&quot;<\/textarea>/)
  for (const [name, value] of [['tags', 'a, b'], ['summary', '&quot;&gt;&lt;script&gt;'], ['base_revision', '0']]) {
    assert.ok(answer.body.includes(`<input type="hidden" name="${name}" value="${value}">`), name)
  }
  assert.equal((await get(app, '/wiki/a%20b')).statusCode, 404, 'nothing is saved')
  const again = await post(app, '/edit/text/a%20b', sent, await cookieOf(app, 'editor'))
  assert.equal(again.headers.location, '/wiki/a%20b?saved=1')
  assert.equal((await get(app, '/api/v1/pages/a%20b')).json().content, sent.content)

  assert.equal((await post(app, '/edit/text/a', { content: 'x'.repeat(3_001) })).statusCode, 413, 'as long as a save')
  const renaming = await post(app, '/edit/rename/a', { to: 'b', base_revision: '1' })
  assert.equal(renaming.statusCode, 401)
  assert.match(renaming.body, /<input type="hidden" name="to" value="b">/)
  assert.doesNotMatch(renaming.body, /<textarea/)
  const foreign = await post(app, '/edit/text/a', sent, { 'sec-fetch-site': 'cross-site' })
  assert.equal(foreign.statusCode, 403)
  assert.doesNotMatch(foreign.body, /long/, 'another site cannot put its text here')
})

test('a read-only wiki refuses every change and every edit form with 403 and the reason', async (t) => {
  const app = await wiki.build(t, { ACCESS: 'read-only' })
  for (const { method, url, key, demand } of routesOf(app)) {
    const answer = await app.inject({ method, url })
    assert.equal(ruling(answer), demand === undefined ? 405 : demand === 'anyone' ? 'allowed' : 403, key)
    if (demand !== undefined && demand !== 'anyone' && String(method) !== 'HEAD') {
      assert.match(answer.json().detail, /can only be read/)
    }
  }
  assert.equal((await get(app, '/edit/sign-in')).statusCode, 404)
  assert.equal((await get(app, '/edit/sign-in', { cookie: 'session=x' })).statusCode, 404)
})

test('an open wiki refuses only admin routes, and names the settings that allow administrators', async (t) => {
  const app = await wiki.build(t)
  for (const { method, url, key, demand } of routesOf(app)) {
    assert.equal(ruling(await app.inject({ method, url })),
      demand === undefined ? 405 : demand === 'admin' ? 403 : 'allowed', key)
  }
  assert.match((await get(app, '/edit/revert-author')).json().detail, /can give it administrators: ACCESS=users/)
  assert.match((await get(app, '/edit/text/a', BROWSER)).body, /name="author"/)
  assert.equal((await submit(app, 'a', { content: 'x', author: 'Ana' })).statusCode, 303)
  assert.match((await get(app, '/history/a')).body, />Ana</)
})

/**
 * Requests the documents that people read, below /edit/ as this person.
 * @param {import('fastify').FastifyInstance} app
 * @param {Record<string, string>} [cookie]
 */
async function documentsOf (app, cookie = {}) {
  const urls = routesOf(app)
    .filter(({ method, url, demand }) => method === 'GET' && demand !== undefined && !url.startsWith('/api/v1'))
    .map(({ url }) => url)
  urls.push('/wiki/none', '/nowhere', '/search?q=none', '/%zz')
  const answers = await Promise.all(urls.map(async (url) => {
    const { headers, body } = await get(app, url, { ...BROWSER, ...url.startsWith('/edit/') ? cookie : {} })
    return { url, type: String(headers['content-type']), body }
  }))
  return answers.filter(({ type }) => type.startsWith('text/html'))
}

test('with sign-in the header of every document says who is signed in, or where to sign in', async (t) => {
  const app = await wiki.build(t, peopleOnly(t))
  await save(app, 'a', 'text', bearer('editor'))
  const documents = await documentsOf(app, await cookieOf(app, 'editor'))
  assert.ok(documents.length > 20)
  for (const { url, body } of documents) {
    const [header] = /<header>[^]*<\/header>/.exec(body) ?? ['']
    const isPersonal = url.startsWith('/edit/')
    assert.equal(header.includes('<a href="/edit/sign-in" rel="nofollow" dir="auto">Sign in</a>'), !isPersonal, url)
    assert.equal(header.includes('data-role="editor">editor</a>'), isPersonal, url)
    assert.match(header, /<form method="post" action="\/edit\/sign-out"/, url)
  }
  const open = await wiki.build(t)
  for (const { url, body } of await documentsOf(open)) assert.doesNotMatch(body, /Sign in/, url)
})

test('a reader reads, finds no button to write below /edit/, and can sign out', async (t) => {
  const app = await wiki.build(t, peopleOnly(t))
  const cookie = await cookieOf(app, 'reader')
  for (const { url, body } of (await documentsOf(app, cookie)).filter(({ url }) => url.startsWith('/edit/'))) {
    assert.match(body, /data-role="reader">reader<\/a>/, url)
    assert.doesNotMatch(body, /"\/edit\/(?!sign-|watch|account|spaces")/, url)
  }
  assert.doesNotMatch((await get(app, '/files')).body, /name="author"/, 'the wiki knows the names of those who write')
  const own = await get(app, '/edit/sign-in', { ...BROWSER, ...cookie })
  assert.equal(own.statusCode, 200)
  assert.match(own.body, /Your name in this wiki is <b dir="auto">reader<\/b>. You are a reader/)
  assert.equal((await post(app, '/edit/sign-out', {}, cookie)).statusCode, 303)
  assert.match((await get(app, '/edit/sign-in', { ...BROWSER, ...cookie })).body, /<h1>Sign in<\/h1>/)
})

test('a read-only wiki shows no way to write, and no sign-in', async (t) => {
  const uri = wiki.freshUri()
  await save(await wiki.build(t, { MONGODB_URI: uri }), 'a', 'one')
  const app = await wiki.build(t, { MONGODB_URI: uri, ACCESS: 'read-only' })
  const documents = (await documentsOf(app)).filter(({ url }) => !url.startsWith('/edit/'))
  assert.ok(documents.length > 10)
  for (const { url, body } of documents) assert.doesNotMatch(body, /"\/edit\//, url)
})

test('missing, malformed or unknown credentials get 401; sign-out still redirects', async (t) => {
  const app = await wiki.build(t, peopleOnly(t))
  for (const authorization of [
    '', 'Bearer', 'Bearer ', 'Basic cmVhZGVyOng=', 'Bearer a b', 'Bearer \u00e9', `Bearer ${'x'.repeat(5_000)}`,
    'Bearer stevec_editor, Bearer stevec_admin', 'Bearer {"$gt":""}'
  ]) {
    assert.equal((await save(app, 'a', 'x', { authorization })).statusCode, 401, authorization)
  }
  assert.equal(
    (await save(app, 'a', 'x', { authorization: 'bearer  stevec_editor' })).statusCode,
    201,
    'the scheme is case-insensitive'
  )
  for (const cookie of [
    '', ';', 'session', 'session=', 'session=%', 'session=%00', 'session[$gt]=', `session=${'x'.repeat(8_000)}`,
    '__proto__=x', 'session=a; session=b', '='.repeat(1_000)
  ]) {
    for (const url of ['/edit/text/a', '/edit/new', '/edit/revert-author']) {
      assert.equal((await get(app, url, { cookie })).statusCode, 401, cookie)
    }
    assert.equal((await post(app, '/edit/sign-out', {}, { cookie })).statusCode, 303, cookie)
  }
})
