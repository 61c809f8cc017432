import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import test from 'node:test'
import { waitUntil } from '@stevec/harness/processes'
import { png } from '../images.js'
import { PASSWORD, peopleOnly } from '../people.js'
import { asksBeforeLeaving, assertAccessible, useBrowser, write } from './helper.js'

/** The promise is 1 s; the rest is for slow machines. */
const INDEXED_MAX_MS = 60_000

const browser = useBrowser()

const PICTURE = { name: 'My [picture].png', mimeType: 'image/png', buffer: png(8, 8) }
const MARKDOWN = /^start !\[My\s+picture\s*\]\(\/files\/[0-9a-f]{32}\.png\) end$/

for (const javaScriptEnabled of [true, false]) {
  test(`the full life cycle of a page works ${javaScriptEnabled ? 'with' : 'without'} JavaScript`, async (t) => {
    // With a lifetime, the browser shows its copy at the old name.
    const { page } = await browser.open(t, { javaScriptEnabled }, { CACHE_POLICY: 'revalidate' })
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
    await page.getByRole('heading', { name: /^Bring back revision 1/ }).waitFor()
    assert.equal(await page.locator('del').first().textContent(), 'second', 'what would change is shown before')
    await page.getByLabel('Why').fill('the first was better')
    await page.getByRole('button', { name: 'Bring back' }).click()
    await page.getByText('Saved as revision 3').waitFor()
    assert.equal(await page.locator('article em').textContent(), 'first')
    await page.getByRole('link', { name: 'History' }).click()
    await page.getByText('the first was better').waitFor()

    await page.getByText('More', { exact: true }).click()
    await page.getByRole('link', { name: 'Rename' }).click()
    await page.getByLabel('Its new name').fill('Kava')
    await page.getByRole('button', { name: 'Rename' }).click()
    await page.getByText('Saved as revision 4').waitFor()
    await page.goto('/wiki/Caf%C3%A9')
    assert.equal(await page.locator('h1').first().textContent(), 'Kava')

    assert.ok(await waitUntil(async () =>
      (await (await page.request.get('/api/v1/search?q=first')).json()).items.length === 1, INDEXED_MAX_MS))
    await page.getByRole('searchbox').fill('first')
    await page.getByRole('button', { name: 'Search' }).click()
    assert.equal(await page.locator('mark').textContent(), 'first')
    await page.goto('/tags/drinks')
    await page.getByRole('link', { name: 'Kava' }).click()

    await page.getByText('More', { exact: true }).click()
    await page.getByRole('link', { name: 'Delete' }).click()
    await page.getByRole('button', { name: 'Delete “Kava”' }).click()
    await page.getByText('This page is deleted').waitFor()
    await page.getByRole('button', { name: 'Bring back' }).first().click()
    await page.getByRole('heading', { name: /^Bring back revision/ }).waitFor()
    await page.getByRole('button', { name: 'Bring back' }).click()
    await page.getByText(/Saved as revision \d/).waitFor()
    assert.equal(await page.locator('article em').textContent(), 'first')
  })

  test(`two people edit at once ${javaScriptEnabled ? 'with' : 'without'} JavaScript: different lines are merged, ` +
    'the same lines are shown to be brought together', async (t) => {
    const { app, page, visit } = await browser.open(t, { javaScriptEnabled })
    await write(app, 'a', 'one\ntwo\nthree')
    const other = await visit()
    const edit = async (/** @type {import('playwright-core').Page} */ who, /** @type {string} */ content) => {
      await who.getByLabel('Text, in').fill(content)
      await who.getByRole('button', { name: 'Save' }).click()
    }
    for (const each of [page, other]) await each.goto('/edit/text/a')
    await edit(other, 'ONE\ntwo\nthree')
    await other.getByText('Saved as revision 2').waitFor()
    await edit(page, 'one\ntwo\nTHREE')
    await page.getByText('Saved as revision 3. It is merged with revision 2').waitFor()
    assert.match(await page.locator('article').innerText(), /ONE\s+two\s+THREE/)

    for (const each of [page, other]) await each.goto('/edit/text/a')
    await edit(other, 'ONE\n2\nTHREE')
    await other.getByText('Saved as revision 4').waitFor()
    await page.getByLabel('What you changed').fill('louder')
    await edit(page, 'ONE\nTWO\nTHREE')
    await page.getByText('Someone saved revision 4').waitFor()
    await page.getByRole('heading', { name: 'What revision 4 changed' }).waitFor()
    assert.equal(await page.getByLabel('What you changed').inputValue(), 'louder')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('The text still has marked lines').waitFor()
    const text = await page.getByLabel('Text, in').inputValue()
    assert.match(text, /^ONE\n<.*\nTWO\n=.*\n2\n>.*\nTHREE$/)
    await edit(page, text.replace(/\n<.*\nTWO\n=.*\n2\n>.*\n/, '\nTWO, 2\n'))
    await page.getByText('Saved as revision 5').waitFor()
    assert.match(await page.locator('article').innerText(), /ONE\s+TWO, 2\s+THREE/)
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
  await tabTo('Edit')
  await page.keyboard.press('Enter')
  await page.waitForURL('/edit/text/a')
  await page.waitForFunction(() => document.activeElement?.id === '_content')
  await page.keyboard.press('Control+A')
  await page.keyboard.type('typed / e h n ?')
  await tabTo('_tags')
  await tabTo('Save')
  await page.keyboard.press('Enter')
  await page.getByText('Saved as revision 2').waitFor()
  assert.equal(await page.locator('article').innerText(), 'typed / e h n ?')
})

test('the preview follows the text; Ctrl+S and Ctrl+Enter save', async (t) => {
  const { page } = await browser.open(t)
  await page.goto('/edit/text/a')
  await page.getByLabel('Text, in').pressSequentially('*one*')
  const button = page.getByRole('button', { name: 'Preview' })
  await button.click()
  await page.locator('.preview em', { hasText: 'one' }).waitFor()
  await page.getByLabel('Text, in').pressSequentially(' *two*')
  await page.locator('.preview em', { hasText: 'two' }).waitFor()
  await button.click()
  await page.locator('.preview').waitFor({ state: 'hidden' })
  await page.keyboard.press('Control+s')
  await page.getByText('Saved as revision 1').waitFor()
  assert.equal(await page.locator('article').innerText(), 'one two')
  await page.goto('/edit/text/a')
  await page.getByLabel('Text, in').pressSequentially('three ')
  await page.keyboard.press('Control+Enter')
  await page.getByText('Saved as revision 2').waitFor()
})

const PHONE = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true }
for (const [where, options, focused] of /** @type {const} */ ([
  ['a desktop', { viewport: { width: 1280, height: 800 } }, '_content'],
  ['a phone', PHONE, '']
])) {
  test(`in the editor on ${where}, Save is in sight without scrolling`, async (t) => {
    const { app, page } = await browser.open(t, options)
    await write(app, 'long', 'line\n'.repeat(500))
    for (const url of ['/edit/text/new', '/edit/text/long']) {
      await page.goto(url)
      const box = await page.getByRole('button', { name: 'Save' }).boundingBox()
      assert.ok(box && box.y + box.height <= options.viewport.height, `${url}: ${JSON.stringify(box)}`)
      assert.equal(await page.evaluate(() => document.activeElement?.id), focused)
    }
    await page.getByText('How to write Markdown').click()
    await assertAccessible(page, `the editor on ${where}`, { dark: true })
  })
}

test('the toolbar writes Markdown, and is one stop of the Tab key', async (t) => {
  const { page } = await browser.open(t)
  await page.goto('/edit/text/a')
  const text = page.getByLabel('Text, in')
  const select = (/** @type {number} */ from, /** @type {number} */ to) =>
    text.evaluate((/** @type {HTMLTextAreaElement} */ area, [from, to]) => area.setSelectionRange(from, to), [from, to])
  for (const [name, before, [from, to], after] of /** @type {[string, string, [number, number], string][]} */ ([
    ['Bold', 'some word here', [5, 10], 'some **word** here'],
    ['Italic', '', [0, 0], '*italic*'],
    ['Link', 'https://a.example/', [0, 18], '[words](https://a.example/)'],
    ['Heading', 'first\nsecond', [8, 8], 'first\n## second'],
    ['List', 'first\nsecond\nthird', [2, 8], '- first\n- second\nthird'],
    ['List', '- first\n- second', [0, 16], 'first\nsecond'],
    ['Code', 'let a', [0, 5], '`let a`'],
    ['Code', 'let a\nlet b\n', [0, 12], '```\nlet a\nlet b\n```\n'],
    ['Table', 'text', [4, 4], 'text\n\n| Column | Column |\n|--------|--------|\n| cell   | cell   |\n']
  ])) {
    await text.fill(before)
    await select(from, to)
    await page.getByRole('toolbar').getByRole('button', { name }).click()
    assert.equal(await text.inputValue(), after, name)
  }
  await text.fill('word')
  await select(0, 4)
  await page.keyboard.press('Control+b')
  assert.equal(await text.inputValue(), '**word**')
  await page.keyboard.press('Control+z')
  assert.equal(await text.inputValue(), 'word', 'the browser can undo it')

  await page.keyboard.press('Shift+Tab')
  const focused = () => page.evaluate(() => document.activeElement?.textContent)
  const start = await focused()
  await page.keyboard.press('Home')
  assert.equal(await focused(), 'Bold')
  await page.keyboard.press('ArrowLeft')
  assert.equal(await focused(), 'Table')
  await page.keyboard.press('Tab')
  assert.equal(await page.evaluate(() => document.activeElement?.id), '_content')
  assert.equal(start, 'Table', 'the last that was used')
})

test('behind [[ the names of pages are offered, by keyboard and mouse', async (t) => {
  const { app, page } = await browser.open(t)
  for (const name of ['Guide', 'Guide/Install', 'Garden', 'A [odd] name']) await write(app, name, 'text')
  await page.goto('/edit/text/new')
  const text = page.getByLabel('Text, in')
  const names = page.getByRole('listbox', { name: 'Pages' })
  await text.pressSequentially('see [[gui')
  // Those of the first letters may come before.
  await names.getByRole('option', { name: 'Garden' }).waitFor({ state: 'detached' })
  await names.getByRole('option', { name: 'Guide/Install' }).waitFor()
  assert.deepEqual(await names.getByRole('option').allInnerTexts(), ['Guide', 'Guide/Install'])
  await page.getByText('2 pages: choose with the arrow keys').waitFor()
  const active = () => text.getAttribute('aria-activedescendant')
  assert.equal(await page.locator(`#${await active()}`).innerText(), 'Guide')
  await assertAccessible(page, 'the offered names', { dark: true })
  await page.keyboard.press('ArrowDown')
  assert.equal(await page.locator(`#${await active()}`).getAttribute('aria-selected'), 'true')
  await page.keyboard.press('Enter')
  assert.equal(await text.inputValue(), 'see [[Guide/Install]]')
  assert.equal(await names.isVisible(), false)

  await page.keyboard.type(' and [[Gar')
  await names.getByRole('option', { name: 'Garden' }).click()
  assert.equal(await text.inputValue(), 'see [[Guide/Install]] and [[Garden]]')
  await page.keyboard.type(' or [[G')
  await names.getByRole('option', { name: 'Garden' }).waitFor()
  await page.keyboard.press('Escape')
  assert.equal(await names.isVisible(), false)
  const found = page.waitForResponse((answer) => answer.url().includes('q=odd'))
  await page.keyboard.type('\n[[odd')
  assert.match(await (await found).text(), /A \[odd\] name/)
  await page.keyboard.press('Enter')
  assert.match(await text.inputValue(), /or \[\[G\n\[\[odd\n$/, 'no name is offered that brackets cannot hold')

  await text.fill('')
  await page.keyboard.type('[[g')
  await names.getByRole('option', { name: 'Garden' }).waitFor()
  await page.route('**/api/v1/pages?q=gu*', (route) => route.abort())
  await page.keyboard.type('u')
  assert.equal(await active(), null, 'none is marked that was found for what was written before')
  await page.keyboard.press('Enter')
  assert.equal(await text.inputValue(), '[[gu\n')

  await text.fill('')
  await page.getByRole('button', { name: 'Link' }).click()
  await names.getByRole('option', { name: 'Garden' }).waitFor()
  await page.keyboard.press('Escape')
  assert.equal(await text.inputValue(), '[[]]')
})

test('an author’s name is known to the browser afterwards, in all forms', async (t) => {
  const { app, page, visit } = await browser.open(t)
  await page.goto('/edit/text/a')
  await page.getByLabel('Text, in').fill('text')
  await page.getByLabel('Your name').fill('Ana')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('Saved as revision 1').waitFor()
  await write(app, 'a', 'other')
  const forms = ['/edit/text/b', '/edit/rename/a', '/edit/delete/a', '/edit/revert/a?revision=1', '/files',
    '/edit/import']
  for (const url of forms) {
    await page.goto(url)
    assert.equal(await page.getByLabel('Your name').inputValue(), 'Ana', url)
  }
  await page.goto('/edit/text/b')
  await page.getByLabel('Text, in').fill('text')
  await page.getByLabel('Your name').fill('')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('Saved as revision 1').waitFor()
  await page.goto('/edit/text/b')
  assert.equal(await page.getByLabel('Your name').inputValue(), '', 'a name that was removed is not remembered')
  const other = await visit()
  await other.goto('/edit/text/b')
  assert.equal(await other.getByLabel('Your name').inputValue(), '')
})

for (const javaScriptEnabled of [true, false]) {
  test(`a session that ends while somebody writes loses nothing ${javaScriptEnabled ? 'with' : 'without'} JavaScript`,
    async (t) => {
      const { page } = await browser.open(t, { javaScriptEnabled }, peopleOnly(t))
      const signIn = async (/** @type {import('playwright-core').Page} */ tab) => {
        await tab.getByLabel('Your name').fill('editor')
        await tab.getByLabel('Your password').fill(PASSWORD)
        const answered = tab.waitForResponse((answer) => answer.request().method() === 'POST')
        await tab.getByRole('button', { name: 'Sign in' }).click()
        assert.ok((await answered).status() < 400)
      }
      await page.goto('/edit/text/a')
      await signIn(page)
      await page.goto('/edit/text/a')
      await page.getByLabel('Text, in').fill('long\nwork & <more>')
      await page.getByLabel('What you changed').fill('all of it')
      await page.context().clearCookies()
      await page.getByRole('button', { name: 'Save' }).click()
      await page.getByText('Nothing is lost').waitFor()
      if (javaScriptEnabled) await assertAccessible(page, 'the form to send again', { dark: true })
      await page.getByRole('button', { name: 'Send again' }).click()
      await page.getByText('Nothing is lost').waitFor()
      const opened = page.waitForEvent('popup')
      await page.getByRole('main').getByRole('link', { name: 'Sign in' }).click()
      await signIn(await opened)
      await page.getByRole('button', { name: 'Send again' }).click()
      await page.getByText('Saved as revision 1').waitFor()
      assert.equal(await page.locator('article').innerText(), 'long work & <more>')
      await page.goto('/history/a')
      await page.getByText('all of it').waitFor()
    })
}

test('a failed preview says why, and the text stays in the editor', async (t) => {
  const { page } = await browser.open(t, {}, { PAGE_MAX_BYTES: '1000' })
  await page.goto('/edit/text/a')
  await page.getByLabel('Text, in').fill('x'.repeat(1_001))
  await page.getByRole('button', { name: 'Preview' }).click()
  await page.getByText('No preview: The text is longer than 1000 bytes').waitFor()
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
  await page.waitForFunction(() => Object.keys(localStorage).some((key) => key.startsWith('draft ')))
  await page.close({ runBeforeUnload: false })

  const again = await page.context().newPage()
  await again.goto('/edit/text/b')
  assert.equal(await again.getByText('A text that you did not save').count(), 0, 'the draft is of another page')
  await write(app, 'a', 'someone else’s')
  await again.goto('/edit/text/a')
  await again.getByRole('button', { name: 'Use that text' }).click()
  assert.equal(await again.getByLabel('Text, in').inputValue(), 'draft')
  await again.getByRole('button', { name: 'Save' }).click()
  await again.getByText('Someone saved revision 2').waitFor()
  await again.getByLabel('Text, in').fill('draft, and someone else’s')
  await again.getByRole('button', { name: 'Save' }).click()
  await again.getByText('Saved as revision 3').waitFor()
  await again.waitForFunction(() => !Object.keys(localStorage).some((key) => key.startsWith('draft ')))
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
      await page.getByRole('button', { name: 'Picture' }).click()
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

  await transfer('drop', [...PICTURE.buffer.subarray(0, 40)])
  await page.getByText('was not uploaded. This PNG is damaged').waitFor()
  await page.goto('/files')
  assert.equal(await page.locator('.files img').count(), 1)
  assert.equal(await page.locator('.files img').evaluate(
    (/** @type {HTMLImageElement} */ image) => image.decode().then(() => image.naturalWidth)
  ), 8)
})

test('a PDF dropped into the text becomes a link, at which the browser downloads it under its name', async (t) => {
  const { page } = await browser.open(t)
  const bytes = [...Buffer.from('%PDF-1.7\n%âãÏÓ\n<script>document.title = "run"</script>')]
  const name = 'Poročilo [1] 2026.pdf'
  await page.goto('/edit/text/a')
  const text = page.getByLabel('Text, in')
  await text.evaluate((area, { name, bytes }) => {
    const data = new DataTransfer()
    data.items.add(new File([new Uint8Array(bytes)], name, { type: 'application/pdf' }))
    area.dispatchEvent(new DragEvent('drop', { dataTransfer: data, cancelable: true }))
  }, { name, bytes })
  await page.getByText('is uploaded; its line is in the text').waitFor()
  assert.match(await text.inputValue(),
    /^\[Poročilo \\\[1\\\] 2026\.pdf\]\(\/files\/[0-9a-f]{32}\/[\w.%]+\) \(\d+ bytes\)$/)
  const chooser = page.waitForEvent('filechooser')
  await page.getByRole('button', { name: 'File' }).click()
  await (await chooser).setFiles({ name: 'a.html', mimeType: 'text/html', buffer: Buffer.from('<b>x') })
  await page.getByText('a.html is uploaded').waitFor()
  await page.getByRole('button', { name: 'Save' }).click()
  for (const [linked, content] of /** @type {[string, Buffer][]} */ ([
    [name, Buffer.from(bytes)], ['a.html', Buffer.from('<b>x')]
  ])) {
    const downloading = page.waitForEvent('download')
    await page.getByRole('link', { name: linked }).click()
    const download = await downloading
    assert.equal(download.suggestedFilename(), linked)
    assert.ok(readFileSync(await download.path()).equals(content))
    assert.match(page.url(), /\/wiki\/a/, 'the page stays')
  }
})

test('a file that is no picture can be uploaded without JavaScript, too', async (t) => {
  const { page } = await browser.open(t, { javaScriptEnabled: false })
  await page.goto('/files')
  await page.getByLabel('File:').setInputFiles({ name: 'č.csv', mimeType: 'text/csv', buffer: Buffer.from('a,b') })
  await page.getByRole('button', { name: 'Upload' }).click()
  const line = await page.locator('code').innerText()
  assert.match(line, /^\[č\.csv\]\(\/files\/[0-9a-f]{32}\/%C4%8D\.csv\) \(3 bytes\)$/)
  const downloading = page.waitForEvent('download')
  await page.getByRole('link', { name: 'č.csv', exact: true }).click()
  assert.equal((await downloading).suggestedFilename(), 'č.csv')
})

test('a picture can be uploaded without JavaScript, too', async (t) => {
  const { page } = await browser.open(t, { javaScriptEnabled: false })
  await page.goto('/files')
  await page.getByLabel('Your name').fill('Ana')
  await page.getByLabel('File:').setInputFiles(PICTURE)
  await page.getByRole('button', { name: 'Upload' }).click()
  assert.match(await page.locator('code').innerText(), /^!\[\]\(\/files\/[0-9a-f]{32}\.png\)$/)
  await page.getByText('by Ana').waitFor()
})

for (const javaScriptEnabled of [true, false]) {
  test(`a section is edited from its heading ${javaScriptEnabled ? 'with' : 'without'} JavaScript, by mouse, ` +
    'finger and ' +
    'keyboard, while another one changes', async (t) => {
    const { app, page, visit } = await browser.open(t, { javaScriptEnabled }, { CACHE_POLICY: 'revalidate' })
    const long = 'A long heading, which takes more than one line on the screen of a phone'
    await write(app, 'a', `# ${long}\n\none\n\n${'text\n\n'.repeat(60)}## Tea & <b>\n\ntwo\n`)
    await page.goto('/wiki/a')
    const edit = page.getByRole('button', { name: 'Edit section “Tea & <b>”' })
    const opacity = (/** @type {import('playwright-core').Locator} */ button) =>
      button.evaluate((each) => getComputedStyle(each).opacity)
    assert.equal(await opacity(edit), '0', 'quiet until it is looked for')
    await page.getByRole('heading', { name: 'Tea' }).hover()
    assert.equal(await opacity(edit), '1')
    await page.mouse.move(0, 0)
    await edit.focus()
    assert.equal(await opacity(edit), '1')
    await page.keyboard.press('Enter')
    await page.waitForURL(/\/edit\/text\/a\?revision=1&section=2$/)
    assert.equal(await page.getByLabel('Text of the section').inputValue(), '## Tea & <b>\n\ntwo')
    assert.equal(await page.getByLabel('What you changed').inputValue(), 'Section “Tea & <b>”')

    const phone = await visit({ viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true })
    await phone.goto('/wiki/a')
    const other = phone.getByRole('button', { name: 'Edit section “A long' })
    assert.equal(await opacity(other), '1', 'a finger cannot hover')
    const [text, button] = await Promise.all([
      phone.getByRole('heading', { name: 'A long' }).evaluate((heading) => {
        const range = document.createRange()
        range.selectNodeContents(heading)
        return [...range.getClientRects()].map(({ right, bottom }) => ({ right, bottom }))
      }),
      other.boundingBox()
    ])
    assert.ok(text.length > 1 && button !== null && button.height >= 24)
    assert.ok(text.every(({ right }) => right <= button.x), 'no word is below the button')
    await other.tap()
    await phone.getByRole('link', { name: 'Edit the whole page' }).waitFor()
    const typed = await phone.getByLabel('Text of the section').inputValue()
    await phone.getByLabel('Text of the section').fill(typed.replace('one', 'ONE'))
    await phone.getByRole('button', { name: 'Save' }).click()
    await phone.getByText('Saved as revision 2').waitFor()

    await page.getByLabel('Text of the section').fill('## Tea\n\n*TWO*')
    await page.getByRole('button', { name: 'Preview' }).click()
    await page.locator('article em').waitFor()
    assert.equal(await page.locator('article').getByRole('button').count(), 0, 'there is nothing to edit in a preview')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Saved as revision 3. It is merged with revision 2').waitFor()
    assert.match(page.url(), /#tea$/)
    const isSeen = () => page.getByRole('heading', { name: 'Tea' }).evaluate((heading) =>
      heading.getBoundingClientRect().top < window.innerHeight)
    assert.ok(await waitUntil(isSeen, 60_000), 'the author comes back to the heading')
    assert.match(await page.locator('article').innerText(), /ONE[^]*TWO/)
    await page.emulateMedia({ media: 'print' })
    assert.equal(await page.locator('article').getByRole('button').count(), 0)
  })
}

test('a draft of a section is offered to that section, with its revision, and not to the whole text', async (t) => {
  const { app, page } = await browser.open(t)
  await write(app, 'a', '# one\n\n1\n\n# two\n\n2\n')
  await page.goto('/edit/text/a?revision=1&section=2')
  await page.getByLabel('Text of the section').fill('# two\n\ntyped')
  assert.equal(await asksBeforeLeaving(page), true)
  await write(app, 'a', '# one\n\nchanged\n\n# two\n\n2\n')
  for (const url of ['/edit/text/a', '/edit/text/a?revision=2&section=1']) {
    await page.goto(url)
    await page.getByRole('button', { name: 'Save' }).waitFor()
    assert.equal(await page.getByText('A text that you did not save').count(), 0)
  }
  await page.goto('/edit/text/a?revision=2&section=2')
  await page.getByRole('button', { name: 'Use that text' }).click()
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('Saved as revision 3. It is merged with revision 2').waitFor()
  assert.match(await page.locator('article').innerText(), /changed[^]*typed/)

  await page.goto('/edit/text/a?revision=3&section=2')
  assert.equal(await page.getByText('A text that you did not save').count(), 0, 'what is saved is no draft')
  await page.getByLabel('Text of the section').fill('# two\n\nmine')
  await write(app, 'a', '# one\n\nchanged\n\n# two\n\ntheirs\n')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByRole('alert').waitFor()
  await page.getByLabel('Text, in').fill('# one\n\nboth')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('Saved as revision 5').waitFor()
  assert.deepEqual(await page.evaluate(() => Object.keys(localStorage).filter((key) => key.startsWith('draft '))), [])
})
