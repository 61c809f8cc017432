import assert from 'node:assert/strict'
import test from 'node:test'
import { png } from '../images.js'
import { bearer, peopleOnly } from '../people.js'
import { signIn, useBrowser } from './helper.js'

const browser = useBrowser()

const LONG = 'W'.repeat(176)
const BELOW = `${LONG}/${LONG.slice(0, 20)}`
const WIDE = [
  `[[${LONG}]] [[${LONG}2]] \`${LONG}\` ${LONG}`, `# ${LONG}`, `> ${LONG}`, `- ${LONG}`,
  `| ${'wide | '.repeat(20)}\n|${'---|'.repeat(20)}\n| ${'a cell | '.repeat(20)}`,
  `\`\`\`\n${'a long line '.repeat(20)}\n\`\`\``
].join('\n\n')

for (const width of [390, 320]) {
  test(`at ${width} pixels the header stays low, and long names, tables and code widen no page`, async (t) => {
    const phone = { viewport: { width, height: 844 }, hasTouch: true, isMobile: true }
    const { app, page } = await browser.open(t, phone, peopleOnly(t))
    const put = async (/** @type {string} */ name, /** @type {string} */ content) => {
      const { statusCode, body } = await app.inject({
        method: 'PUT',
        url: `/api/v1/pages/${encodeURIComponent(name)}`,
        headers: bearer('editor'),
        payload: { content, tags: [LONG.slice(0, 40)], summary: LONG }
      })
      assert.ok(statusCode < 300, body)
    }
    await put(LONG, 'one')
    await put(LONG, WIDE)
    await put(BELOW, 'text')
    await app.inject({
      method: 'POST',
      url: '/api/v1/files',
      headers: { 'content-type': 'image/png', ...bearer('editor') },
      payload: png(300, 200)
    })
    await signIn(page, 'editor')
    for (const url of [
      '/', '/pages', `/wiki/${LONG}`, `/wiki/${BELOW}`, `/wiki/${LONG}2`, `/edit/text/${LONG}`, '/edit/new',
      `/edit/rename/${LONG}`, `/edit/delete/${LONG}`, `/history/${LONG}`, `/difference/${LONG}?from=1&to=2`,
      `/revision/${LONG}/1`, '/changes', `/search?q=${LONG}`, '/tags', '/wanted', '/orphaned', '/dead-ends',
      '/care', '/overdue', `/links/${LONG}`,
      '/files', '/edit/sign-in'
    ]) {
      await page.goto(url)
      const seen = await page.evaluate(() => ({
        header: document.querySelector('header')?.getBoundingClientRect().height ?? 0,
        width: document.documentElement.scrollWidth
      }))
      assert.ok(seen.header > 0 && seen.header <= 120, `${url}: the header is ${seen.header} pixels high`)
      // Not against window.innerWidth: it grows with a page that is too wide.
      assert.ok(seen.width <= width, `${url} is ${seen.width} pixels wide`)
    }

    await page.goto(`/wiki/${LONG}`)
    await page.getByText('More', { exact: true }).tap()
    const menu = await page.locator('.more ul').boundingBox()
    assert.ok(menu && menu.x >= 0 && menu.x + menu.width <= width, 'the menu is on the screen')
    const name = await page.locator('header').getByRole('link', { name: 'editor' }).boundingBox()
    assert.ok(name && name.x >= 0 && name.x + name.width <= width, 'so is the name, which leads to signing out')
  })
}
