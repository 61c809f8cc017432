import assert from 'node:assert/strict'
import test from 'node:test'
import { save } from '../helper.js'
import { bearer, PASSWORD, peopleOnly } from '../people.js'
import { assertAccessible, useBrowser } from './helper.js'

const browser = useBrowser()

for (const javaScriptEnabled of [true, false]) {
  test(`${javaScriptEnabled ? 'with' : 'without'} JavaScript a stranger signs in, reads, signs out, and “back” ` +
    'shows nothing any more', async (t) => {
    const { app, page } = await browser.open(
      t, { javaScriptEnabled }, { ...peopleOnly(t), READ_ACCESS: 'members' })
    await save(app, 'a b', 'zanimivost', bearer('editor'))
    await page.goto('/wiki/a%20b')
    assert.equal(new URL(page.url()).pathname, '/edit/sign-in')
    await page.getByText('You can read here once you have signed in').waitFor()
    if (javaScriptEnabled) await assertAccessible(page, 'sign-in of a private wiki', { dark: true })
    await page.getByLabel('Your name in this wiki').fill('reader')
    await page.getByLabel('Your password').fill(PASSWORD)
    await page.getByRole('main').getByRole('button', { name: 'Sign in' }).click()
    await page.waitForURL('/wiki/a%20b')
    await page.getByText('zanimivost').waitFor()

    await page.getByRole('link', { name: 'All pages' }).click()
    await page.getByRole('main').getByRole('link', { name: 'a b' }).click()
    const header = page.locator('header')
    assert.equal(await header.getByRole('link', { name: 'reader' }).count(), 1)
    assert.equal(await page.getByRole('link', { name: 'Edit this page' }).count(), 0, 'a reader edits nothing')
    if (javaScriptEnabled) await assertAccessible(page, 'a page of a private wiki', { dark: true })

    await header.getByRole('button', { name: 'Sign out' }).click()
    await page.waitForURL((url) => url.pathname === '/edit/sign-in')
    for (let back = 0; back < 3; back++) {
      await page.goBack()
      assert.doesNotMatch(await page.content(), /zanimivost/, `back ${back}`)
      assert.equal(new URL(page.url()).pathname, '/edit/sign-in', `back ${back}`)
    }
    await page.goto('/wiki/a%20b')
    await page.reload()
    assert.equal(new URL(page.url()).pathname, '/edit/sign-in')
    assert.doesNotMatch(await page.content(), /zanimivost/)
  })
}
