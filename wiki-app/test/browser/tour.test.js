import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import test from 'node:test'
import { waitUntil } from '@stevec/harness/processes'
import { useBrowser } from './helper.js'
import { openGallery } from './gallery.js'

/** The promise is 1 s; the rest is for slow machines. */
const INDEXED_MAX_MS = 60_000

const browser = useBrowser({ plainField: false })

/** @typedef {import('playwright-core').Page} Page */

const HOME = `Recipes of a small kitchen, and a garden.

> [!TIP]
> Red links lead to pages that nobody has written yet.

- [[Recipes]]
- [[Tea]]
`
const RECIPES = `What we cook:

- [[Recipes/Bread]]
- [[Recipes/Soup]]
`
const BREAD = `It takes a day and very little work.

- [x] feed the sourdough
- [ ] knead
- [ ] bake for 40 minutes
`
const TEA = '<svg xmlns="http://www.w3.org/2000/svg" width="320" height="180"><rect width="320" height="180" fill="#dcebe3"/><ellipse cx="160" cy="150" rx="90" ry="14" fill="#9db8ab"/><path d="M100 70h120c0 60-20 80-60 80s-60-20-60-80z" fill="#2f6b52"/><path d="M220 80c34 0 34 42-6 46" fill="none" stroke="#2f6b52" stroke-width="10"/><ellipse cx="160" cy="70" rx="60" ry="9" fill="#b5793a"/></svg>'

/** @param {Page} page */
function stepsOf (page) {
  return {
    /** In CodeMirror, which comes after the page. */
    text: page.getByLabel('Text, in Markdown').and(page.locator('.cm-content')),
    /** What the form sends. */
    written: () => page.locator('[name=content]').inputValue(),
    /** @param {string} name */
    link: (name) => page.getByRole('link', { name, exact: true }),
    /** @param {string} name */
    button: (name) => page.getByRole('button', { name, exact: true }),
    title: page.getByRole('heading', { level: 1 }).first(),
    edit: () => page.getByRole('link', { name: 'Edit' }).click(),
    history: () => page.getByRole('navigation', { name: 'This page' }).getByRole('link', { name: 'History' }).click(),
    /** @param {RegExp | string} said */
    async save (said = 'Saved as revision') {
      await page.getByRole('button', { name: 'Save', exact: true }).click()
      await page.getByRole('status').filter({ hasText: said }).waitFor()
    }
  }
}

/**
 * Draws a picture of a cup.
 * @param {Page} page
 */
async function drawCup (page) {
  await page.setContent(`<body style="margin:0">${TEA}`)
  return page.screenshot({ clip: { x: 0, y: 0, width: 320, height: 180 } })
}

/**
 * Writes a folder as people have them: pages that link to each other by paths, and a picture.
 * @param {import('node:test').TestContext} t
 * @param {Buffer} picture
 */
function gardenFolder (t, picture) {
  const root = mkdtempSync(path.join(tmpdir(), 'stevec-tour-'))
  t.after(() => rmSync(root, { recursive: true, force: true }))
  const folder = path.join(root, 'garden')
  for (const part of ['beds', 'img']) mkdirSync(path.join(folder, part), { recursive: true })
  writeFileSync(path.join(folder, 'plan.md'),
    'The plan of the garden.\n\n![the plan](img/plan.png)\n\nSee [the beds](beds/tomatoes.md#water).\n')
  writeFileSync(path.join(folder, 'beds/tomatoes.md'), '## Water\n\nEvery evening. Back to [the plan](../plan.md).\n')
  writeFileSync(path.join(folder, 'img/plan.png'), picture)
  return folder
}

test('a newcomer does ten tasks, by what the pages show', async (t) => {
  // As with `stevec up`, nobody sees an old text.
  const settings = { CACHE_POLICY: 'revalidate' }
  const { page, visit } = await browser.open(t, { viewport: { width: 1280, height: 800 } }, settings)
  const gallery = await openGallery(process.env.GALLERY, {
    title: 'The wiki in pictures',
    introduction: 'A newcomer’s first ten minutes: on a desktop and on a phone, in light and in dark colours.\n' +
      '`make gallery` takes these pictures during [the test of the tour]' +
      '(../../wiki-app/test/browser/tour.test.js),\nwhich finds its way by what the pages show.',
    visit
  })
  const ana = stepsOf(page)
  const cup = await drawCup(await visit())

  // 1. The first page.
  await page.goto('/')
  await gallery.take(page, 'An empty wiki', 'A new wiki invites its first visitor to write the home page.')
  await ana.link('Write the home page').click()
  await ana.text.fill(HOME)
  await page.getByLabel('Your name').fill('Ana')
  await gallery.take(page, 'The editor',
    'CodeMirror colours the Markdown. Save stays in view. `[[` offers pages, a picture can be dropped into the text.')
  await ana.save()
  await gallery.take(page, 'The first page', 'Links to pages that are not there yet are red.')

  // 2. A red link.
  await ana.link('Recipes').click()
  assert.match(await ana.title.innerText(), /Create “Recipes”/)
  assert.equal(await page.getByLabel('Your name').inputValue(), 'Ana', 'the browser remembers the name')
  await ana.text.fill(RECIPES)
  await ana.save()
  await ana.link('Recipes/Bread').click()
  await ana.text.fill(BREAD)
  await ana.save()

  // 3. A picture.
  await ana.edit()
  await ana.text.press('Control+End')
  for (const key of ['Enter', 'Enter']) await ana.text.press(key)
  const chooser = page.waitForEvent('filechooser')
  await page.getByRole('toolbar').getByRole('button', { name: 'Picture' }).click()
  await (await chooser).setFiles({ name: 'A cup.png', mimeType: 'image/png', buffer: cup })
  await page.getByRole('status').filter({ hasText: 'is uploaded' }).waitFor()

  // 4. A table.
  await ana.text.press('Control+End')
  await page.getByRole('toolbar').getByRole('button', { name: 'Table' }).click()
  const withTable = await ana.written()
  await ana.text.fill(withTable.replace('Column', 'Flour').replace('Column', 'Water').replace('cell', '500 g')
    .replace('cell', '350 g'))
  await ana.save()
  assert.equal(await page.getByRole('columnheader').first().innerText(), 'Flour')
  assert.ok(await page.getByRole('article').getByRole('img').evaluate(
    (/** @type {HTMLImageElement} */ image) => image.decode().then(() => image.naturalWidth > 0)))
  await gallery.take(page, 'A page with a picture and a table', 'Task boxes can be ticked on the page itself.')

  // 5. A conflict.
  const other = await visit()
  const bor = stepsOf(other)
  await other.goto(page.url())
  for (const each of [ana, bor]) await each.edit()
  const before = await ana.written()
  await ana.text.fill(before.replace('40 minutes', '35 minutes'))
  await ana.save()
  await bor.text.fill(before.replace('40 minutes', '50 minutes').replace('very little work', 'hardly any work'))
  await other.getByLabel('Your name').fill('Bor')
  await bor.button('Save').click()
  await other.getByRole('alert').filter({ hasText: 'changed the same lines' }).waitFor()
  await gallery.take(other, 'A conflict', 'Two people have changed the same line. Nothing is lost, and nothing is ' +
    'overwritten: the text has both lines, marked. Changes to different lines are merged without a question.')
  const both = await bor.written()
  assert.match(both, /35 minutes/)
  assert.match(both, /50 minutes/)
  await bor.text.fill(before.replace('40 minutes', '45 minutes').replace('very little work', 'hardly any work'))
  await bor.save()

  // 6. A comparison.
  await bor.history()
  await other.getByRole('combobox', { name: /^Compare revision/ }).selectOption({ index: 2 })
  await gallery.take(other, 'The history',
    'Every revision stays. Any two can be compared, and any can be brought back.')
  await bor.button('Compare').click()
  await other.getByRole('deletion').filter({ hasText: '40 minutes' }).waitFor()
  await other.getByRole('insertion').filter({ hasText: '45 minutes' }).waitFor()
  await gallery.take(other, 'A comparison', 'Lines that went away, and lines that came.')

  // 7. Bringing back.
  await bor.history()
  await other.getByRole('listitem').filter({ hasText: 'by Ana' }).first().getByRole('button', { name: 'Bring back' })
    .click()
  await other.getByRole('heading', { name: 'What would change' }).waitFor()
  await gallery.take(other, 'Bringing a text back', 'What would change is shown first.')
  await bor.button('Bring back').click()
  await other.getByRole('status').filter({ hasText: 'Saved as revision' }).waitFor()
  assert.match(await other.getByRole('article').innerText(), /35 minutes/)

  // 8. Renaming with subpages.
  await page.getByRole('link', { name: 'stevec' }).click()
  await ana.link('Recipes').click()
  await page.getByText('More', { exact: true }).click()
  await ana.link('Rename').click()
  await page.getByLabel('Its new name').fill('Cookbook')
  await page.getByLabel('Rename its subpages, too').check()
  await gallery.take(page, 'Renaming', 'Subpages come along on request. The old names lead to the new ones.')
  await ana.button('Rename').click()
  await page.getByRole('heading', { name: 'Cookbook', exact: true }).waitFor()
  await page.getByRole('navigation', { name: 'Subpages' }).getByRole('link', { name: 'Bread' }).click()
  await page.getByRole('heading', { name: 'Cookbook/Bread', exact: true }).waitFor()
  await page.getByRole('link', { name: 'stevec' }).click()
  await ana.link('Recipes').click()
  await page.getByRole('heading', { name: 'Cookbook', exact: true }).waitFor()

  // 9. A search.
  assert.ok(await waitUntil(async () =>
    (await (await page.request.get('/api/v1/search?q=sourdough')).json()).items.length > 0, INDEXED_MAX_MS))
  await page.getByRole('searchbox').fill('bre')
  await page.getByRole('searchbox').press('Enter')
  await ana.link('Cookbook/Bread').first().waitFor()
  await page.getByRole('searchbox').fill('sourdough')
  await page.getByRole('searchbox').press('Enter')
  await page.getByRole('main').getByText('sourdough', { exact: true }).waitFor()
  await gallery.take(page, 'A search', 'Titles are found by the beginnings of their words, texts by whole words.')
  await ana.link('Cookbook/Bread').first().click()
  await page.getByRole('article').filter({ hasText: 'sourdough' }).waitFor()

  // 10. A folder comes in.
  await page.getByRole('navigation', { name: 'Wiki' }).getByRole('link', { name: 'All pages' }).click()
  await page.getByRole('link', { name: 'Import' }).click()
  await page.getByLabel('Or a folder').setInputFiles(gardenFolder(t, cup))
  await ana.button('Import').click()
  await page.getByRole('status').filter({ hasText: '2 pages made' }).waitFor()
  await gallery.take(page, 'A folder came in', 'Links between its files lead to the pages that they became.')
  await page.getByRole('main').getByRole('link', { name: /plan/ }).click()
  assert.ok(await page.getByRole('article').getByRole('img').evaluate(
    (/** @type {HTMLImageElement} */ image) => image.decode().then(() => image.naturalWidth > 0)))
  await ana.link('the beds').click()
  await page.getByRole('heading', { name: 'Water' }).waitFor()
  await ana.link('the plan').click()
  await page.getByRole('article').filter({ hasText: 'The plan of the garden' }).waitFor()

  await page.getByRole('navigation', { name: 'Wiki' }).getByRole('link', { name: 'All pages' }).click()
  await page.getByRole('heading', { name: 'Pages', exact: true }).waitFor()
  await gallery.take(page, 'All pages', 'Sorted as people sort; other lists are beside it.')
  await gallery.close()
})
