import assert from 'node:assert/strict'
import { after, before } from 'node:test'
import { AxeBuilder } from '@axe-core/playwright'
import { chromium } from 'playwright-core'
import { requireTool } from '@stevec/harness/tools/locate'
import { submit, useWiki } from '../helper.js'

/** @typedef {import('playwright-core').Page} Page */
/** @typedef {import('node:test').TestContext} TestContext */

const WAIT_MAX_MS = 60_000
const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']

/**
 * One browser for a test file; each test gets a wiki that listens, with a database of its own, and a visitor without a past.
 */
export function useBrowser () {
  const wiki = useWiki()
  /** @type {import('playwright-core').Browser} */
  let browser
  // The tests talk to nobody but a wiki of their own, so the browser's sandbox, which root cannot have, is no loss.
  before(async () => { browser = await chromium.launch({ executablePath: requireTool('chromium').path, args: ['--no-sandbox'] }) })
  after(() => browser?.close())

  return {
    /**
     * @param {TestContext} t
     * @param {import('playwright-core').BrowserContextOptions} [options]
     * @param {Record<string, string>} [settings]  of the wiki
     */
    async open (t, options = {}, settings = {}) {
      const app = await wiki.build(t, settings)
      const baseURL = await app.listen({ port: 0, host: '127.0.0.1' })
      const visit = async (/** @type {import('playwright-core').BrowserContextOptions} */ more = {}) => {
        const context = await browser.newContext({ baseURL, ...options, ...more })
        context.setDefaultTimeout(WAIT_MAX_MS)
        return context.newPage()
      }
      const page = await visit()
      /** @type {string[]} */
      const errors = []
      page.on('pageerror', (error) => errors.push(String(error)))
      page.on('console', (message) => { if (/Content Security Policy/.test(message.text())) errors.push(message.text()) })
      t.after(async () => {
        await Promise.all(browser.contexts().map((context) => context.close()))
        assert.deepEqual(errors, [], 'no script failed, and none was refused')
      })
      return { app, page, visit }
    }
  }
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
 * Nothing that keeps a person with a disability out (WCAG 2.2 AA as far as a program can tell), and nothing to scroll sideways for.
 * In dark colours only the colours are looked at again.
 * @param {Page} page
 * @param {string} what
 * @param {{dark: boolean}} options  whether to look at dark colours too
 */
export async function assertAccessible (page, what, { dark }) {
  // The other mode opens a tab for each look, for frames of other sites, which there are none of.
  const axe = () => new AxeBuilder({ page }).setLegacyMode(true)
  await page.emulateMedia({ colorScheme: 'light' })
  const { violations } = await axe().withTags(RULES).analyze()
  if (dark) {
    await page.emulateMedia({ colorScheme: 'dark' })
    violations.push(...(await axe().withRules(['color-contrast', 'link-in-text-block']).analyze()).violations)
  }
  assert.deepEqual(violations.map(({ id, nodes }) => `${what}: ${id} ${nodes.map(({ html }) => html).join(' ')}`), [])
  assert.equal(await page.evaluate(() => document.documentElement.scrollWidth > window.innerWidth), false, `${what} is too wide`)
  assert.equal(await page.locator('main h1:not(article h1)').count(), 1, `${what} has one title`)
}

/**
 * Whether leaving the page asks first.
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
