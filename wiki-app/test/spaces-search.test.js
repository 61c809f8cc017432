// What a private space has for itself: a search of its texts, an export, and people that watch its pages.
import assert from 'node:assert/strict'
import test from 'node:test'
import { ObjectId } from 'mongodb'
import { exported, filesIn, imported, page } from './archives.js'
import { BROWSER, get, save, useWiki } from './helper.js'
import { png } from './images.js'
import { bearer } from './people.js'
import { makeSpace, put, send, startWithPeople, upload } from './spaces.js'

const wiki = useWiki()
/** More parts than any search here has, on a slow machine, too. */
const PARTS_MAX = 2_200

/** @param {import('node:test').TestContext} t */
async function start (t) {
  const started = await startWithPeople(t, wiki)
  for (const name of ['Team', 'Tea', 'Work']) await makeSpace(started.app, name)
  return started
}

/** @param {import('fastify').FastifyInstance} app @param {string} url @param {string} [by] */
const read = (app, url, by = 'teamreader') => get(app, url, { ...BROWSER, ...bearer(by) })

/** @param {string} q @param {string} [space] */
const searchUrl = (q, space = 'Team') => `/edit/in/search?${new URLSearchParams({ space, q })}`

/** @param {string} body @returns {string[]} */
const namesIn = (body) => [...body.matchAll(/<li><a href="[^"]*" dir="auto">([^<]*)</g)].map(([, name]) => name)

/** @param {string} body @returns {string | undefined} where the search goes on */
const nextIn = (body) => /<a href="([^"]*)" rel="next">Search on/.exec(body)?.[1].replaceAll('&amp;', '&')

/**
 * All hits, part by part.
 * @param {import('fastify').FastifyInstance} app @param {string} q @returns {Promise<string[][]>}
 */
async function searched (app, q) {
  const parts = []
  for (let url = /** @type {string | undefined} */ (searchUrl(q)); url !== undefined && parts.length < PARTS_MAX;) {
    const { statusCode, body } = await read(app, url)
    assert.equal(statusCode, 200, url)
    parts.push(namesIn(body))
    url = nextIn(body)
  }
  return parts
}

test('a member finds the pages and talk pages of one space that have all words', async (t) => {
  const { app } = await start(t)
  for (const [name, content] of [
    ['Team', 'Čebele letijo v panj. The hive stands near the old mill.'],
    ['Team/Straße', 'A BEE, <b>and</b> a hive'],
    ['Team/Hive', 'beekeeper, bee_line'],
    ['Team/mill', 'old\n\nmill, hive: none'],
    ['Talk:Team/mill', 'Is the *hive* at the mill?'],
    ['Team/gone', 'hive'],
    ['Team/养蜂场', '在nginx的缓存里。'],
    ['Tea/x', 'hive mill bee'],
    ['Work/x', 'hive mill bee'],
    ['Talk:Work/x', 'hive mill bee']
  ]) assert.equal((await put(app, name, { content })).statusCode, 201, name)
  await save(app, 'Public', 'hive mill bee', bearer('editor'))
  await send(app, '/edit/delete/Team/gone', {}, 'teameditor')

  const found = async (/** @type {string} */ q) => (await searched(app, q)).flat()
  const all = ['Talk:Team/mill', 'Team', 'Team/Hive', 'Team/Straße', 'Team/mill']
  assert.deepEqual(await found('HIVE'), all, 'in the text or in the title, in order of bytes')
  assert.deepEqual(await found('hive mill'), ['Talk:Team/mill', 'Team', 'Team/mill'])
  assert.deepEqual(await found('cebele'), ['Team'])
  assert.deepEqual(await found('ČEBELE'), ['Team'])
  assert.deepEqual(await found('strasse bee'), ['Team/Straße'], 'one word in the title, the other in the text')
  assert.deepEqual(await found('bee'), ['Team/Hive', 'Team/Straße'], 'whole words; an underscore ends one')
  assert.deepEqual(await found('bee_line'), ['Team/Hive'])
  assert.deepEqual(await found('"old mill"'), ['Team', 'Team/mill'])
  assert.deepEqual(await found('"old mill" -none'), ['Team'])
  assert.deepEqual(await found('hive -"a hive" -bee -old'), ['Talk:Team/mill'])
  for (const q of ['缓存', '养蜂 缓存', '"nginx的缓存"', 'nginx', '蜂场 -hive']) {
    assert.deepEqual(await found(q), ['Team/养蜂场'], q)
  }
  for (const q of ['缓里', '缓存 -蜂', '"nginx缓存"']) assert.deepEqual(await found(q), [], q)
  assert.match((await read(app, searchUrl('缓存'))).body, /在nginx的<mark>缓存<\/mark>里/)
  for (const q of ['', ' ', '-hive', '"', '.*', '[a-z]', 'hive nowhere', '-', '$where', '\ud800', '\u0000']) {
    assert.deepEqual(await found(q), [], JSON.stringify(q))
  }

  const { body, headers } = await read(app, searchUrl('a hive'))
  assert.match(body, /<mark>A<\/mark> BEE, and <mark>a<\/mark> <mark>hive<\/mark>/, 'without Markdown and HTML')
  assert.match(String(headers['cache-control']), /private, no-store/)
  assert.match((await read(app, searchUrl('"><b>'))).body, /value="&quot;&gt;&lt;b&gt;"/)
  assert.match((await read(app, searchUrl('hive none such'))).body, /No page has all these words/)
  assert.match((await read(app, searchUrl(''))).body, /Type whole words/)
  assert.equal((await read(app, searchUrl('x'.repeat(201)))).statusCode, 400)
  assert.equal((await read(app, searchUrl('hive', 'Public'))).headers.location, '/edit/spaces')
  assert.equal((await read(app, searchUrl('hive'), 'editor')).statusCode, 403)
  assert.equal((await read(app, searchUrl('hive', 'Team/mill'))).statusCode, 200, 'a page names its space')

  const [list, page] = [await read(app, '/edit/in/pages?space=Team'), await read(app, '/edit/in/wiki/Team')]
  assert.match(list.body, /<button formaction="\/edit\/in\/search">/)
  assert.match(page.body, /href="\/edit\/in\/search\?space=Team"/)
  assert.match((await get(app, '/search', BROWSER)).body, /<a href="\/edit\/spaces"/)
})

test('a long search stops, goes on where it stopped, and reads nothing of other spaces', async (t) => {
  const { app, db } = await start(t)
  const stored = (/** @type {string} */ name, content = 'a rare word') => ({
    _id: /** @type {any} */ (name), content, revision: 1, modified_at: new Date(), deleted_at: null
  })
  const pages = db.collection('space_pages')
  const names = Array.from({ length: 2_100 }, (_, index) => `Team/${String(index).padStart(4, '0')}`)
  await pages.insertMany(names.map((name, index) => stored(name, index < 2_080 ? 'common' : 'rare common')))
  await pages.insertMany(Array.from({ length: 9 }, (_, index) => stored(`Work/${index}`, 'rare')))
  await pages.insertMany(names.map((name) => stored(name.replace('Team', 'Tea'))))

  const parts = await searched(app, 'rare')
  assert.deepEqual(parts.flat(), names.slice(2_080))
  assert.ok(parts.length > 1, '2000 pages are a part')
  const { body } = await read(app, searchUrl('common'))
  assert.ok(namesIn(body).length <= 20, 'so are 20 hits')
  assert.match(body, /The search has come to “Team\/00/)
  assert.match(String(nextIn(body)), /after=Team%2F00/)

  // A list reads what it shows, wherever it begins.
  const examined = async (/** @type {string} */ url) => {
    await db.command({ profile: 2 })
    await read(app, url)
    await db.command({ profile: 0 })
    const asked = await db.collection('system.profile').find({ ns: /space_pages$/ }).toArray()
    await db.collection('system.profile').drop()
    assert.ok(asked.length > 0)
    return asked.reduce((sum, { docsExamined = 0, keysExamined = 0 }) => sum + Math.max(docsExamined, keysExamined), 0)
  }
  for (const after of ['', 'A', 'Team/0100', 'Team/2089', 'Z']) {
    const read = await examined(`/edit/in/pages?space=Team&after=${after}`)
    assert.ok(read <= 60, `${read} read for at most 50 after “${after}”`)
  }

  // Long texts: a part has some 8 million characters of them.
  await pages.deleteMany({ _id: /** @type {any} */ (/^Team/) })
  const long = 'čas '.repeat(250_000)
  for (let index = 0; index < 11; index++) await pages.insertOne(stored(`Team/${index}`, `${long}${index}`))
  const ofLong = await searched(app, '9')
  assert.deepEqual(ofLong.flat(), ['Team/9'])
  assert.ok(ofLong.length > 1)

  const ofAll = await examined(searchUrl('čas'))
  assert.ok(ofAll <= 15, `${ofAll} read of a space with 11 pages`)
})

test('a list of changes has those of one space, and does not say how many others there are', async (t) => {
  const { app, db } = await start(t)
  const changes = db.collection('space_revisions')
  await put(app, 'Team/old', { content: 'x' })
  await put(app, 'Work/x', { content: 'x' })
  const ofWork = await changes.findOne({ page: 'Work/x' })
  await changes.insertMany(Array.from({ length: 1_100 }, (_, index) =>
    ({ ...ofWork, _id: new ObjectId(), revision: 2 + index })))
  await put(app, 'Talk:Team/old', { content: 'x' })
  await send(app, '/api/v1/pages/Team%2Fold/rename', { to: 'Team/new' }, 'teameditor')
  await put(app, 'Team/old', { content: 'another' })
  // As of a page that was renamed in an earlier space, “Team” with “Work”.
  const { matchedCount } = await db.collection('space_pages').updateOne(
    /** @type {any} */ ({ _id: 'Work/x' }), { $set: { history: 'Team/elsewhere' } })
  assert.equal(matchedCount, 1)
  await changes.insertOne({ ...ofWork, _id: new ObjectId(), page: 'Team/elsewhere' })

  const names = ['Team/old', 'Talk:Team/new', 'Team/new', 'Talk:Team/new', 'Team/new']
  const url = '/api/v1/spaces/Team/changes'
  const whole = (await read(app, url)).json()
  assert.deepEqual([whole.items.map((/** @type {{name: string}} */ { name }) => name), whole.next_cursor],
    [names, null])
  const found = []
  let cursor = ''
  for (const name of names) {
    const { items, next_cursor: next } = (await read(app, `${url}?limit=1${cursor}`)).json()
    found.push(...items)
    assert.equal(next === null, found.length === names.length, name)
    cursor = `&cursor=${next}`
  }
  assert.deepEqual(found, whole.items)

  // Otherwise what is left out would count the changes of others.
  const list = '/edit/in/changes?space=Team'
  assert.equal((await read(app, `${list}&skip=3`)).body, (await read(app, list)).body)
})

test('administrators of a space take its pages along, and nothing else', async (t) => {
  const { app } = await start(t)
  for (const [name, content] of [['Team', 'one ![p](/files/x.png)'], ['Team/Č: x', 'two'], ['Talk:Team', 'said'],
    ['Team/gone', 'x'], ['Team/was', 'moved'], ['Work/x', 'of Work'], ['Tea/x', 'of Tea'], ['Work/was', 'x']]) {
    await put(app, name, { content, tags: ['t'] })
  }
  await save(app, 'Public', 'public', bearer('editor'))
  await send(app, '/edit/delete/Team/gone', {}, 'teameditor')
  for (const space of ['Team', 'Work']) {
    await send(app, `/edit/rename/${space}/was`, { to: `${space}/is` }, 'teameditor')
  }

  const answer = await read(app, '/edit/in/export?space=Team', 'teamadmin')
  assert.equal(answer.statusCode, 200)
  const { 'content-type': type, 'cache-control': control, 'content-disposition': disposition } = answer.headers
  assert.deepEqual([type, control, disposition],
    ['application/zip', 'private, no-store', 'attachment; filename="space.zip"'])
  const files = await filesIn(answer.rawPayload)
  assert.deepEqual([...files.keys()], ['Talk%3ATeam.md', 'Team.md', 'Team/is.md', 'Team/Č%3A x.md'])
  assert.match(String(files.get('Team.md')),
    /^---\nname: Team\ntags:\n {2}- t\nrevision: 1\nmodified_at: .*\nauthor: teameditor\n---\none !\[p\]/)
  assert.match(String(files.get('Team/is.md')), /former_names:\n {2}- Team\/was\n---\nmoved$/)
  const head = await app.inject({ method: 'HEAD', url: '/edit/in/export?space=Team', headers: bearer('teamadmin') })
  assert.deepEqual([head.statusCode, head.rawPayload.length], [200, 0])
  for (const by of ['reader', 'teamreader', 'teameditor']) {
    assert.equal((await read(app, '/edit/in/export?space=Team', by)).statusCode, 403, by)
  }
  assert.equal((await read(app, '/edit/in/export?space=Public', 'admin')).headers.location, '/edit/spaces')
  const list = async (/** @type {string} */ by) => (await read(app, '/edit/in/pages?space=Team', by)).body
  assert.match(await list('teamadmin'), /href="\/edit\/in\/export\?space=Team"/)
  assert.doesNotMatch(await list('teameditor'), /export\?space/)

  // A wiki without this space has the pages as public ones.
  const other = await wiki.build(t)
  assert.equal((await imported(other, answer.rawPayload)).totals.created, 4)
  assert.match((await get(other, '/raw/Team/is')).body, /^moved/)
})

test('an export of a space has its files where the texts look for them, and no other export has them', async (t) => {
  const { app } = await start(t)
  const space = 'Work/Team: (1)'
  await send(app, '/edit/spaces/remove', { name: 'Work' })
  await makeSpace(app, space)
  const picture = (await upload(app, space, png(2), { alt: 'a plan' })).json()
  const attached = (await upload(app, space, '<p>', { name: 'č.html' })).json()
  assert.equal((await upload(app, 'Team', png(3))).statusCode, 201)
  await put(app, `${space}/Plan`, { content: `${picture.markdown} ${attached.markdown}` })
  const { rawPayload } = await get(app, `/edit/in/export?space=${encodeURIComponent(space)}`, bearer('teamadmin'))
  const files = await filesIn(rawPayload)
  const [one, two] = [picture, attached].map(({ url }) => /[0-9a-f]{32}/.exec(url)?.[0])
  const below = 'edit/in/files/Work/Team%3A (1)'
  assert.deepEqual([...files.keys()],
    ['Work/Team%3A (1)/Plan.md', `${below}/${one}.png`, `${below}/${two}/č.html`])
  assert.equal(files.get(`${below}/${two}/č.html`), '<p>')
  assert.deepEqual([...(await filesIn(await exported(app))).keys()], [])

  // Elsewhere they become public, as the texts do.
  const other = await wiki.build(t)
  assert.equal((await imported(other, rawPayload)).totals.created, 3)
  const { content } = await page(other, `${space}/Plan`)
  assert.ok(content.startsWith(`![a plan](/files/${one}.png) [č.html](/files/${two}/%C4%8D.html) (`), content)
})

test('a person watches private pages, and sees their changes while the space may be read', async (t) => {
  const { app, db } = await start(t)
  const by = 'teamreader'
  for (const name of ['Team/a', 'Team/b', 'Work/w']) await put(app, name, { content: 'one' })
  const watch = (/** @type {string} */ name, watch = 'yes', person = by) =>
    send(app, `/edit/watch/${name}`, { watch }, person)
  const api = async (path = '') => (await get(app, `/api/v1/watching${path}`, bearer(by))).json()
  const seen = async () => (await api('/changes')).items.map((/** @type {any} */ { name, revision, space }) =>
    [name, revision, space].join(' '))
  const names = async () => (await api()).in_spaces.map((/** @type {any} */ { name, space }) => `${space}: ${name}`)
  const grant = (/** @type {string} */ role, name = 'Team') =>
    send(app, '/edit/spaces/grant', { name, group: 'readers', role }, 'teamadmin')

  assert.match((await read(app, '/edit/in/wiki/Team/a')).body, /href="\/edit\/watch\/Team\/a"/)
  for (const name of ['Team/a', 'Team/none', 'Work/w', 'Open']) assert.equal((await watch(name)).statusCode, 303, name)
  const outsider = async (/** @type {string} */ name) => (await Promise.all([
    watch(name, 'yes', 'editor'), read(app, `/edit/watch/${name}`, 'editor'),
    send(app, `/api/v1/watching/pages/${encodeURIComponent(name)}`, {}, 'editor', 'PUT')
  ])).map(({ statusCode, body }) => {
    assert.equal(statusCode, 403, body)
    return body.replaceAll(name, 'NAME').replace(/<code>[^<]*<\/code>|"request_id":"[^"]*"/g, '')
  })
  assert.deepEqual(await outsider('Team/a'), await outsider('Team/z'), 'as one that is not there')

  await put(app, 'Talk:Team/a', { content: 'said' })
  await put(app, 'Work/w', { content: 'two' })
  await put(app, 'Team/b', { content: 'not watched' })
  await save(app, 'Open', 'public', bearer('editor'))
  await put(app, 'Team/a', { content: 'two', summary: 'a reason' })
  const all = ['Team/a 2 Team', 'Open 1 ', 'Work/w 2 Work', 'Talk:Team/a 1 Team', 'Work/w 1 Work', 'Team/a 1 Team']
  assert.deepEqual(await seen(), all)
  assert.deepEqual(await names(), ['Team: Team/a', 'Team: Team/none', 'Work: Work/w'])
  for (const path of ['', '/changes']) {
    const { headers } = await get(app, `/api/v1/watching${path}`, bearer(by))
    assert.equal(headers['cache-control'], 'private, no-store')
  }
  const first = await api('/changes?limit=4')
  const { items: rest } = await api(`/changes?cursor=${first.next_cursor}`)
  assert.deepEqual([first.items.length, rest.length], [4, 2], 'parts of both stores follow each other')
  const { body: list } = await read(app, '/edit/watching')
  assert.match(list, /href="\/edit\/in\/wiki\/Team\/a" dir="auto">Team\/a<\/a> <span[^>]*>\(private space <bdi>Team</)
  assert.match(list, /href="\/edit\/in\/difference\/Team\/a\?from=1&amp;to=2"/)
  assert.match(list, /Changes of private pages are not in the feed/)
  assert.ok(first.items[0].new)
  await send(app, '/api/v1/watching/read', { read_mark: first.read_mark }, by)
  assert.ok((await api('/changes')).items.every((/** @type {any} */ item) => !item.new))
  const { body: made } = await send(app, '/edit/watching/feed', {}, by)
  const feed = await get(app, String(/\/feeds\/[\w-]{43}/.exec(made)?.[0]))
  assert.match(feed.body, /<title>Open: /)
  assert.doesNotMatch(feed.body, /Team\/|Work|a reason/)

  await grant('none')
  await send(app, '/edit/rename/Team/a', { to: 'Team/later' }, 'teameditor')
  assert.deepEqual([await seen(), await names()], [['Open 1 ', 'Work/w 2 Work', 'Work/w 1 Work'], ['Work: Work/w']])
  assert.doesNotMatch((await read(app, '/edit/watching')).body, /Team/)
  assert.equal((await watch('Team/b')).statusCode, 403)
  assert.equal((await read(app, '/edit/watch/Team/later')).statusCode, 403, 'nothing says what it is called now')
  assert.match((await read(app, '/edit/watch/Team/none')).body, /Stop watching/)
  assert.equal((await watch('Team/none', 'no')).headers.location, '/edit/watching')
  assert.equal((await read(app, '/edit/watch/Team/none')).statusCode, 403)
  await grant('reader')
  assert.deepEqual(await names(), ['Work: Work/w', 'Team: Team/later'], 'the role is back')
  assert.ok((await seen()).includes('Team/later 3 Team'))

  // What is not shown leaves room for what is.
  const others = Array.from({ length: 1_000 }, (_, index) => ({ name: `Tea/${index}`, since: new Date() }))
  await grant('none', 'Tea')
  const watchers = db.collection('space_watchers')
  await watchers.updateOne({}, { $push: /** @type {any} */ ({ pages: { $each: others } }) })
  assert.equal((await watch('Team/b')).headers.location, '/edit/watch/Team/b')
  await send(app, '/api/v1/pages/Work%2Fw', {}, 'teameditor', 'DELETE')
  assert.equal((await send(app, '/edit/spaces/remove', { name: 'Work' })).statusCode, 204)
  assert.deepEqual(await names(), ['Team: Team/later', 'Team: Team/b'])
  const stored = JSON.stringify(await watchers.findOne())
  assert.ok(!stored.includes('Work') && stored.includes('Tea/900'), 'a space that is gone is forgotten')
})
