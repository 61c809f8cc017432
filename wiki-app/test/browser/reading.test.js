import assert from 'node:assert/strict'
import test from 'node:test'
import { assertAccessible, useBrowser, write } from './helper.js'

const browser = useBrowser()

const PHONE = { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true }

test('a page follows the colour scheme, has large enough touch targets, and prints only the article', async (t) => {
  const { app, page } = await browser.open(t, { ...PHONE, colorScheme: 'dark' })
  await write(app, 'a', 'text')
  await page.goto('/wiki/a')
  const paper = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor)
  const dark = await paper()
  await page.emulateMedia({ colorScheme: 'light' })
  assert.notEqual(await paper(), dark)
  for (const name of ['Edit this page', 'History', 'New page']) {
    const box = await page.getByRole('link', { name }).boundingBox()
    assert.ok(box && box.height >= 44, `${name}: ${box?.height} px`)
  }
  await page.emulateMedia({ media: 'print' })
  assert.equal(await page.getByRole('searchbox').isVisible(), false)
  assert.equal(await page.locator('article').isVisible(), true)
})

test('keyboard shortcuts navigate, but not in text fields, and can be disabled permanently', async (t) => {
  const { app, page } = await browser.open(t)
  await write(app, 'a', 'text')
  for (const [key, url] of [['e', '/edit/text/a'], ['h', '/history/a'], ['n', '/edit/new']]) {
    await page.goto('/wiki/a')
    await page.keyboard.press(key)
    await page.waitForURL(url)
  }
  await page.goto('/wiki/a')
  await page.keyboard.press('/')
  await page.keyboard.type('e/h?n')
  assert.equal(await page.getByRole('searchbox').inputValue(), 'e/h?n')
  assert.equal(new URL(page.url()).pathname, '/wiki/a')

  await page.goto('/wiki/a')
  await page.keyboard.press('Alt+e')
  await page.keyboard.press('Control+e')
  await page.keyboard.press('?')
  await page.getByRole('dialog').waitFor()
  await page.keyboard.press('e')
  await page.getByLabel('Use these keys').uncheck()
  await page.keyboard.press('Escape')
  await page.reload()
  await page.keyboard.press('e')
  await page.keyboard.press('?')
  assert.equal(await page.getByRole('dialog').isVisible(), false)
  assert.equal(new URL(page.url()).pathname, '/wiki/a')
  await page.getByRole('button', { name: 'Keys' }).click()
  assert.equal(await page.getByLabel('Use these keys').isChecked(), false)
  await page.getByLabel('Use these keys').check()
  await page.keyboard.press('Escape')
  await page.keyboard.press('e')
  await page.waitForURL('/edit/text/a')
})

test('changed words stand out in light, dark and no colours, also where only spaces changed', async (t) => {
  const { app, page } = await browser.open(t, PHONE)
  await write(app, 'a', 'Use words.\n\nsome  spaces\n\nno\u200B width\n')
  await write(app, 'a', 'Use plain words.\n\nsome spaces \n\nno width\n')
  await page.goto('/difference/a?from=1&to=2')
  const marks = await page.locator('.difference mark').all()
  const lines = await Promise.all(marks.map((mark) => mark.evaluate(({ parentElement }) => parentElement?.localName)))
  assert.deepEqual(lines, ['ins', 'del', 'ins', 'ins', 'del'])
  for (const colorScheme of /** @type {const} */ (['light', 'dark'])) {
    await page.emulateMedia({ colorScheme })
    for (const [index, mark] of marks.entries()) {
      const { decoration, weight, grounds, width } = await mark.evaluate((element) => ({
        decoration: getComputedStyle(element).textDecorationLine,
        weight: Number(getComputedStyle(element).fontWeight),
        grounds: [element, element.parentElement, element.closest('pre')]
          .map((each) => each && getComputedStyle(each).backgroundColor),
        width: element.getBoundingClientRect().width
      }))
      assert.equal(decoration, lines[index] === 'ins' ? 'underline' : 'line-through')
      assert.ok(weight >= 600)
      assert.ok(!grounds.slice(1).includes(grounds[0]) && width >= 2, `${index}: ${grounds} ${width} px`)
    }
  }
  await assertAccessible(page, 'marked words', { dark: true })
})

test('times are relative, with the exact time as title; without JavaScript they are exact', async (t) => {
  const { app, page, visit } = await browser.open(t)
  await write(app, 'a', 'text')
  await page.clock.install({ time: Date.now() + 3 * 3_600_000 + 60_000 })
  await page.goto('/wiki/a')
  const time = page.locator('footer time')
  assert.equal(await time.innerText(), '3 hours ago')
  assert.match(String(await time.getAttribute('title')), /^\d{4}-\d\d-\d\d \d\d:\d\d UTC$/)
  await page.clock.runFor(3_600_000)
  assert.equal(await time.innerText(), '4 hours ago')
  const plain = await visit({ javaScriptEnabled: false })
  await plain.goto('/wiki/a')
  assert.match(await plain.locator('footer time').innerText(), /UTC$/)
})

test('a button copies the code of a block', async (t) => {
  const { app, page } = await browser.open(t, { permissions: ['clipboard-read', 'clipboard-write'] })
  await write(app, 'a', '```\nlet a = "<b>"\n```')
  await page.goto('/wiki/a')
  await page.getByRole('button', { name: 'Copy' }).click()
  await page.getByRole('button', { name: 'Copied' }).waitFor()
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), 'let a = "<b>"\n')
  const widths = await page.evaluate(() => ['article', 'pre'].map((name) => document.querySelector(name)?.clientWidth))
  assert.equal(widths[0], widths[1], 'and does not narrow it')
})

/** @param {import('playwright-core').Page} page @param {string} text */
async function saveText (page, text) {
  await page.goto('/edit/text/a')
  await page.getByLabel('Text, in').fill(text)
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('Saved as revision').waitFor()
}

test('after a save the address has no query; a reload or a link shows the new text without the notice', async (t) => {
  const { app, page } = await browser.open(t, {}, { CACHE_POLICY: 'ttl' })
  await write(app, 'a', 'old')
  await page.goto('/wiki/a')
  await saveText(page, 'new')
  await page.waitForURL((url) => url.pathname === '/wiki/a' && url.search === '')
  await page.reload()
  await page.locator('article', { hasText: 'new' }).waitFor()
  assert.equal(await page.getByText('Saved as revision').count(), 0)
  await page.goto('/pages')
  await page.getByRole('main').getByRole('link', { name: 'a', exact: true }).click()
  await page.locator('article', { hasText: 'new' }).waitFor()
})

test('while a cache has the old text, the address after a save stays that of the new text', async (t) => {
  const { app, page } = await browser.open(t, {}, { CACHE_POLICY: 'ttl' })
  await write(app, 'a', 'old')
  const { headers, body } = await app.inject('/wiki/a')
  await page.route('**/wiki/a', (route) => route.fulfill({ headers: /** @type {any} */ (headers), body }))
  const asked = page.waitForResponse('**/wiki/a')
  await saveText(page, 'new')
  await (await asked).finished()
  await page.reload()
  await page.locator('article', { hasText: 'new' }).waitFor()
  assert.equal(new URL(page.url()).search, '?saved=2')
  await page.unroute('**/wiki/a')
  await page.reload()
  await page.waitForURL((url) => url.search === '')
})

test('formulas are laid out without a script, and those too wide scroll in their own box', async (t) => {
  const { app, page, visit } = await browser.open(t, PHONE)
  const sum = 'a + '.repeat(60)
  const matrix = '\\begin{matrix}a\\\\a\\\\a\\end{matrix}'
  await write(app, 'a', `Price: $5\n\n$x$ $\\frac{x}{x}$ $${sum}a$\n\n$$\n${sum}${matrix}\n$$`)
  const silent = await visit({ javaScriptEnabled: false })
  await silent.goto('/wiki/a')
  const height = async (/** @type {string} */ selector) =>
    (await silent.locator(selector).last().boundingBox())?.height ?? 0
  const letter = await height('p > math:nth-of-type(1) mi')
  assert.ok(letter > 4, `${letter} px`)
  assert.ok(await height('mfrac') > 1.5 * letter, 'a numerator stands above its denominator')
  assert.ok(await height('mtable') > 2.5 * letter, 'rows stand below each other')
  assert.equal(await silent.locator('math').count(), 4)

  await page.goto('/wiki/a')
  await assertAccessible(page, 'formulas', { dark: true })
  const boxes = await page.locator('[tabindex="0"]').evaluateAll((found) => found.map(({ tagName }) => tagName))
  assert.deepEqual(boxes, ['math', 'DIV'], 'the keyboard reaches what scrolls')
  for (const box of ['p > math[tabindex]', 'div.math']) {
    await page.locator(box).focus()
    await page.keyboard.press('End')
    await page.keyboard.press('ArrowRight')
    await page.waitForFunction((selector) => Number(document.querySelector(selector)?.scrollLeft) > 0, box)
  }
})

test('the preview shows formulas', async (t) => {
  const { page } = await browser.open(t)
  await page.goto('/edit/text/a')
  await page.getByLabel('Text, in').fill('$$\n\\frac{1}{2}\n$$')
  await page.getByRole('button', { name: 'Preview' }).click()
  const fraction = page.getByRole('region', { name: 'Preview' }).locator('mfrac')
  await fraction.waitFor()
  assert.ok((await fraction.boundingBox())?.height ?? 0 > 10)
})

const DIAGRAM = `graph LR\n  ${'abcdefghij'.split('').map((name) => `${name}[Step ${name}]`).join(' --> ')}`

test('a diagram is drawn without a script, in the colours of the page, and scrolls in its own box', async (t) => {
  const { app, page, visit } = await browser.open(t, PHONE)
  await write(app, 'a', `\`\`\`mermaid\n${DIAGRAM}\n\`\`\`\n\nThe end.`)
  const silent = await visit({ javaScriptEnabled: false })
  await silent.goto('/wiki/a')
  const image = silent.getByRole('img', { name: 'Flowchart: Step a, Step b' })
  const box = await image.boundingBox()
  assert.ok(box && box.width > 2 * PHONE.viewport.width && box.height > 40, JSON.stringify(box))
  const arrows = await image.locator('g[transform] polygon').count()
  assert.equal(arrows, 9)
  await silent.getByText('Source of the diagram').click()
  await silent.getByText('a[Step a] -->').waitFor()

  await page.goto('/wiki/a')
  await assertAccessible(page, 'a diagram', { dark: true })
  const colours = async (/** @type {'light' | 'dark'} */ colorScheme) => {
    await page.emulateMedia({ colorScheme })
    return page.locator('svg text').first().evaluate((text) =>
      [getComputedStyle(text).fill, getComputedStyle(text).color])
  }
  const [[light, lightInk], [dark, darkInk]] = [await colours('light'), await colours('dark')]
  assert.deepEqual([light, dark], [lightInk, darkInk], 'labels have the colour of the text')
  assert.notEqual(light, dark)
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth),
    'the page does not scroll')
  await page.locator('div.diagram[tabindex]').focus()
  await page.keyboard.press('ArrowRight')
  await page.waitForFunction(() => Number(document.querySelector('.diagram')?.scrollLeft) > 0)
  await page.emulateMedia({ media: 'print' })
  assert.ok((await page.locator('.diagram svg').boundingBox() ?? { width: Infinity }).width <= PHONE.viewport.width)
})

test('the preview shows a diagram', async (t) => {
  const { page } = await browser.open(t)
  await page.goto('/edit/text/a')
  await page.getByLabel('Text, in').fill(`\`\`\`mermaid\n${DIAGRAM}\n\`\`\``)
  await page.getByRole('button', { name: 'Preview' }).click()
  await page.getByRole('region', { name: 'Preview' }).getByRole('img', { name: 'Flowchart: Step a' }).waitFor()
})

test('the menu closes with Escape and with a click elsewhere', async (t) => {
  const { app, page } = await browser.open(t)
  await write(app, 'a', 'text')
  await page.goto('/wiki/a')
  const [more, rename] = [page.getByText('More', { exact: true }), page.getByRole('link', { name: 'Rename' })]
  await more.click()
  await rename.waitFor()
  await page.keyboard.press('Escape')
  await rename.waitFor({ state: 'hidden' })
  assert.equal(await page.evaluate(() => document.activeElement?.textContent), 'More', 'the focus stays')
  await more.click()
  await rename.waitFor()
  await page.locator('article').click()
  await rename.waitFor({ state: 'hidden' })
})

for (const javaScriptEnabled of [true, false]) {
  const how = javaScriptEnabled ? 'and copied' : 'without JavaScript'
  test(`a short link is made, shown and followed ${how}`, async (t) => {
    const permissions = ['clipboard-read', 'clipboard-write']
    const { app, page } = await browser.open(t, { ...PHONE, permissions, javaScriptEnabled })
    await write(app, 'a', 'first')
    await write(app, 'a', 'second')
    const origin = new URL((await page.goto('/wiki/a'))?.url() ?? '').origin
    for (const [start, text] of [['/wiki/a', 'second'], ['/revision/a/1', 'first']]) {
      await page.goto(start)
      const button = page.getByRole('main').getByRole('button', { name: 'Short link' })
      if (start === '/wiki/a') await page.getByText('More', { exact: true }).click()
      const box = await button.last().boundingBox()
      assert.ok(box && box.height >= 44, `${box?.height} px`)
      await button.last().click()
      const shown = page.getByRole('textbox', { name: 'The short link' })
      const address = await shown.inputValue()
      assert.match(address, new RegExp(`^${origin}/s/\\w{8}$`))
      const copy = page.getByRole('button', { name: 'Copy' })
      assert.equal(await copy.isVisible(), javaScriptEnabled)
      if (javaScriptEnabled) {
        await copy.click()
        await page.getByRole('status').getByText('Copied').waitFor()
        assert.equal(await page.evaluate(() => navigator.clipboard.readText()), address)
      }
      await page.goto(address)
      await page.waitForURL(start)
      await page.locator('article').getByText(text).waitFor()
    }
  })
}

test('beside the text stand the pages around it and its contents; on a phone they are folded away', async (t) => {
  const { app, page, visit } = await browser.open(t, { viewport: { width: 1280, height: 800 } })
  const text = ['one', 'two', 'three', 'four'].map((title) => `## ${title}\n\ntext`).join('\n\n')
  for (const name of ['Guide', 'Guide/First', 'Guide/Install', 'Guide/Install/Čas & "prostor"']) {
    await write(app, name, text)
  }
  await page.goto('/wiki/Guide/Install')
  const tree = page.getByRole('navigation', { name: 'Pages nearby' })
  await tree.getByRole('link', { name: 'First' }).waitFor()
  assert.deepEqual(await tree.getByRole('link').allInnerTexts(), ['Guide', 'First', 'Install', 'Čas & "prostor"'])
  const current = tree.locator('[aria-current="page"]')
  assert.equal(await current.innerText(), 'Install')
  assert.equal(await current.getAttribute('href'), '/wiki/Guide/Install')
  const boxOf = async (/** @type {import('playwright-core').Locator} */ part) =>
    /** @type {{x: number, width: number}} */ (await part.boundingBox())
  const [left, article, right] = [
    await boxOf(tree), await boxOf(page.getByRole('article')), await boxOf(page.locator('.contents'))
  ]
  assert.ok(left.x >= 0 && left.x + left.width <= article.x, 'the tree stands before the text')
  assert.ok(right.x >= article.x + article.width && right.x + right.width <= 1280, 'the contents stand behind it')
  await assertAccessible(page, 'a page with its tree', { dark: true })
  await tree.getByRole('link', { name: 'prostor' }).click()
  await page.waitForURL(/prostor/)
  await page.getByRole('navigation', { name: 'Pages nearby' }).getByText('Čas & "prostor"').waitFor()
  assert.equal(await current.innerText(), 'Čas & "prostor"', 'the only page there is the present one')

  const phone = await visit(PHONE)
  /** @type {string[]} */
  const asked = []
  phone.on('request', (request) => { asked.push(new URL(request.url()).pathname) })
  await phone.goto('/wiki/Guide/Install')
  const folded = phone.getByRole('navigation', { name: 'Pages nearby' })
  await folded.waitFor()
  assert.deepEqual(asked.filter((path) => path.startsWith('/tree')), [], 'nothing is fetched until it is opened')
  assert.equal(await folded.getByRole('link').count(), 0)
  await phone.route('**/tree/**', (route) => route.abort(), { times: 1 })
  await folded.locator('summary').focus()
  await phone.keyboard.press('Enter')
  await folded.getByRole('link', { name: 'Pages nearby' }).waitFor()
  await phone.keyboard.press('Enter')
  await phone.keyboard.press('Enter')
  await folded.getByRole('link', { name: 'First' }).waitFor()
  await assertAccessible(phone, 'a tree that is open on a phone', { dark: false })
  assert.ok(await phone.evaluate(() => document.documentElement.scrollWidth) <= 360)

  const plain = await visit({ javaScriptEnabled: false })
  await plain.goto('/wiki/Guide/Install')
  await plain.getByRole('link', { name: 'Pages nearby' }).click()
  await plain.getByRole('main').getByRole('link', { name: 'First' }).click()
  await plain.waitForURL('/wiki/Guide/First')
})
