import assert from 'node:assert/strict'
import test from 'node:test'
import { BROWSER, get, save, useWiki } from './helper.js'

const wiki = useWiki()

/** @param {string} html */
const textIn = (html) => /<textarea[^>]*>\n([^<]*)<\/textarea>/.exec(html)?.[1]

test('a new page begins with the text and tags of a page below Template, with its name and the date', async (t) => {
  const app = await wiki.build(t)
  await app.inject({
    method: 'PUT',
    url: '/api/v1/pages/Template%2FMinutes',
    payload: { content: '# {{name}}\n\n{{date}}: {{who}} <b>', tags: ['meeting'] }
  })
  await save(app, 'Template/R&D "plan"', 'plan')
  await save(app, 'Templates', 'not one')

  const before = new Date().toISOString().slice(0, 10)
  const empty = await get(app, '/edit/text/Team/May', BROWSER)
  const links = [...empty.body.matchAll(/href="(\/edit\/text\/Team\/May\?[^"]*)"[^>]*>([^<]*)</g)]
  assert.deepEqual(links.map(([, , text]) => text), ['Minutes', 'R&amp;D &quot;plan&quot;'])
  assert.equal(textIn(empty.body), '')

  const begun = await get(app, links[0][1].replaceAll('&amp;', '&'), BROWSER)
  const days = [before, new Date().toISOString().slice(0, 10)]
  assert.ok(days.some((day) => textIn(begun.body) === `# Team/May\n\n${day}: {{who}} &lt;b&gt;`), textIn(begun.body))
  assert.match(begun.body, /name="tags"[^>]* value="meeting"/)
  assert.match(begun.body, /name="base_revision" value="0"/)
  assert.equal(textIn((await get(app, links[1][1].replaceAll('&amp;', '&'), BROWSER)).body), 'plan')
})

test('a page that exists offers no template and keeps its text; a template that is gone is said', async (t) => {
  const app = await wiki.build(t)
  assert.doesNotMatch((await get(app, '/edit/text/a', BROWSER)).body, /Begin with/, 'there is none')
  await save(app, 'Template/Minutes', 'minutes')
  await save(app, 'a', 'mine')
  const there = await get(app, '/edit/text/a?template=Template/Minutes', BROWSER)
  assert.equal(textIn(there.body), 'mine')
  assert.doesNotMatch(there.body, /Begin with/)

  const gone = await get(app, '/edit/text/b?template=Template/Gone', BROWSER)
  assert.equal(gone.statusCode, 200)
  assert.match(gone.body, /does not exist any more/)
  assert.equal(textIn(gone.body), '')
  for (const wrong of ['', `${'x'.repeat(1_001)}`, 'a&template=b', '%00']) {
    assert.equal((await get(app, `/edit/text/b?template=${wrong}`, BROWSER)).statusCode, 400, wrong.slice(0, 20))
  }
})

test('a template with thousands of names in it grows by a hundred of them', async (t) => {
  const app = await wiki.build(t)
  await save(app, 'Template/Long', '{{name}}'.repeat(5_000))
  const name = 'x'.repeat(200)
  const { body } = await get(app, `/edit/text/${name}?template=Template/Long`, BROWSER)
  assert.equal(textIn(body), name.repeat(100) + '{{name}}'.repeat(4_900))
})
