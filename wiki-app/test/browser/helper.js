import assert from 'node:assert/strict'
import { after, before } from 'node:test'
import axe from 'axe-core'
import { chromium } from 'playwright-core'
import { requireTool } from '@stevec/harness/tools/locate'
import { submit, useWiki } from '../helper.js'
import { PASSWORD } from '../people.js'

/** @typedef {import('playwright-core').Page} Page */
/** @typedef {import('node:test').TestContext} TestContext */

const WAIT_MAX_MS = 60_000
const [SHOWN_MAX_MS, SHOWN_CHARS, REQUESTS_SHOWN] = [5_000, 3_000, 12]
/** Of axe. */
export const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']
export const COLOURS = ['color-contrast', 'link-in-text-block']

/** The files of one process share it. @type {Promise<import('playwright-core').Browser> | undefined} */
let launching
let users = 0

/**
 * Starts one browser for the test files of a process. Each test gets a listening wiki with its own database, and a
 * browser context without history.
 * @param {{plainField?: boolean}} [options]  whether texts are written in a textarea, as somebody may choose
 */
export function useBrowser ({ plainField = true } = {}) {
  const wiki = useWiki()
  /** @type {import('playwright-core').Browser} */
  let browser
  before(async () => {
    users++
    // Root cannot use the browser's sandbox. The tests load pages only from their own wiki, so they do not need it.
    launching ??= chromium.launch({ executablePath: requireTool('chromium').path, args: ['--no-sandbox'] })
    browser = await launching
  })
  after(async () => { if (--users === 0) await browser?.close() })

  return {
    freshUri: wiki.freshUri,

    /**
     * @param {TestContext} t
     * @param {import('playwright-core').BrowserContextOptions} [options]
     * @param {Record<string, string>} [settings]  of the wiki
     */
    async open (t, options = {}, settings = {}) {
      const app = await wiki.build(t, settings)
      const baseURL = await app.listen({ port: Number(settings.PORT ?? 0), host: '127.0.0.1' })
      const visit = async (/** @type {import('playwright-core').BrowserContextOptions} */ more = {}) => {
        const context = await browser.newContext({ baseURL, ...options, ...more })
        context.setDefaultTimeout(WAIT_MAX_MS)
        // Empty documents have no storage.
        if (plainField) await context.addInitScript(() => { try { localStorage.plainField = 'on' } catch {} })
        return recorded(await context.newPage())
      }
      const page = await visit()
      /** @type {string[]} */
      const errors = []
      page.on('pageerror', (error) => errors.push(String(error)))
      page.on('console', (message) => {
        if (/Content Security Policy/.test(message.text())) errors.push(message.text())
      })
      t.after(async () => {
        // Node 20.12 has it, its types do not.
        if (/** @type {{passed?: boolean}} */ (/** @type {unknown} */ (t)).passed === false) await showPages(t, browser)
        await Promise.all(browser.contexts().map((context) => context.close()))
        assert.deepEqual(errors, [], 'no script failed or was blocked by the Content Security Policy')
      })
      return { app, page, visit }
    }
  }
}

/**
 * What a failed test left in its windows: what it waits for may not come because something else did.
 * @param {TestContext} t @param {import('playwright-core').Browser} browser
 */
async function showPages (t, browser) {
  for (const page of browser.contexts().flatMap((context) => context.pages())) {
    const text = await page.locator('body').innerText({ timeout: SHOWN_MAX_MS }).catch(String)
    const requests = (recordings.get(page) ?? []).slice(-REQUESTS_SHOWN).join(', ')
    t.diagnostic(`${page.url()} (last: ${requests}): ${text.slice(0, SHOWN_CHARS)}`)
  }
}

/** What each page requested and got, for `showPages`. @type {WeakMap<Page, string[]>} */
const recordings = new WeakMap()

/** @param {Page} page */
function recorded (page) {
  /** @type {string[]} */
  const lines = []
  page.on('request', (request) => lines.push(`${request.method()} ${new URL(request.url()).pathname}`))
  page.on('response', (response) => lines.push(`${response.status()} ${new URL(response.url()).pathname}`))
  page.on('requestfailed', (request) => lines.push(`${request.failure()?.errorText} ${request.url()}`))
  recordings.set(page, lines)
  return page
}

/**
 * Writes a page without the browser.
 * @param {import('fastify').FastifyInstance} app
 * @param {string} name
 * @param {string} content
 * @param {Record<string, string>} [fields]
 */
export async function write (app, name, content, fields = {}) {
  const { statusCode } = await submit(app, name, { content, ...fields })
  assert.equal(statusCode, 303)
}

/**
 * Signs in to a wiki with ACCESS=users.
 * @param {Page} page
 * @param {string} name
 */
export async function signIn (page, name) {
  await page.goto('/edit/sign-in')
  await page.getByLabel('Your name in this wiki').fill(name)
  await page.getByLabel('Your password').fill(PASSWORD)
  await page.getByRole('main').getByRole('button', { name: 'Sign in' }).click()
  await page.waitForURL('/')
  await page.locator('header').getByRole('link', { name }).waitFor()
}

/**
 * Asserts that the page meets WCAG 2.2 AA, as far as a program can tell, and does not scroll sideways. In dark colours
 * it checks only the contrast again.
 * @param {Page} page
 * @param {string} what
 * @param {{dark: boolean}} options  whether to check dark colours too
 */
export async function assertAccessible (page, what, { dark }) {
  await page.emulateMedia({ colorScheme: 'light' })
  const violations = await violationsIn(page, { type: 'tag', values: RULES })
  if (dark) {
    await page.emulateMedia({ colorScheme: 'dark' })
    violations.push(...await violationsIn(page, { type: 'rule', values: COLOURS }))
  }
  assert.deepEqual(violations.map(({ id, nodes }) => `${what}: ${id} ${nodes.map(({ html }) => html).join(' ')}`), [])
  const { width, widthMax, titles } = await structureOf(page)
  assert.ok(width <= widthMax, `${what} is too wide`)
  assert.equal(titles, 1, `${what} has one title`)
}

/**
 * What no rule of axe says of a page; and whether it is pointed at with fingers.
 * @param {Page} page
 */
export const structureOf = (page) => page.evaluate(() => ({
  width: document.documentElement.scrollWidth,
  /** Of a phone, it grows with a page that is too wide. */
  widthMax: window.innerWidth,
  titles: document.querySelectorAll('main h1:not(article h1)').length,
  isTouched: matchMedia('(pointer: coarse)').matches
}))

/**
 * A document gets the library once: it has half a megabyte. Only what fails is described.
 * @param {Page} page @param {import('axe-core').RunOnly} runOnly @returns {Promise<import('axe-core').Result[]>}
 */
export async function violationsIn (page, runOnly) {
  if (!await page.evaluate(() => 'axe' in window)) await page.evaluate(axe.source)
  return page.evaluate(async (options) => {
    const { violations } = await /** @type {any} */ (window).axe.run(document, options)
    return violations
  }, { runOnly, resultTypes: ['violations'], selectors: false })
}

/**
 * Returns whether leaving the page asks for confirmation.
 * @param {Page} page
 */
export async function asksBeforeLeaving (page) {
  let asked = false
  const dialog = (/** @type {import('playwright-core').Dialog} */ shown) => {
    asked = true
    shown.accept().catch(() => {})
  }
  page.once('dialog', dialog)
  await page.goto('/')
  page.off('dialog', dialog)
  return asked
}
