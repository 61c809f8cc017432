import assert from 'node:assert/strict'
import test from 'node:test'
import { waitUntil } from '@stevec/harness/processes'
import { get } from '../helper.js'
import { assertAccessible, useBrowser, write } from './helper.js'

const browser = useBrowser()

const TEXT = '# Plan\n\n- [ ] buy *milk*\n- [x] call Ana\n'

const PATIENCE_MS = 60_000

/** @param {import('fastify').FastifyInstance} app @param {string} text */
const becomes = async (app, text) =>
  assert.ok(await waitUntil(async () => (await get(app, '/raw/Plan')).body === text, PATIENCE_MS), text)

test('a box is ticked with the mouse or the keyboard, and the text is saved', async (t) => {
  const { app, page } = await browser.open(t)
  await write(app, 'Plan', TEXT)
  await page.goto('/wiki/Plan')
  await page.getByLabel('buy milk').check()
  await becomes(app, TEXT.replace('[ ]', '[x]'))
  await page.getByLabel('call Ana').focus()
  await page.keyboard.press('Space')
  await becomes(app, '# Plan\n\n- [x] buy *milk*\n- [ ] call Ana\n')
  await page.reload()
  assert.equal(await page.getByLabel('buy milk').isChecked(), true)
  assert.equal(await page.getByLabel('call Ana').isChecked(), false)
  await assertAccessible(page, 'a page with boxes', { dark: true })
})

test('when someone has changed the line of a box, it is unticked again and the page says so', async (t) => {
  const { app, page } = await browser.open(t)
  await write(app, 'Plan', TEXT)
  await page.goto('/wiki/Plan')
  await write(app, 'Plan', '- [ ] something else', { base_revision: '1' })
  await page.getByLabel('buy milk').click()
  await page.getByText('Not saved. Someone changed the page').waitFor()
  assert.equal(await page.getByLabel('buy milk').isChecked(), false)
  await assertAccessible(page, 'a page with a box that is not saved', { dark: true })
})

test('boxes are inert without JavaScript, in old revisions and in previews', async (t) => {
  const { app, page, visit } = await browser.open(t)
  await write(app, 'Plan', TEXT)
  await write(app, 'Plan', `${TEXT}more`, { base_revision: '1' })
  await page.goto('/revision/Plan/1')
  assert.equal(await page.getByLabel('buy milk').isDisabled(), true)
  const plain = await visit({ javaScriptEnabled: false })
  await plain.goto('/wiki/Plan')
  assert.equal(await plain.getByLabel('buy milk').isDisabled(), true)
  await page.goto('/edit/text/Plan')
  await page.getByRole('button', { name: 'Preview' }).click()
  assert.equal(await page.locator('.preview').getByLabel('buy milk').isDisabled(), true)
})

test('where nobody may write, boxes stay inert', async (t) => {
  const uri = browser.freshUri()
  await write((await browser.open(t, {}, { MONGODB_URI: uri })).app, 'Plan', TEXT)
  const { page } = await browser.open(t, {}, { MONGODB_URI: uri, ACCESS: 'read-only' })
  await page.goto('/wiki/Plan')
  await page.getByText('buy milk').click({ force: true })
  assert.equal(await page.getByLabel('buy milk').isDisabled(), true)
  assert.equal(await page.getByLabel('buy milk').isChecked(), false)
})

test('callouts, folded parts and the other tags are accessible in light and dark colours', async (t) => {
  const { app, page } = await browser.open(t)
  const kinds = ['NOTE', 'TIP', 'IMPORTANT', 'WARNING', 'CAUTION']
  await write(app, 'Plan', [
    '#### A heading that leaves levels out', ...kinds.map((kind) => `> [!${kind}]\n> Some text with a [link](/x).`),
    '<details>\n<summary>More</summary>\n\nFolded *text*.\n\n</details>',
    '<kbd>a</kbd> <mark>b</mark> <small>c</small> <ins>d</ins> <del>e</del> <sub>f</sub> <sup>g</sup> <u>h</u>',
    'https://example.org and a@b.example'
  ].join('\n\n'))
  await page.goto('/wiki/Plan')
  await page.locator('article summary').click()
  await page.getByText('Folded text.').waitFor()
  await assertAccessible(page, 'a page with callouts', { dark: true })
})
