import assert from 'node:assert/strict'
import test from 'node:test'
import { peopleOnly, tokenOf } from '../people.js'
import { assertAccessible, useBrowser } from './helper.js'

const browser = useBrowser()

test('the API’s page tries calls, and those that write carry the token that Authorize was given', async (t) => {
  const { page } = await browser.open(t, {}, peopleOnly(t))
  /** @type {string[]} */
  const elsewhere = []
  await page.goto('/api/')
  const { origin } = new URL(page.url())
  page.on('request', (request) => { if (!request.url().startsWith(`${origin}/`)) elsewhere.push(request.url()) })
  const callOf = (/** @type {string} */ name) => page.locator('details', { hasText: name })
  const statusOf = async (/** @type {import('playwright-core').Locator} */ call) => {
    const answered = page.waitForResponse((response) => response.url().includes('/api/v1/'))
    await call.getByRole('button', { name: 'Send' }).click()
    return (await answered).status()
  }
  const save = callOf('Create or replace a page')
  await save.locator('summary').click()
  assert.equal(await statusOf(save), 401)
  await save.getByRole('status').filter({ hasText: '401' }).waitFor()

  await page.getByLabel('Your token').fill(tokenOf('editor'))
  await page.getByRole('button', { name: 'Authorize' }).click()
  await page.getByText('Calls carry this token').waitFor()
  assert.equal(await statusOf(save), 201)
  await save.getByRole('status').filter({ hasText: '201' }).waitFor()
  assert.match(await save.getByLabel('Response').innerText(), /"name": "News\/January"/)

  const list = callOf('List the pages with a tag')
  await list.locator('summary').click()
  await list.getByLabel('tag').fill('news')
  assert.equal(await statusOf(list), 200)
  await list.getByLabel('Response').filter({ hasText: '"News/January"' }).waitFor()
  assert.deepEqual(elsewhere, [], 'the page sends requests to the wiki alone')
})

for (const width of [1280, 390, 320]) {
  test(`the API’s page is accessible and not wider than ${width} px, with every call open`, async (t) => {
    const { page } = await browser.open(t, { viewport: { width, height: 844 } }, peopleOnly(t))
    await page.goto('/api/')
    // As it opens, with all calls closed, it is one of the pages of every-page.test.js.
    await page.evaluate(() => { for (const details of document.querySelectorAll('details')) details.open = true })
    await assertAccessible(page, 'API with all calls', { dark: width === 1280 })
  })
}
