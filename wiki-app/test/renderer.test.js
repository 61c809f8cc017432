import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import test from 'node:test'
import { createRenderer } from '../src/markdown/renderer.js'
import { BROWSER, get, save, useWiki } from './helper.js'

const MIB = 1_048_576
const SLOW = '!['.repeat(MIB / 2)

const wiki = useWiki()

/**
 * @param {import('node:test').TestContext} t
 * @param {Partial<Parameters<typeof createRenderer>[0]>} [options]
 */
function rendererFor (t, options = {}) {
  const renderer = createRenderer({ maxBytes: MIB, ...options })
  t.after(renderer.close)
  return renderer
}

test('a text that is too large, as Markdown or as HTML, gets 413', async (t) => {
  const { render } = rendererFor(t, { maxBytes: 1000 })
  assert.equal((await render('é'.repeat(500))).contentBytes, 1000)
  await assert.rejects(render('é'.repeat(501)), { statusCode: 413, message: /longer than 1000 bytes/ })
  const message = /text of .* would have .* of HTML, and at most 3\.9 kB/
  const tooMuchHtml = { statusCode: 413, message }
  await assert.rejects(render(`${'>'.repeat(30)}a\n\n`.repeat(30)), tooMuchHtml)
  await assert.rejects(render('&'.repeat(1000)), tooMuchHtml)
})

test('a short text that would become long HTML gets 413, but ordinary texts do not', async (t) => {
  const { render } = rendererFor(t)
  const references = `[a]: https://example.org/${'x'.repeat(4000)}\n\n${'[a]'.repeat(1300)}`
  const message = /text of 7\.7 kB would have \d\.?\d? MB of HTML, and at most 433\.5 kB are/
  await assert.rejects(render(references), { statusCode: 413, message })
  // The marks for missing pages, which the limit counts in advance, would be most of its HTML.
  const links = rendererFor(t, { maxBytes: 40_000 }).render('[a](/wiki/b)'.repeat(3_000))
  await assert.rejects(links, { statusCode: 413, message: /of HTML, and at most 156\.3 kB/ })
  for (const ordinary of [
    `|a|b|c|\n|-:|-:|-:|\n${'|1|2|3|\n'.repeat(1_000)}`,
    `\`\`\`json\n${'{"a":1},\n'.repeat(1_000)}\`\`\``,
    '# a\n\n'.repeat(1_000),
    '[[a]] '.repeat(1_000),
    Array.from({ length: 100 }, (_, index) => `## B${index}\n\nx\n\n`).join('')
  ]) {
    assert.ok((await render(ordinary)).html.length > 0)
  }
})

test('a text becomes the same bytes of HTML in another process', async (t) => {
  const { render, version } = rendererFor(t)
  const text = '# A\n\n## A\n\n### [[B]] `c`\n\n```js\nlet a\n```\n\n- [x] d[^1]\n\n[^1]: e\n'
  const code = `import { createRenderer } from ${
    JSON.stringify(new URL('../src/markdown/renderer.js', import.meta.url).href)}
    const { render, version, close } = createRenderer({ maxBytes: ${MIB} })
    process.stdout.write(JSON.stringify([version, await render(${JSON.stringify(text)})]))
    await close()`
  const there = execFileSync(process.execPath, ['--input-type=module', '--eval', code], { encoding: 'utf8' })
  assert.deepEqual(JSON.parse(there), [version, await render(text)])
})

test('a text that takes too much CPU time gets 422 and does not block the event loop', async (t) => {
  const { render } = rendererFor(t, { cpuMaxMs: 500 })
  let turns = 0
  const others = setInterval(() => { turns++ }, 5)
  const message = /too complicated.* 0\.5 s of processor time.*split it/
  await assert.rejects(render(SLOW), { statusCode: 422, code: 'WIKI_PAGE_TOO_COMPLICATED', message })
  clearInterval(others)
  assert.ok(turns >= 5, `${turns} turns of the event loop`)
  assert.match((await render('short')).html, /short/)
})

test('the CPU time of a text does not count for others: 1500 texts between two slow ones succeed', async (t) => {
  const { render } = rendererFor(t, { cpuMaxMs: 500 })
  const texts = [SLOW, ...Array(1_500).fill('text '.repeat(100)), SLOW]
  const outcomes = await Promise.allSettled(texts.map((text) => render(text)))
  const statuses = outcomes.map((outcome) => outcome.status === 'fulfilled' ? 200 : outcome.reason.statusCode)
  assert.deepEqual(statuses, [422, ...Array(1_500).fill(200), 422])
})

test('slow previews leave a thread free for edits', async (t) => {
  const { render } = rendererFor(t)
  const previews = Array.from({ length: 4 }, () => render(SLOW, { yields: true }).catch(() => 'given up'))
  let over = false
  Promise.race(previews).then(() => { over = true })
  for (let count = 0; count < 20; count++) await render('an edit '.repeat(100))
  assert.equal(over, false, 'not even one of them has run out of time')
})

test('slow edits leave a thread free for short ones', async (t) => {
  const { render } = rendererFor(t)
  const long = Array.from({ length: 4 }, () => render(SLOW).catch(() => 'given up'))
  let over = false
  Promise.race(long).then(() => { over = true })
  for (let count = 0; count < 20; count++) await render('an edit '.repeat(100))
  assert.equal(over, false, 'not even one of them has run out of time')
})

test('the main thread does not load the renderer or its libraries', () => {
  const hooks = `export async function resolve (specifier, context, next) {
    const found = await next(specifier, context)
    const told = /markdown-it|highlight\\.js|sanitize-html|\\/html\\.js|fastify\\.js/.test(found.url)
    if (told) process._rawDebug(found.url)
    return found
  }`
  const code = `import { register } from 'node:module'
    register('data:text/javascript,' + encodeURIComponent(${JSON.stringify(hooks)}))
    await import(${JSON.stringify(new URL('../src/app.js', import.meta.url).href)})`
  const { stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', code], { encoding: 'utf8' })
  const loaded = new Set(stderr.trim().split('\n').map((url) => url.split('/').at(-1)))
  assert.deepEqual([...loaded], ['fastify.js'], 'only Fastify, which shows that the hook works')
})

test('a long page can be saved, and its old revision is shown with all links', async (t) => {
  const app = await wiki.build(t)
  const long = `# Long\n\n${'[[Other]] text '.repeat(2_000)}`
  assert.equal((await save(app, 'a', long)).statusCode, 201)
  await save(app, 'a', 'short')
  const { statusCode, body } = await get(app, '/revision/a/1', BROWSER)
  assert.equal(statusCode, 200)
  assert.match(body, /<h2 id="long">Long<\/h2>/)
  assert.equal(body.match(/<a href="\/wiki\/Other">/g)?.length, 2_000)
})
