import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
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

test('what is too large, as Markdown or as HTML, is refused', async (t) => {
  const { render } = rendererFor(t, { maxBytes: 1000 })
  assert.equal((await render('é'.repeat(500))).contentBytes, 1000)
  await assert.rejects(render('é'.repeat(501)), { statusCode: 413, message: /1002 bytes of Markdown; at most 1000/ })
  await assert.rejects(render(`${'>'.repeat(30)}a\n\n`.repeat(30)), { statusCode: 413, message: /bytes of HTML; at most 4000/ })
  await assert.rejects(render('&'.repeat(1000)), { statusCode: 413, message: /bytes of HTML/ })
})

test('a text gives the same bytes in this thread, in another and in another process', async (t) => {
  const { render, version } = rendererFor(t)
  const short = '# A\n\n## A\n\n### [[B]] `c`\n\n```js\nlet a\n```\n\n- [x] d[^1]\n\n[^1]: e\n'
  const long = `${short}\n${'Long enough for another thread. '.repeat(300)}\n`
  const [here, there] = [await render(short), await render(long)]
  assert.ok(there.html.startsWith(here.html.slice(0, here.html.indexOf('<section'))))
  const code = `import { createRenderer } from ${JSON.stringify(new URL('../src/markdown/renderer.js', import.meta.url).href)}
    const { render, version, close } = createRenderer({ maxBytes: ${MIB} })
    process.stdout.write(JSON.stringify([version, await render(${JSON.stringify(short)}), await render(${JSON.stringify(long)})]))
    await close()`
  assert.deepEqual(JSON.parse(execFileSync(process.execPath, ['--input-type=module', '--eval', code], { encoding: 'utf8' })), [version, here, there])
})

test('a text that takes too long is given up, and nobody else waits meanwhile', async (t) => {
  const { render } = rendererFor(t, { deadlineMs: 500 })
  let turns = 0
  const others = setInterval(() => { turns++ }, 5)
  await assert.rejects(render(SLOW), { statusCode: 422, code: 'WIKI_PAGE_TOO_COMPLICATED', message: /too complicated.* 0\.5 s.*split it/ })
  clearInterval(others)
  assert.ok(turns >= 5, `${turns} turns of the event loop`)
  assert.match((await render('short')).html, /short/)
  assert.match((await rendererFor(t).render('long '.repeat(2_000))).html, /long/)
})

test('those who wait are given up, too, and only so many may wait', async (t) => {
  const { render } = rendererFor(t, { deadlineMs: 500 })
  const outcomes = await Promise.allSettled(Array.from({ length: 50 }, () => render(SLOW)))
  const statuses = outcomes.map((outcome) => outcome.status === 'rejected' && outcome.reason.statusCode)
  assert.deepEqual([...new Set(statuses)].sort(), [422, 429])
  assert.equal(statuses.filter((status) => status === 422).length, 32)
  const refused = outcomes.find((outcome) => outcome.status === 'rejected' && outcome.reason.statusCode === 429)
  assert.deepEqual(/** @type {PromiseRejectedResult} */ (refused).reason.headers, { 'retry-after': '2' })
})

test('the wiki saves a long page as it saves a short one, and shows its past', async (t) => {
  const app = await wiki.build(t)
  const long = `# Long\n\n${'[[Other]] text '.repeat(2_000)}`
  assert.equal((await save(app, 'a', long)).statusCode, 201)
  await save(app, 'a', 'short')
  const { statusCode, body } = await get(app, '/revision/a/1', BROWSER)
  assert.equal(statusCode, 200)
  assert.match(body, /<h2 id="long">Long<\/h2>/)
  assert.equal(body.match(/<a href="\/wiki\/Other">/g)?.length, 2_000)
})
