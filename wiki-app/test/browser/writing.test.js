import assert from 'node:assert/strict'
import test from 'node:test'
import { png } from '../images.js'
import { asksBeforeLeaving, useBrowser, write } from './helper.js'

const browser = useBrowser()

const PICTURE = { name: 'My [picture].png', mimeType: 'image/png', buffer: png(8, 8) }
const MARKDOWN = /^start !\[My\s+picture\s*\]\(\/files\/[0-9a-f]{32}\.png\) end$/

for (const javaScriptEnabled of [true, false]) {
  test(`the full life cycle of a page works ${javaScriptEnabled ? 'with' : 'without'} JavaScript`, async (t) => {
    const { page } = await browser.open(t, { javaScriptEnabled })
    await page.goto('/')
    await page.getByRole('link', { name: 'New page' }).click()
    await page.getByLabel('Name of the new page').fill('Café')
    await page.getByRole('button', { name: 'Write it' }).click()
    await page.getByLabel('Text, in').fill('# One\n\n*first* [none](/wiki/none)\n\n| a |\n|---|\n| b |')
    await page.getByLabel('Tags').fill('drinks')
    await page.getByRole('button', { name: 'Preview' }).click()
    await page.locator('article em').waitFor()
    const previewed = await page.locator('article').innerHTML()
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Saved as revision 1').waitFor()
    assert.equal(await page.locator('article').innerHTML(), previewed)

    await page.getByRole('link', { name: 'Edit this page' }).click()
    await page.getByLabel('Text, in').fill('second')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Saved as revision 2').waitFor()

    await page.getByRole('link', { name: 'History' }).click()
    await page.getByRole('link', { name: 'difference' }).click()
    assert.equal(await page.locator('ins').first().textContent(), 'second')
    await page.getByRole('link', { name: 'History' }).click()
    await page.getByRole('button', { name: 'Bring back' }).click()
    await page.getByText('Saved as revision 3').waitFor()
    assert.equal(await page.locator('article em').textContent(), 'first')

    await page.getByRole('link', { name: 'Edit this page' }).click()
    await page.getByText('Rename this page').click()
    await page.getByLabel('Its new name').fill('Kava')
    await page.getByRole('button', { name: 'Rename' }).click()
    await page.getByText('Saved as revision 4').waitFor()
    await page.goto('/wiki/Caf%C3%A9')
    assert.equal(await page.locator('h1').first().textContent(), 'Kava')

    await page.getByRole('searchbox').fill('first')
    await page.getByRole('button', { name: 'Search' }).click()
    assert.equal(await page.locator('mark').textContent(), 'first')
    await page.goto('/tags/drinks')
    await page.getByRole('link', { name: 'Kava' }).click()

    await page.getByRole('link', { name: 'Edit this page' }).click()
    await page.getByText('Delete this page').click()
    await page.getByRole('button', { name: 'Delete “Kava”' }).click()
    await page.getByText('The page is deleted').waitFor()
    await page.getByRole('button', { name: 'Bring back' }).first().click()
    await page.getByText(/Saved as revision \d/).waitFor()
    assert.equal(await page.locator('article em').textContent(), 'first')
  })

  test(`an edit conflict of two people is merged ${javaScriptEnabled ? 'with' : 'without'} JavaScript`, async (t) => {
    const { app, page, visit } = await browser.open(t, { javaScriptEnabled })
    await write(app, 'a', 'one\ntwo\nthree')
    const other = await visit()
    for (const each of [page, other]) await each.goto('/edit/text/a')
    await other.getByLabel('Text, in').fill('ONE\ntwo\nthree')
    await other.getByRole('button', { name: 'Save' }).click()
    await other.getByText('Saved as revision 2').waitFor()

    await page.getByLabel('Text, in').fill('one\ntwo\nTHREE')
    await page.getByLabel('What you changed').fill('louder')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Someone saved revision 2').waitFor()
    assert.equal(await page.getByLabel('The newest text').inputValue(), 'ONE\ntwo\nthree')
    assert.equal(await page.getByLabel('Text, in').inputValue(), 'one\ntwo\nTHREE')
    assert.equal(await page.getByLabel('What you changed').inputValue(), 'louder')
    await page.getByLabel('Text, in').fill('ONE\ntwo\nTHREE')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Saved as revision 3').waitFor()
    assert.match(await page.locator('article').innerText(), /ONE\s+two\s+THREE/)
  })
}

test('a page can be edited with the keyboard alone', async (t) => {
  const { app, page } = await browser.open(t)
  await write(app, 'a', 'text')
  await page.goto('/wiki/a')
  await page.keyboard.press('Tab')
  assert.equal(await page.evaluate(() => document.activeElement?.textContent), 'Skip to the content')
  await page.keyboard.press('Enter')
  assert.equal(await page.evaluate(() => document.activeElement?.id), '_main')
  const focused = () => page.evaluate(() => document.activeElement?.textContent?.trim() || document.activeElement?.id)
  const tabTo = async (/** @type {string} */ what) => {
    for (let steps = 0; steps < 30 && await focused() !== what; steps++) await page.keyboard.press('Tab')
    assert.equal(await focused(), what)
  }
  await tabTo('Edit this page')
  await page.keyboard.press('Enter')
  await page.waitForURL('/edit/text/a')
  for (let steps = 0; steps < 30 && await page.evaluate(() => document.activeElement?.id) !== '_content'; steps++) {
    await page.keyboard.press('Tab')
  }
  await page.keyboard.press('Control+A')
  await page.keyboard.type('typed / e h n ?')
  await tabTo('_tags')
  await tabTo('Save')
  await page.keyboard.press('Enter')
  await page.getByText('Saved as revision 2').waitFor()
  assert.equal(await page.locator('article').innerText(), 'typed / e h n ?')
})

test('Ctrl+Enter opens and closes the live preview, and Ctrl+S saves', async (t) => {
  const { page } = await browser.open(t)
  await page.goto('/edit/text/a')
  await page.getByLabel('Text, in').pressSequentially('*one*')
  await page.keyboard.press('Control+Enter')
  await page.locator('.preview em', { hasText: 'one' }).waitFor()
  await page.keyboard.type(' *two*')
  await page.locator('.preview em', { hasText: 'two' }).waitFor()
  await page.keyboard.press('Control+Enter')
  await page.locator('.preview').waitFor({ state: 'hidden' })
  await page.keyboard.press('Control+s')
  await page.getByText('Saved as revision 1').waitFor()
  assert.equal(await page.locator('article').innerText(), 'one two')
})

test('a failed preview says why, and the text stays in the editor', async (t) => {
  const { page } = await browser.open(t, {}, { PAGE_MAX_BYTES: '1000' })
  await page.goto('/edit/text/a')
  await page.getByLabel('Text, in').fill('x'.repeat(1_001))
  await page.getByRole('button', { name: 'Preview' }).click()
  await page.getByText('No preview: The page would have 1001 bytes').waitFor()
  await page.getByLabel('Text, in').fill('short')
  await page.locator('.preview', { hasText: 'short' }).waitFor()
  await page.context().setOffline(true)
  await page.getByLabel('Text, in').fill('shorter')
  await page.getByText('the wiki cannot be reached. Your text is still here.').waitFor()
  assert.equal(await page.getByLabel('Text, in').inputValue(), 'shorter')
})

test('leaving the editor asks for confirmation only if there are unsaved changes', async (t) => {
  const { app, page } = await browser.open(t)
  await write(app, 'a', 'text')
  await page.goto('/edit/text/a')
  const text = page.getByLabel('Text, in')
  await text.pressSequentially('x')
  await text.press('Backspace')
  assert.equal(await asksBeforeLeaving(page), false, 'the text is the same again')
  await page.goto('/edit/text/a')
  await text.pressSequentially('more ')
  assert.equal(await asksBeforeLeaving(page), true)
})

test('a draft survives a crash, is offered only on its own page, and is deleted after the save', async (t) => {
  const { app, page } = await browser.open(t)
  await write(app, 'a', 'text')
  await page.goto('/edit/text/a')
  await page.getByLabel('Text, in').fill('draft')
  await page.waitForFunction(() => Object.keys(localStorage).length > 0)
  await page.close({ runBeforeUnload: false })

  const again = await page.context().newPage()
  await again.goto('/edit/text/b')
  assert.equal(await again.getByText('A text that you did not save').count(), 0, 'the draft is of another page')
  await write(app, 'a', 'someone else’s')
  await again.goto('/edit/text/a')
  await again.getByRole('button', { name: 'Take it back' }).click()
  assert.equal(await again.getByLabel('Text, in').inputValue(), 'draft')
  await again.getByRole('button', { name: 'Save' }).click()
  await again.getByText('Someone saved revision 2').waitFor()
  await again.getByRole('button', { name: 'Save' }).click()
  await again.getByText('Saved as revision 3').waitFor()
  await again.waitForFunction(() => Object.keys(localStorage).length === 0)
  await again.goto('/edit/text/a')
  assert.equal(await again.getByText('A text that you did not save').count(), 0)
})

test('a picture can be uploaded by button, drop and paste, and is inserted at the cursor', async (t) => {
  const { page } = await browser.open(t)
  const text = page.getByLabel('Text, in')
  const between = async () => {
    await page.goto('/edit/text/a')
    await text.fill('start  end')
    await text.evaluate((/** @type {HTMLTextAreaElement} */ area) => area.setSelectionRange(6, 6))
  }
  const transfer = (
    /** @type {'drop' | 'paste'} */ kind,
    /** @type {number[]} */ bytes
  ) => text.evaluate((area, { kind, bytes }) => {
    const data = new DataTransfer()
    data.items.add(new File([new Uint8Array(bytes)], 'My [picture].png', { type: 'image/png' }))
    area.dispatchEvent(kind === 'drop'
      ? new DragEvent('drop', { dataTransfer: data, cancelable: true })
      : new ClipboardEvent('paste', { clipboardData: data, cancelable: true }))
  }, { kind, bytes })
  page.on('dialog', (dialog) => dialog.accept().catch(() => {}))

  for (const way of [
    async () => {
      const chooser = page.waitForEvent('filechooser')
      await page.getByRole('button', { name: 'Upload a picture' }).click()
      await (await chooser).setFiles(PICTURE)
    },
    () => transfer('drop', [...PICTURE.buffer]),
    () => transfer('paste', [...PICTURE.buffer])
  ]) {
    await between()
    await way()
    await page.getByText('is uploaded; its line is in the text').waitFor()
    assert.match(await text.inputValue(), MARKDOWN)
  }

  await transfer('drop', [...Buffer.from('<svg/>')])
  await page.getByText('was not uploaded. This is no picture that the wiki takes: PNG, JPEG, WebP or GIF').waitFor()
  await page.goto('/files')
  assert.equal(await page.locator('.files img').count(), 1)
  assert.equal(await page.locator('.files img').evaluate(
    (/** @type {HTMLImageElement} */ image) => image.decode().then(() => image.naturalWidth)
  ), 8)
})

test('a picture can be uploaded without JavaScript, too', async (t) => {
  const { page } = await browser.open(t, { javaScriptEnabled: false })
  await page.goto('/files')
  await page.getByLabel('Your name').fill('Ana')
  await page.getByLabel('Picture:').setInputFiles(PICTURE)
  await page.getByRole('button', { name: 'Upload' }).click()
  assert.match(await page.locator('code').innerText(), /^!\[\]\(\/files\/[0-9a-f]{32}\.png\)$/)
  await page.getByText('by Ana').waitFor()
})
