import assert from 'node:assert/strict'
import test from 'node:test'
import { save } from '../helper.js'
import { bearer, PASSWORD, peopleOnly } from '../people.js'
import { assertAccessible, signIn, useBrowser } from './helper.js'

const browser = useBrowser()

/** What leads to writing. */
const WRITING = '[href^="/edit/"]:not([href="/edit/sign-in"], [href^="/edit/watch"], [href="/edit/account"]), ' +
  '[action^="/edit/"]:not([action="/edit/sign-out"])'

test('signing in leads back to the page, and all pages and tabs show the name until signing out', async (t) => {
  const { app, page } = await browser.open(t, {}, peopleOnly(t))
  await save(app, 'a', 'text', bearer('editor'))
  await page.goto('/wiki/a')
  await page.getByRole('link', { name: 'Sign in' }).click()
  await assertAccessible(page, 'sign-in', { dark: true })
  await page.getByLabel('Your name in this wiki').fill('editor')
  await page.getByLabel('Your password').fill(PASSWORD)
  await page.getByRole('main').getByRole('button', { name: 'Sign in' }).click()
  await page.waitForURL('/wiki/a')

  const header = page.locator('header')
  await header.getByRole('link', { name: 'editor' }).waitFor()
  const other = await page.context().newPage()
  await other.goto('/changes')
  await other.locator('header').getByRole('link', { name: 'editor' }).waitFor()
  await header.getByRole('button', { name: 'Sign out' }).click()
  await header.getByRole('link', { name: 'Sign in' }).waitFor()
  await other.locator('header').getByRole('link', { name: 'Sign in' }).waitFor()
  await page.goto('/edit/text/a')
  assert.equal(new URL(page.url()).pathname, '/edit/sign-in')
})

test('a wrong password is an error, not in the box of success, and the name stays in the form', async (t) => {
  const { page } = await browser.open(t, {}, peopleOnly(t))
  await page.goto('/edit/sign-in')
  await page.getByLabel('Your name in this wiki').fill('editor')
  await page.getByLabel('Your password').fill('wrong')
  await page.getByRole('main').getByRole('button', { name: 'Sign in' }).click()
  const alert = page.getByRole('alert')
  assert.match(await alert.innerText(), /do not go together/)
  const border = await alert.evaluate((element) => getComputedStyle(element).borderTopColor)
  // Only a save's message has the role status.
  const [good, bad] = await alert.evaluate((element) => ['status', 'alert'].map((role) => {
    element.role = role
    return getComputedStyle(element).backgroundColor
  }))
  assert.notEqual(good, bad)
  assert.match(border, /^rgb\(179, 38, 30\)$/, 'red')
  await assertAccessible(page, 'wrong password', { dark: true })
  assert.equal(await page.getByLabel('Your name in this wiki').inputValue(), 'editor')
})

test('a reader sees nothing that leads to writing, and what the browser remembers grants nothing', async (t) => {
  const { app, page } = await browser.open(t, {}, peopleOnly(t))
  await save(app, 'a', 'text', bearer('editor'))
  await save(app, 'a', 'more', bearer('editor'))
  await signIn(page, 'reader')
  await assertAccessible(page, 'signed in', { dark: true })
  for (const url of ['/', '/pages', '/wiki/a', '/history/a', '/wiki/none', '/files', '/search?q=text']) {
    await page.goto(url)
    await page.locator('header').getByRole('link', { name: 'reader' }).waitFor()
    const visible = await page.locator(WRITING).evaluateAll((elements) => elements
      .filter((element) => element.checkVisibility())
      .map((element) => element.outerHTML))
    assert.deepEqual(visible, [], url)
  }
  await page.goto('/wiki/a')
  await page.keyboard.press('e')
  await page.keyboard.press('h')
  await page.waitForURL('/history/a')

  await page.evaluate(() => { localStorage.person = JSON.stringify({ name: '<b>x</b>', role: 'admin' }) })
  await page.goto('/wiki/a')
  await page.locator('header').getByRole('link', { name: '<b>x</b>' }).waitFor()
  await page.getByRole('link', { name: 'Edit this page' }).click()
  await page.getByText('You are “reader”, with the role reader').waitFor()
  await page.locator('header').getByRole('link', { name: 'reader' }).waitFor()
})

test('without JavaScript, too, a reader finds out who is signed in, and signs out', async (t) => {
  const { app, page } = await browser.open(t, { javaScriptEnabled: false }, peopleOnly(t))
  await save(app, 'a', 'text', bearer('editor'))
  await page.goto('/wiki/a')
  await page.getByRole('link', { name: 'Sign in' }).click()
  await page.getByLabel('Your name in this wiki').fill('reader')
  await page.getByLabel('Your password').fill(PASSWORD)
  await page.getByRole('main').getByRole('button', { name: 'Sign in' }).click()
  await page.getByText('Your name in this wiki is reader').waitFor()
  await page.getByRole('link', { name: 'Go on' }).click()
  await page.waitForURL('/wiki/a')
  await page.getByRole('link', { name: 'Sign in' }).click()
  await page.getByRole('main').getByRole('button', { name: 'Sign out' }).click()
  await page.waitForURL('/')
  await page.goto('/edit/sign-in')
  await page.getByLabel('Your password').waitFor()
})

test('an invited person chooses a password in the browser, signs in, and makes and removes a token', async (t) => {
  const { page, visit } = await browser.open(t, {}, peopleOnly(t))
  await signIn(page, 'admin')
  await page.goto('/edit/sign-in')
  await page.getByRole('link', { name: 'People' }).click()
  await page.getByLabel('The name, as the history will show it').fill('Ana Novak')
  await page.getByRole('button', { name: 'Make an invitation' }).click()
  const link = await page.getByLabel('The address').inputValue()

  const hers = await visit()
  await hers.goto(link)
  await hers.getByLabel(/^A new password/).fill('a new password')
  await hers.getByLabel('The same again').fill('another password')
  await hers.getByRole('button', { name: 'Set the password' }).click()
  assert.match(await hers.getByRole('alert').innerText(), /not the same/)
  await hers.getByLabel(/^A new password/).fill('a new password')
  await hers.getByLabel('The same again').fill('a new password')
  await hers.getByRole('button', { name: 'Set the password' }).click()
  await hers.getByLabel('Your name in this wiki').fill('Ana Novak')
  await hers.getByLabel('Your password').fill('a new password')
  await hers.getByRole('main').getByRole('button', { name: 'Sign in' }).click()
  await hers.waitForURL('/')
  await hers.locator('header').getByRole('link', { name: 'Ana Novak' }).click()
  await hers.getByRole('link', { name: 'Your account' }).click()
  await hers.getByLabel('What the token is for').fill('a program')
  await hers.getByRole('button', { name: 'Make a token' }).click()
  assert.match(await hers.getByLabel('The token', { exact: true }).inputValue(), /^stevec_[\w-]{43}$/)
  await hers.getByRole('button', { name: 'Copy' }).waitFor()
  await assertAccessible(hers, 'an account with a token', { dark: true })
  await hers.getByLabel('I am sure').check()
  await hers.getByRole('button', { name: 'Remove the token a program' }).click()
  await hers.getByRole('button', { name: 'Remove the token a program' }).waitFor({ state: 'detached' })
})
