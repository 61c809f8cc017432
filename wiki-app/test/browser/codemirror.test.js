import assert from 'node:assert/strict'
import test from 'node:test'
import { assertAccessible, useBrowser, write } from './helper.js'

const browser = useBrowser({ plainField: false })

test('CodeMirror takes the place of the textarea, which stays the form’s field', async (t) => {
  const { app, page } = await browser.open(t)
  await write(app, 'a', '# Title\n\n- **one**')
  await page.goto('/edit/text/a')
  const text = page.locator('.cm-content')
  const value = () => page.locator('[name=content]').inputValue()
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
