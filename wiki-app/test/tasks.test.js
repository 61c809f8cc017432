import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import toHtml from '../src/markdown/html.js'
import { taskAt, withTask } from '../src/writing/task.js'
import { BROWSER, get, save, useWiki } from './helper.js'

const wiki = useWiki()

const TEXT = '# Plan\n\n- [ ] buy *milk*\n- [x] call Ana\n\n> 1. [ ] [[Bread]]\n\nSome [ ] text, `- [ ] code`\n'

/**
 * @param {import('fastify').FastifyInstance} app @param {string} name @param {object} body
 * @param {Record<string, string>} [headers]
 */
const tick = (app, name, body, headers = {}) =>
  app.inject({ method: 'POST', url: `/edit/task/${name}`, headers, payload: body })

/** @param {import('fastify').FastifyInstance} app @param {string} name */
const textOf = async (app, name) => (await get(app, `/raw/${name}`)).body

/** The boxes that the page offers. @param {string} html */
const boxesIn = (html) => [...html.matchAll(/<input type="checkbox" disabled( checked)? data-task="(\d+)"/g)]
  .map(([, checked, number]) => ({ number: Number(number), checked: checked !== undefined }))

test('each box of a page can be ticked and unticked, which changes one character of its text', async (t) => {
  const app = await wiki.build(t)
  await save(app, 'plan', TEXT)
  const boxes = boxesIn((await get(app, '/wiki/plan')).body)
  assert.deepEqual(boxes, [{ number: 3, checked: false }, { number: 4, checked: true }, { number: 6, checked: false }])

  const ticked = await tick(app, 'plan', { base_revision: 1, task: 3, checked: true })
  assert.deepEqual([ticked.statusCode, ticked.json()], [200, { name: 'plan', revision: 2 }])
  assert.equal(await textOf(app, 'plan'), TEXT.replace('- [ ] buy', '- [x] buy'))
  await tick(app, 'plan', { base_revision: 2, task: 4, checked: false })
  await tick(app, 'plan', { base_revision: 3, task: 6, checked: true, author: 'Ana' })
  const after = TEXT.replace('[x]', '[ ]').replace('- [ ] buy', '- [x] buy').replace('1. [ ]', '1. [x]')
  assert.equal(await textOf(app, 'plan'), after)
  assert.deepEqual(boxesIn((await get(app, '/wiki/plan')).body).map(({ checked }) => checked), [true, false, true])
  const { items } = (await get(app, '/api/v1/pages/plan/revisions')).json()
  assert.deepEqual(
    items.map((/** @type {{author: string, summary: string}} */ { author, summary }) => [author, summary]),
    [['Ana', 'Ticked a box'], ['', 'Unticked a box'], ['', 'Ticked a box'], ['', '']]
  )
})

test('a form gets a page back; a box that is already so makes no revision', async (t) => {
  const app = await wiki.build(t)
  await save(app, 'plan', TEXT, {})
  const form = (/** @type {Record<string, string>} */ fields) => app.inject({
    method: 'POST',
    url: '/edit/task/plan',
    headers: { ...BROWSER, 'content-type': 'application/x-www-form-urlencoded', 'sec-fetch-site': 'same-origin' },
    payload: new URLSearchParams(fields).toString()
  })
  const { statusCode, headers } = await form({ base_revision: '1', task: '3', checked: 'true' })
  assert.deepEqual([statusCode, headers.location], [303, '/wiki/plan?saved=2'])
  const again = await tick(app, 'plan', { base_revision: 1, task: 3, checked: true })
  assert.equal(again.json().revision, 2)
})

test('a box counts as the same while its line is, whatever else has changed; otherwise 409', async (t) => {
  const app = await wiki.build(t)
  await save(app, 'plan', '- [ ] a\n- [ ] b\n- [ ] c')
  await save(app, 'plan', '- [x] a\n- [ ] b\n- [ ] d\n\nmore')
  assert.equal((await tick(app, 'plan', { base_revision: 1, task: 2, checked: true })).statusCode, 200)
  for (const body of [
    { base_revision: 1, task: 3, checked: true },
    { base_revision: 2, task: 5, checked: true },
    { base_revision: 2, task: 99, checked: true },
    { base_revision: 77, task: 1, checked: false },
    { base_revision: 0, task: 1, checked: false }
  ]) {
    const refused = await tick(app, 'plan', body)
    assert.equal(refused.statusCode, 409, JSON.stringify(body))
    assert.match(refused.json().detail, /Load the page again/)
  }
  assert.equal(await textOf(app, 'plan'), '- [x] a\n- [x] b\n- [ ] d\n\nmore')
})

test('people who tick different boxes at once all succeed', async (t) => {
  const uri = wiki.freshUri()
  const apps = [await wiki.build(t, { MONGODB_URI: uri }), await wiki.build(t, { MONGODB_URI: uri })]
  await save(apps[0], 'plan', '- [ ] a\n'.repeat(2))
  const ticked = await Promise.all(apps.map((app, index) =>
    tick(app, 'plan', { base_revision: 1, task: index + 1, checked: true })))
  assert.deepEqual(ticked.map(({ statusCode }) => statusCode), [200, 200])
  assert.equal(await textOf(apps[0], 'plan'), '- [x] a\n'.repeat(2))
})

test('malformed requests are refused and change nothing', async (t) => {
  const app = await wiki.build(t)
  await save(app, 'plan', TEXT)
  const good = { base_revision: 1, task: 3, checked: true }
  for (const body of [
    {}, { ...good, checked: 'x' }, { ...good, checked: 1 }, { ...good, task: -1 }, { ...good, task: 1.5 },
    { ...good, task: '3 ' }, { ...good, task: null }, { ...good, base_revision: undefined }, { ...good, content: 'x' },
    { ...good, author: 'a\nb' }, { ...good, author: 'a\u202Eb' }, []
  ]) assert.equal((await tick(app, 'plan', body)).statusCode, 400, JSON.stringify(body))
  assert.equal((await tick(app, 'none', good)).statusCode, 404)
  assert.equal((await tick(app, 'stevec', good)).statusCode, 400)
  const cross = await tick(app, 'plan', good, { 'sec-fetch-site': 'cross-site' })
  assert.equal(cross.statusCode, 403)
  const readOnly = await wiki.build(t, { ACCESS: 'read-only' })
  assert.equal((await tick(readOnly, 'plan', good)).statusCode, 403)
  assert.equal(await textOf(app, 'plan'), TEXT)
})

test('every box that is rendered is found in its text, whatever is around it', () => {
  const pieces = [
    '- [ ] a', '- [x] b', '* [X] c', '12. [ ] d', '1) [x] e', '> ', '- ', '    ', '\t', '  ', '\n', '\n\n', '\r\n',
    '\r', '[^1]: ', '[^1]', '```\n', '<!-- ', ' -->', '<details>\n', '</details>\n', '> [!NOTE]\n', 'text', '[ ] ',
    '[a]: /x\n', '- - [ ] f', '- \\[ ] g', '- &#91; ] h', '\0', '\f', '|a|\n|-|\n', '# ', '\u00A0', '\u2028'
  ]
  fc.assert(fc.property(fc.array(fc.constantFrom(...pieces), { maxLength: 40 }), (parts) => {
    const markdown = parts.join('')
    const boxes = boxesIn(toHtml({ markdown, maxBytes: 1_000_000 }).html)
    for (const { number, checked } of boxes) {
      const task = taskAt(markdown, number)
      assert.equal(task?.checked, checked, JSON.stringify(markdown))
      const other = boxesIn(toHtml({ markdown: withTask(markdown, task, !checked), maxBytes: 1_000_000 }).html)
      assert.deepEqual(other, boxes.map((box) => box.number === number ? { number, checked: !checked } : box))
    }
  }), { numRuns: 2_000 })
})
