import assert from 'node:assert/strict'
import test from 'node:test'
import { freePorts, releasePorts } from '@stevec/harness/ports'
import { waitUntil } from '@stevec/harness/processes'
import { get } from '../helper.js'
import { usersFile } from '../people.js'
import { assertAccessible, signIn, useBrowser, write } from './helper.js'

/** @import {Page} from 'playwright-core' */

const WAIT_MAX_MS = 60_000
const browser = useBrowser()

/**
 * A wiki on a port that it gets again when it is started again, with the same pages.
 * @param {import('node:test').TestContext} t @param {Record<string, string>} [settings]
 */
async function openAt (t, settings = {}) {
  const ports = await freePorts(1)
  t.after(() => releasePorts(ports))
  const fixed = { MONGODB_URI: browser.freshUri(), PORT: String(ports[0]), ...settings }
  const opened = await browser.open(t, {}, fixed)
  const again = (/** @type {Record<string, string>} */ changed = {}) => browser.open(t, {}, { ...fixed, ...changed })
  return { ...opened, again }
}

/** Waits until the worker answers for the page, and has kept it. @param {Page} page */
async function untilKept (page) {
  await page.waitForFunction(() => navigator.serviceWorker.controller !== null)
  const isKept = async () => (await keptIn(page)).includes(new URL(page.url()).pathname)
  assert.ok(await waitUntil(isKept, WAIT_MAX_MS))
}

/** @param {Page} page @returns {Promise<string[]>} paths, the one read last at the end */
const keptIn = (page) => page.evaluate(async () => {
  const names = (await caches.keys()).filter((name) => name.startsWith('stevec-'))
  const keys = await Promise.all(names.map(async (name) => (await caches.open(name)).keys()))
  return keys.flat().map(({ url }) => new URL(url).pathname)
})

/** Browsers ask at each view. */
const REVALIDATE = { CACHE_POLICY: 'revalidate' }
const AWAY = 'The wiki cannot be reached'

test('pages that were read can be read while the wiki is away, with their age, and are fresh after it', async (t) => {
  const { app, page, again } = await openAt(t, REVALIDATE)
  await write(app, 'first', 'read **first**')
  await write(app, 'second', 'read second')
  await write(app, 'never', 'never read')
  await page.goto('/wiki/first')
  await untilKept(page)
  await page.goto('/wiki/second?ignored=1#_main')
  await untilKept(page)

  await app.close()
  await page.goto('/wiki/first')
  assert.equal(await page.locator('article strong').textContent(), 'first')
  const notice = page.getByRole('status')
  assert.match(String(await notice.textContent()), /cannot be reached. You see the page as it was this minute\./)
  await assertAccessible(page, 'a kept page', { dark: true })
  const missing = await page.goto('/wiki/never')
  assert.equal(missing?.status(), 503)
  await page.getByRole('heading', { name: AWAY, level: 1 }).waitFor()
  assert.deepEqual(await page.getByRole('listitem').getByRole('link').allTextContents(), ['second', 'first'])
  await assertAccessible(page, 'the list of kept pages', { dark: true })
  await page.getByRole('link', { name: 'first' }).click()
  await page.locator('article strong').waitFor()

  const { app: back } = await again()
  await write(back, 'first', 'new text')
  await page.reload()
  assert.equal(await page.locator('article').getByText('new text').count(), 1)
  assert.equal(await page.getByText(AWAY).count(), 0)
})

test('with the worker, the wiki gets the same requests as without it', async (t) => {
  const { app, page, visit } = await openAt(t, REVALIDATE)
  for (const name of ['a', 'b']) await write(app, name, 'text')
  const counted = async () => Number((await get(app, '/wiki/stevec')).body)
  await page.goto('/wiki/a')
  await untilKept(page)
  const without = await visit({ serviceWorkers: 'block' })
  await without.goto('/wiki/a')

  /** @param {Page} reader */
  async function requestsOf (reader) {
    const before = await counted()
    for (const name of ['b', 'a', 'b']) await reader.goto(`/wiki/${name}`)
    await reader.reload()
    await reader.goBack()
    return await counted() - before
  }
  assert.equal(await requestsOf(page), await requestsOf(without))
  // An edit shows at once.
  await write(app, 'b', 'other text')
  await page.goto('/wiki/b')
  assert.equal(await page.getByText('other text').count(), 1)
})

test('a page that is gone, or was never one, is not kept; a name with markup stays a name', async (t) => {
  const { app, page } = await openAt(t, REVALIDATE)
  const name = '<img src=x onerror=alert(1)>&quot;'
  await write(app, name, 'hostile')
  await write(app, 'gone', 'text')
  for (const each of [name, 'gone', 'missing']) {
    await page.goto(`/wiki/${encodeURIComponent(each)}`)
    if (each !== 'missing') await untilKept(page)
  }
  await page.goto('/search?q=hostile')
  assert.deepEqual((await keptIn(page)).length, 2)
  assert.equal((await app.inject({ method: 'DELETE', url: '/api/v1/pages/gone' })).statusCode, 204)
  await page.goto('/wiki/gone')
  assert.ok(await waitUntil(async () => (await keptIn(page)).length === 1, WAIT_MAX_MS))
  await app.close()
  await page.goto('/wiki/gone')
  assert.deepEqual(await page.getByRole('listitem').getByRole('link').allTextContents(), [name])
  assert.equal(await page.locator('main img').count(), 0)
})

test('while nginx or the wiki says that it is away, a kept page is shown, and other errors as they are', async (t) => {
  const { app, page } = await openAt(t)
  await write(app, 'a', 'kept text')
  await page.goto('/wiki/a')
  await untilKept(page)
  let status = 503
  await page.context().route('**/wiki/*', (route) =>
    route.fulfill({ status, body: 'an error', contentType: 'text/plain' }))
  for (status of [502, 503, 504]) {
    await page.goto('/wiki/a')
    assert.equal(await page.getByText('kept text').count(), 1, String(status))
    assert.equal((await page.goto('/wiki/b'))?.status(), status)
  }
  for (status of [429, 500]) assert.equal((await page.goto('/wiki/a'))?.status(), status)
})

test('a page with another name is kept under that one alone', async (t) => {
  const { app, page } = await openAt(t, REVALIDATE)
  await write(app, 'old', 'text')
  await page.goto('/wiki/old')
  await untilKept(page)
  const renamed = await app.inject({ method: 'POST', url: '/api/v1/pages/old/rename', payload: { to: 'new' } })
  assert.equal(renamed.statusCode, 201)
  await page.goto('/wiki/old')
  assert.equal(new URL(page.url()).pathname, '/wiki/new')
  await untilKept(page)
  assert.deepEqual(await keptIn(page), ['/wiki/new'])
})

test('a browser that refuses its store shows what the wiki says, or that it is away', async (t) => {
  const { app, page } = await openAt(t, REVALIDATE)
  await write(app, 'a', 'text')
  await page.goto('/wiki/a')
  await untilKept(page)
  const [worker] = page.context().serviceWorkers()
  await worker.evaluate(() => {
    const refuse = () => Promise.reject(new DOMException('', 'SecurityError'))
    Object.assign(Object.getPrototypeOf(caches), { open: refuse, match: refuse })
  })
  const unavailable = { status: 503, body: 'an error', contentType: 'text/plain' }
  await page.context().route('**/wiki/a', (route) => route.fulfill(unavailable))
  assert.equal(await (await page.goto('/wiki/a'))?.text(), 'an error')
  await page.context().unroute('**/wiki/a')
  await page.goto('/wiki/a')
  assert.equal(await page.locator('article').textContent().then((text) => text?.trim()), 'text')
  await app.close()
  await page.goto('/wiki/a')
  await page.getByRole('heading', { name: AWAY, level: 1 }).waitFor()
})

test('switched off, the worker goes with all that it kept', async (t) => {
  const { app, page, again } = await openAt(t)
  await write(app, 'a', 'text')
  await page.goto('/wiki/a')
  await untilKept(page)
  await app.close()
  await again({ OFFLINE_READING: 'off' })
  // In place of a day.
  await (await page.context().newCDPSession(page)).send('Network.clearBrowserCache')
  await page.goto('/wiki/a')
  assert.ok(await waitUntil(() => page.evaluate(async () =>
    (await navigator.serviceWorker.getRegistrations()).length + (await caches.keys()).length === 0), WAIT_MAX_MS))
})

test('a wiki whose readers sign in keeps nothing in browsers', async (t) => {
  const { app, page } = await openAt(t, { ACCESS: 'users', USERS_FILE: usersFile(t), READ_ACCESS: 'members' })
  assert.match((await get(app, '/offline.js')).body, /unregister/)
  await signIn(page, 'reader')
  await page.goto('/wiki/a')
  assert.equal(await page.evaluate(async () => (await navigator.serviceWorker.getRegistrations()).length), 0)
})
