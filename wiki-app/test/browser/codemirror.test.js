import assert from 'node:assert/strict'
import test from 'node:test'
import { png } from '../images.js'
import { assertAccessible, useBrowser, write } from './helper.js'

const browser = useBrowser({ plainField: false })

/** @typedef {import('playwright-core').Page} Page */

const HOSTILE = '</textarea><img src="/x" onerror="throw 1">'

/** @param {Page} page  with an editor */
const partsOf = (page) => ({
  text: page.locator('.cm-content'),
  /** What the form sends. */
  value: () => page.locator('[name=content]').inputValue()
})

test('CodeMirror takes the place of the textarea, which stays the form’s field', async (t) => {
  const { app, page } = await browser.open(t)
  await write(app, 'a', '# Title\n\n- **one**')
  await page.goto('/edit/text/a')
  const { text, value } = partsOf(page)
  await text.waitFor()
  assert.equal(await page.getByLabel('Text, in').getAttribute('role'), 'textbox')
  assert.deepEqual(await text.locator('.md-heading').allInnerTexts(), ['#', ' Title'])
  await assertAccessible(page, 'CodeMirror', { dark: true })

  await page.keyboard.press('Control+End')
  await page.keyboard.press('Enter')
  await page.keyboard.type('two')
  assert.equal(await value(), '# Title\n\n- **one**\n- two', 'Enter goes on with the list')
  await page.keyboard.press('Tab')
  assert.equal(await value(), '# Title\n\n- **one**\n  - two')
  await page.keyboard.press('Control+Z')
  assert.equal(await value(), '# Title\n\n- **one**\n- two')
  await page.keyboard.press('Control+Shift+ArrowLeft')
  await page.keyboard.press('Control+b')
  assert.equal(await value(), '# Title\n\n- **one**\n- **two**')
  await page.keyboard.press('Escape')
  await page.keyboard.press('Tab')
  assert.equal(await text.evaluate((each) => each === document.activeElement), false, 'Escape, then Tab leaves')
  await page.getByLabel('Plain text field').check()
  assert.equal(await page.getByLabel('Text, in').inputValue(), '# Title\n\n- **one**\n- **two**')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('Saved as revision 2').waitFor()
  assert.equal(await page.locator('article li strong').count(), 2)
})

test('without its bundle, the textarea stays with what was typed', async (t) => {
  const { page } = await browser.open(t)
  await page.route('**/assets/codemirror.*', (route) => route.abort())
  await page.goto('/edit/text/a')
  await page.getByLabel('Text, in').fill('typed')
  await page.waitForFunction(() =>
    /** @type {HTMLInputElement} */ (document.querySelector('.choice input'))?.checked === true)
  assert.equal(await page.locator('.cm-content').count(), 0)
  assert.equal(await page.getByLabel('Text, in').inputValue(), 'typed')
})

test('what is typed while CodeMirror loads stays; drafts, previews and links work in it', async (t) => {
  const { app, page } = await browser.open(t)
  await write(app, 'Garden', 'text')
  /** @type {Promise<import('playwright-core').Route>} */
  const held = new Promise((resolve) => page.route('**/assets/codemirror.*', resolve))
  await page.goto('/edit/text/a')
  await page.keyboard.type('before, ')
  await (await held).continue()
  const { text, value } = partsOf(page)
  await text.waitFor()
  await page.keyboard.type('after [[Gar')
  await page.getByRole('option', { name: 'Garden' }).waitFor()
  await page.keyboard.press('Enter')
  assert.equal(await value(), 'before, after [[Garden]]', 'the cursor and the focus stay, too')
  await page.getByRole('button', { name: 'Preview' }).click()
  await page.locator('.preview a', { hasText: 'Garden' }).waitFor()
  await text.focus()
  await page.keyboard.type(' *more*')
  await page.locator('.preview em').waitFor()

  await page.waitForFunction(() => localStorage['draft /edit/text/a']?.includes('more'))
  await page.close({ runBeforeUnload: false })
  const again = await page.context().newPage()
  await again.goto('/edit/text/a')
  const restored = partsOf(again)
  await restored.text.waitFor()
  await again.getByRole('button', { name: 'Use that text' }).click()
  assert.equal(await restored.text.innerText(), 'before, after [[Garden]] *more*')
  await again.keyboard.press('Control+z')
  assert.equal(await restored.value(), '', 'it can be undone')
})

test('pictures are dropped and pasted into CodeMirror, and its history has what the toolbar does', async (t) => {
  const { page } = await browser.open(t)
  await page.goto('/edit/text/a')
  const { text, value } = partsOf(page)
  await text.waitFor()
  for (const kind of ['drop', 'paste']) {
    await text.evaluate((content, { kind, bytes }) => {
      const data = new DataTransfer()
      data.items.add(new File([new Uint8Array(bytes)], `${kind}.png`, { type: 'image/png' }))
      content.dispatchEvent(kind === 'drop'
        ? new DragEvent('drop', { dataTransfer: data, cancelable: true })
        : new ClipboardEvent('paste', { clipboardData: data, cancelable: true }))
    }, { kind, bytes: [...png(8, 8)] })
    await page.getByText(`${kind}.png is uploaded`).waitFor()
    assert.match(await value(), /^!\[(drop|paste)\]\(\/files\/[0-9a-f]{32}\.png\)$/)
    await page.keyboard.press('Control+z')
    assert.equal(await value(), '')
  }
  for (const [button, written] of [['Bold', '**bold**'], ['Heading', '## '], ['List', '- ']]) {
    await page.getByRole('toolbar').getByRole('button', { name: button }).click()
    assert.equal(await value(), written)
    await page.keyboard.press('Control+z')
    assert.equal(await value(), '')
  }
  await page.getByRole('button', { name: 'Save' }).click()
  await page.locator('.status.bad').waitFor()
  assert.equal(await text.evaluate((each) => each === document.activeElement), true, 'the field that lacks a text')
})

test('on a Slovene phone a section is edited, searched and replaced in, without a trap for the keyboard', async (t) => {
  const { app, page } = await browser.open(t, { viewport: { width: 320, height: 844 } }, { WIKI_LANGUAGE: 'sl' })
  await write(app, 'a', `first\n\n## Two\n\nred, red ${HOSTILE}\n\n- red\n`)
  await page.clock.install()
  await page.goto('/edit/text/a?revision=1&section=1')
  const { text, value } = partsOf(page)
  await text.waitFor()
  assert.equal(await page.getByLabel('Besedilo razdelka v Markdownu').getAttribute('spellcheck'), 'true')
  assert.equal(await text.locator('[onerror]').count(), 0)
  const hint = page.locator(`#${await text.getAttribute('aria-describedby')}`)
  assert.match(await hint.innerText(), /prej pritisni Escape/)

  const inText = () => text.evaluate((each) => each === document.activeElement)
  await page.keyboard.press('Control+End')
  for (const back of ['Tab', 'Shift+Tab']) {
    await page.keyboard.press('Escape')
    await page.clock.fastForward(60_000)
    await page.keyboard.press(back)
    assert.equal(await inText(), false, `Escape, ${back} a minute later`)
    await text.focus()
    await page.keyboard.press('ArrowLeft')
  }
  await page.keyboard.press('Control+Home')
  await page.keyboard.press('Tab')
  assert.equal(await inText(), false, 'outside of a list Tab needs no Escape')

  await text.focus()
  await page.keyboard.press('Control+f')
  await page.getByLabel('Najdi').fill('red')
  await page.getByLabel('Zamenjaj', { exact: true }).fill('blue')
  assert.deepEqual(await page.locator('.cm-search button:visible, .cm-search label').allInnerTexts(),
    [
      'naslednje', 'prejšnje', 'razlikuj velike črke', 'regularni izraz', 'cele besede', 'zamenjaj', 'zamenjaj vse',
      '×'
    ])
  await page.locator('.cm-searchMatch').first().waitFor()
  await assertAccessible(page, 'find', { dark: true })
  await page.getByRole('button', { name: 'zamenjaj vse' }).click()
  assert.equal(await value(), `## Two\n\nblue, blue ${HOSTILE}\n\n- blue`)
  await page.keyboard.press('Escape')
  assert.equal(await inText(), true, 'Escape closes it')
  await page.getByRole('button', { name: 'Shrani' }).click()
  await page.waitForURL('/wiki/a*')
  assert.equal(await page.locator('article li').innerText(), 'blue')
  await page.goBack()
  await text.waitFor()
  assert.match(await text.innerText(), /blue, blue/, 'the form that the browser goes back to has the text')
})
