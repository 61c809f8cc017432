import assert from 'node:assert/strict'
import test from 'node:test'
import { BROWSER, get, save, useWiki } from './helper.js'
import { withMarkers } from '../src/writing/markers.js'
import { bearer, peopleOnly } from './people.js'

const wiki = useWiki()

const TEXT = 'lead\n\n# Food\n\nbread\n\n## Drinks\n\ntea\n\n# Places\n\nhere\n'

/** @typedef {import('fastify').FastifyInstance} App */

/** What the button of a heading asks for. @param {App} app @param {string} query */
const open = (app, query, name = 'a') => get(app, `/edit/text/${name}?${query}`, BROWSER)

/** @param {App} app @param {Record<string, string>} fields */
const send = (app, fields, { name = 'a', to = 'text' } = {}) => app.inject({
  method: 'POST',
  url: `/edit/${to}/${name}`,
  headers: { ...BROWSER, 'content-type': 'application/x-www-form-urlencoded', 'sec-fetch-site': 'same-origin' },
  payload: new URLSearchParams(fields).toString()
})
/** @param {App} app */
const rawOf = async (app, name = 'a') => (await get(app, `/raw/${name}`)).body
/** @param {string} html */
const typedIn = (html) => /<textarea[^>]*>\n([^]*?)<\/textarea>/.exec(html)?.[1]
/** @param {string} html @param {string} name */
const fieldIn = (html, name) => new RegExp(`<input[^>]* name="${name}"[^>]* value="([^"]*)"`).exec(html)?.[1]

test('a page has a form for the buttons of its sections, with its revision, where one may write', async (t) => {
  const [app, closed] = [await wiki.build(t), await wiki.build(t, { ACCESS: 'read-only' })]
  await save(app, 'a/b c', TEXT)
  await save(app, 'a/b c', `${TEXT}more\n`)
  const { body } = await get(app, '/wiki/a/b%20c', BROWSER)
  assert.match(body,
    /<form id="_edit" action="\/edit\/text\/a\/b%20c" hidden><input type="hidden" name="revision" value="2"><\/form>/)
  assert.deepEqual([...body.matchAll(/<button form="_edit" name="section" value="(\d)" aria-label="(.*?)">Edit</g)]
    .map(([, number, label]) => [number, label]),
  [['1', 'Edit section “Food”'], ['2', 'Edit section “Drinks”'], ['3', 'Edit section “Places”']])
  assert.doesNotMatch((await get(closed, '/', BROWSER)).body, /_edit/)
  assert.match((await get(app, '/revision/a/b%20c/1', BROWSER)).body, /<form id="_edit"[^>]*><input[^>]* value="1">/,
    'as “Edit” does, a section of an old text leads to the newest')
})

test('a section is edited alone and saved into the text of its revision; the author comes back to it', async (t) => {
  const app = await wiki.build(t)
  await save(app, 'a', TEXT.replace('# Places', '# Čaj & kava'), { })
  const { body, statusCode, headers } = await open(app, 'revision=1&section=3')
  assert.equal(statusCode, 200)
  assert.equal(headers['cache-control'], 'private, no-store')
  assert.equal(typedIn(body), '# Čaj &amp; kava\n\nhere')
  assert.match(body, /<h1[^>]*>Edit “Čaj &amp; kava” in “a”<\/h1>/)
  assert.equal(fieldIn(body, 'summary'), 'Section “Čaj &amp; kava”')
  assert.equal(fieldIn(body, 'section'), '3')
  assert.equal(fieldIn(body, 'base_revision'), '1')
  assert.doesNotMatch(body, /name="tags"/, 'tags are of the page')

  const content = '# Čaj & sok\r\n\r\nthere'
  const saved = await send(app, { base_revision: '1', section: '3', content, summary: 'moved' })
  assert.equal(saved.statusCode, 303, saved.body)
  assert.equal(saved.headers.location, '/wiki/a?saved=2#%C4%8Daj-sok')
  assert.equal(await rawOf(app), 'lead\n\n# Food\n\nbread\n\n## Drinks\n\ntea\n\n# Čaj & sok\n\nthere\n')
  const again = await send(app, { base_revision: '1', section: '3', content, summary: 'moved' })
  assert.equal(again.headers.location, '/wiki/a?saved=2#%C4%8Daj-sok', 'a form that arrives twice makes one revision')

  const emptied = await send(app, { base_revision: '2', section: '1', content: '' })
  assert.equal(emptied.headers.location, '/wiki/a?saved=3', 'an empty section is removed, with what is below it')
  assert.equal(await rawOf(app), 'lead\n\n# Čaj & sok\n\nthere\n')
})

test('edits of two sections at once are merged; of one, both versions are shown in the whole text', async (t) => {
  const app = await wiki.build(t)
  await save(app, 'a', TEXT, {})
  const drinks = await send(app, { base_revision: '1', section: '2', content: '## Drinks\n\ncoffee' })
  assert.equal(drinks.headers.location, '/wiki/a?saved=2#drinks')
  const places = await send(app, { base_revision: '1', section: '3', content: '# Places\n\nthere' })
  assert.equal(places.headers.location, '/wiki/a?saved=3&merged=2#places')
  assert.equal(await rawOf(app), TEXT.replace('tea', 'coffee').replace('here', 'there'))

  const conflict = await send(app, { base_revision: '1', section: '2', content: '## Drinks\n\nmilk' })
  assert.equal(conflict.statusCode, 409)
  assert.match(String(typedIn(conflict.body)),
    /^lead\n[^]*(?:&lt;){7} Your lines\nmilk\n={7}[^]*\ncoffee\n[^]*# Places\n\nthere\n$/)
  assert.doesNotMatch(conflict.body, /name="section"/, 'it is the whole text')
  assert.equal(fieldIn(conflict.body, 'base_revision'), '3')
})

test('a section is found again when the page has changed since; when it is gone, the whole text says so', async (t) => {
  const app = await wiki.build(t)
  await save(app, 'a', TEXT)
  await save(app, 'a', `# New\n\n${TEXT}`)
  const moved = await open(app, 'section=2&revision=1')
  assert.equal(typedIn(moved.body), '## Drinks\n\ntea')
  assert.deepEqual([fieldIn(moved.body, 'section'), fieldIn(moved.body, 'base_revision')], ['3', '2'])
  await save(app, 'a', 'nothing is left')
  for (const query of ['section=2&revision=1', 'section=1', 'section=1&revision=99', 'section=9999999&revision=2']) {
    const { statusCode, body } = await open(app, query)
    assert.equal(statusCode, 200, query)
    assert.equal(typedIn(body), 'nothing is left')
    assert.match(body, /role="alert">The section is not in the page any more/)
    assert.doesNotMatch(body, /name="section"/)
  }
  assert.equal(typedIn((await open(app, 'section=1&revision=1', 'none')).body), '', 'a page that is gone is created')
})

test('an author whose page was renamed or deleted meanwhile gets the whole text, with what was typed', async (t) => {
  const app = await wiki.build(t)
  for (const name of ['a', 'b']) {
    const payload = { content: TEXT, tags: ['food', 'lists'] }
    await app.inject({ method: 'PUT', url: `/api/v1/pages/${name}`, payload })
  }
  await app.inject({ method: 'POST', url: '/edit/rename/a', payload: { to: 'c' } })
  await app.inject({ method: 'DELETE', url: '/wiki/b' })
  const renamed = await send(app, { base_revision: '1', section: '2', content: '## Drinks\n\ncoffee' })
  assert.equal(renamed.statusCode, 409)
  assert.match(renamed.body, /renamed this page to[^]*action="\/edit\/text\/c"/)
  assert.equal(typedIn(renamed.body), TEXT.replace('tea', 'coffee'))
  assert.doesNotMatch(renamed.body, /name="section"/)
  assert.equal(fieldIn(renamed.body, 'tags'), 'food, lists')
  const deleted = await send(app, { base_revision: '1', section: '2', content: '## Drinks\n\ncoffee' }, { name: 'b' })
  assert.equal(deleted.statusCode, 409)
  assert.equal(fieldIn(deleted.body, 'tags'), 'food, lists')
  assert.equal(typedIn(deleted.body), TEXT.replace('tea', 'coffee'))
})

test('the preview shows the section alone, and nothing that is typed is lost when a save is refused', async (t) => {
  const app = await wiki.build(t, { PAGE_MAX_BYTES: '1000' })
  await save(app, 'a', TEXT)
  const typed = { base_revision: '1', section: '2', content: '## Drinks\n\n*coffee*', summary: 'why', author: 'Ana' }
  const preview = await send(app, typed, { to: 'preview' })
  assert.match(preview.body,
    /<article dir="auto">\n<div class="heading"><h2 id="drinks">[^]*<p><em>coffee<\/em><\/p>\n<\/article>/)
  for (const [status, { ...sent }] of /** @type {[number, Record<string, string>][]} */ ([
    [200, typed],
    [413, { ...typed, content: `## Drinks\n\n${'x'.repeat(960)}` }],
    [400, { ...typed, author: 'A\u200bna' }],
    [409, { ...typed, section: '4' }],
    [409, { ...typed, base_revision: '7' }]
  ])) {
    const answer = status === 200 ? preview : await send(app, sent)
    assert.equal(answer.statusCode, status, answer.body)
    assert.equal(typedIn(answer.body), sent.content.replaceAll('&', '&amp;'))
    for (const name of ['base_revision', 'section', 'summary', 'author']) {
      assert.equal(fieldIn(answer.body, name), sent[name])
    }
  }
  assert.equal(await rawOf(app), TEXT)
})

test('marked lines of an open conflict elsewhere in the page do not keep a section from being saved', async (t) => {
  const app = await wiki.build(t)
  const [mine] = withMarkers(['x'], ['y'], 1)
  await save(app, 'a', `# a\n\nx\n\n# b\n\n${mine}`)
  const inIt = await send(app, { base_revision: '1', section: '2', content: `# b\n\n${mine}` })
  assert.equal(inIt.statusCode, 422, inIt.body)
  assert.match(inIt.body, /role="alert">The text still has marked lines/)
  const elsewhere = await send(app, { base_revision: '1', section: '1', content: '# a\n\nz' })
  assert.equal(elsewhere.headers.location, '/wiki/a?saved=2#a', elsewhere.body)
  const whole = await send(app, { base_revision: '2', content: await rawOf(app) })
  assert.equal(whole.statusCode, 422)
})

test('numbers that are none, texts without a page and programs are refused, and change nothing', async (t) => {
  const app = await wiki.build(t)
  await save(app, 'a', '# a\n\nx\n')
  for (const query of ['section=0', 'section=x', 'section=-1', 'section=1&section=2', 'section=99999999',
    'section[$ne]=1&section=',
    'section=1&revision=x', 'section=1&revision=1e9']) {
    assert.equal((await open(app, query)).statusCode, 400, query)
  }
  for (const section of ['0', 'x', '', '1.5', '99999999', '$ne']) {
    assert.equal((await send(app, { base_revision: '1', section, content: 'x' })).statusCode, 400, section)
  }
  const all = await send(app, { base_revision: '1', section: '1', content: '' })
  assert.equal(all.statusCode, 400)
  assert.match(all.body, /role="alert">“content” must not be empty/)
  for (const payload of [{ content: 'x', section: '1', base_revision: 1 }, { content: '', section: '1' }]) {
    const program = await app.inject({ method: 'POST', url: '/wiki/a', payload })
    assert.equal(program.statusCode, 400)
    assert.match(program.json().detail, /^Only the editor’s form saves a section/)
  }
  assert.equal(await rawOf(app), '# a\n\nx\n')
  const misspelt = await open(app, 'section=1&revision=1', 'a%20')
  assert.deepEqual([misspelt.statusCode, misspelt.headers.location], [303, '/edit/text/a?section=1&revision=1'])
})

test('headings of any characters are harmless in the button, the title and the summary', async (t) => {
  const app = await wiki.build(t)
  const hostile = `</textarea><script>alert(1)</script>" onclick="x \u202e ${'long '.repeat(60)}`
  await save(app, 'a', `# ${hostile}\n\ntext\n`)
  const page = (await get(app, '/wiki/a', BROWSER)).body
  assert.doesNotMatch(page, /<script>|<[^>]*" onclick="/)
  const { body } = await open(app, 'section=1&revision=1')
  assert.doesNotMatch(body, /<script>|<[^>]*" onclick="/)
  const summary = String(fieldIn(body, 'summary'))
    .replaceAll('&quot;', '"').replaceAll('&lt;', '<').replaceAll('&gt;', '>')
  assert.ok([...summary].length <= 200)
  const saved = await send(app, { base_revision: '1', section: '1', content: '# b\n', summary })
  assert.equal(saved.statusCode, 303, saved.body)
})

test('who has no session signs in, and comes back to the section', async (t) => {
  const app = await wiki.build(t, peopleOnly(t))
  await save(app, 'a', TEXT, bearer('admin'))
  const { statusCode, headers } = await open(app, 'revision=1&section=2')
  assert.deepEqual([statusCode, headers.location],
    [303, '/edit/sign-in?to=%2Fedit%2Ftext%2Fa%3Frevision%3D1%26section%3D2'])
})

test('a section of a text of 1 MB is found and saved', async (t) => {
  const app = await wiki.build(t)
  const text = Array.from({ length: 10_000 }, (_, index) => `## h${index}\n\n${'word '.repeat(15)}\n`).join('\n')
  assert.equal((await save(app, 'a', text)).statusCode, 201)
  const { body } = await open(app, 'revision=1&section=9999')
  assert.match(String(typedIn(body)), /^## h9998\n/)
  const saved = await send(app, { base_revision: '1', section: '9999', content: '## h9998\n\nshort' })
  assert.equal(saved.headers.location, '/wiki/a?saved=2#h9998')
  assert.equal(await rawOf(app), text.replace(/(## h9998\n\n).*\n/, '$1short\n'))
})
