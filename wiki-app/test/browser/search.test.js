import assert from 'node:assert/strict'
import test from 'node:test'
import { assertAccessible, useBrowser, write } from './helper.js'

const browser = useBrowser()

test('the search field offers titles: by keyboard and mouse a page opens, and Enter alone searches', async (t) => {
  const { app, page } = await browser.open(t)
  for (const name of ['Guide', 'Guide/Über & more?', 'Garden', '<b>bold</b> guide']) await write(app, name, 'text')
  await page.goto('/wiki/Garden')
  const field = page.getByRole('searchbox')
  const titles = page.getByRole('listbox', { name: 'Pages' })
  await field.pressSequentially('gui')
  await titles.getByRole('option', { name: 'Guide', exact: true }).waitFor()
  assert.deepEqual(await titles.getByRole('option').allInnerTexts(),
    ['Guide', 'Guide/Über & more?', '<b>bold</b> guide'])
  await page.getByText('3 pages: choose with the arrow keys').waitFor({ state: 'attached' })
  assert.equal(await field.getAttribute('aria-activedescendant'), null, 'nothing is chosen at first')
  await assertAccessible(page, 'the offered titles', { dark: true })

  await page.keyboard.press('ArrowUp')
  const active = await field.getAttribute('aria-activedescendant')
  assert.equal(await page.locator(`#${active}`).innerText(), '<b>bold</b> guide', 'from the field up to the last')
  await page.keyboard.press('ArrowUp')
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'Guide/Über & more?' }).waitFor()
  assert.equal(decodeURIComponent(new URL(page.url()).pathname), '/wiki/Guide/Über & more?')

  await field.pressSequentially('gar')
  await titles.getByRole('option', { name: 'Garden' }).click()
  await page.waitForURL('/wiki/Garden')

  await field.pressSequentially('gar')
  await titles.getByRole('option', { name: 'Garden' }).waitFor()
  await page.keyboard.press('Escape')
  assert.equal(await titles.isVisible(), false)
  assert.equal(await field.inputValue(), 'gar', 'Escape closes the list alone')
  await page.keyboard.press('Enter')
  await page.waitForURL('/search?q=gar')
})

test('Enter, Tab and the button never open a title that was offered for what was written before', async (t) => {
  const { app, page } = await browser.open(t)
  for (const name of ['Gadget', 'Guide']) await write(app, name, 'text')
  await page.goto('/wiki/Guide')
  const field = page.getByRole('searchbox')
  const titles = page.getByRole('listbox', { name: 'Pages' })
  await field.pressSequentially('g')
  await titles.getByRole('option', { name: 'Gadget' }).waitFor()
  await page.keyboard.press('ArrowDown')
  /** @type {() => void} */
  let answer = () => {}
  const held = new Promise((resolve) => { answer = () => resolve(undefined) })
  await page.route('**/api/v1/pages?q=gu*', async (route) => { await held; await route.abort() })
  await page.keyboard.type('u')
  assert.equal(await field.getAttribute('aria-activedescendant'), null)
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('Tab')
  assert.equal(await page.evaluate(() => document.activeElement?.textContent), 'Search', 'Tab leads to the button')
  assert.equal(await titles.isVisible(), false)
  await field.focus()
  await page.keyboard.type('i')
  await page.keyboard.press('Enter')
  await page.waitForURL('/search?q=gui')
  answer()
})

test('what offers titles is loaded when the search field is used, and not with the page', async (t) => {
  const { app, page } = await browser.open(t)
  await write(app, 'Garden', 'text')
  /** @type {string[]} */
  const loaded = []
  page.on('request', (request) => loaded.push(new URL(request.url()).pathname.replace(/\.[0-9a-f]{12}/, '')))
  await page.goto('/wiki/Garden', { waitUntil: 'networkidle' })
  const before = loaded.length
  assert.ok(loaded.includes('/assets/page.js') && !loaded.some((path) => /search|api/.test(path)), String(loaded))
  const asked = page.waitForResponse('**/api/v1/pages?q=gar&limit=8')
  await page.keyboard.press('/')
  await page.keyboard.type('gar')
  assert.equal((await asked).status(), 200)
  assert.deepEqual(loaded.slice(before).sort(), [
    '/api/v1/pages', '/assets/make.js', '/assets/name-list.js', '/assets/search-names.js', '/assets/settled.js'
  ])
})
