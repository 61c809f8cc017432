import assert from 'node:assert/strict'
import test from 'node:test'
import { assertHarmless } from './harmless.js'
import { get, save, untilFound, useWiki } from './helper.js'

const wiki = useWiki()

const SOURCE = 'graph LR\n  A[Reader] --> B[Zebrafish]'
const TEXT = `Words.\n\n\`\`\`mermaid\n${SOURCE}\n\`\`\`\n`
const articleIn = (/** @type {string} */ html) => /<article[^>]*>([^]*)<\/article>/.exec(html)?.[1].trim() ?? ''
const drawingIn = (/** @type {string} */ html) => /<svg [^]*<\/svg>/.exec(html)?.[0] ?? ''

test('a diagram is on the page, in the past and in the API; its source stays the text', async (t) => {
  const app = await wiki.build(t)
  await save(app, 'a', TEXT)
  const page = await get(app, '/wiki/a')
  const drawing = drawingIn(page.body)
  assert.match(drawing, /aria-label="Flowchart: Reader, Zebrafish"/)
  assertHarmless(articleIn(page.body))
  assert.equal((await get(app, '/raw/a')).body, TEXT)
  assert.ok(JSON.stringify((await get(app, '/api/v1/pages/a')).json()).includes('Zebrafish'))

  await save(app, 'a', 'newer')
  const past = await get(app, '/revision/a/1')
  assert.equal(past.statusCode, 200, past.body)
  assert.equal(drawingIn(past.body), drawing, 'the same bytes from another thread')

  await save(app, 'b', `${TEXT}\n\`\`\`mermaid\ngraph LR\nA --x B\n\`\`\`\n`)
  const other = await get(app, '/wiki/b')
  assert.equal(drawingIn(other.body), drawing, 'a mistake in one diagram hurts no other and refuses no save')
  assert.match(other.body, /\(no diagram: this line is not known here: A --x B\)/)
})

test('the words of a diagram are found', async (t) => {
  const app = await wiki.build(t)
  await save(app, 'a', TEXT)
  await untilFound(app, 'zebrafish', 1)
  const { body } = await get(app, '/search?q=zebrafish')
  assert.match(body, /href="\/wiki\/a"/)
})
