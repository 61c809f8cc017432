import assert from 'node:assert/strict'
import test from 'node:test'
import { assertAccessible, useBrowser, write } from './helper.js'

const browser = useBrowser()

for (const javaScriptEnabled of [true, false]) {
  test(`people talk about a page ${javaScriptEnabled ? 'with' : 'without'} JavaScript`, async (t) => {
    const { app, page, visit } = await browser.open(t, { javaScriptEnabled }, { CACHE_POLICY: 'revalidate' })
    await write(app, 'Tea', 'text')
    await page.goto('/wiki/Tea')
    await page.getByRole('link', { name: 'Talk', exact: true }).click()
    await page.getByText('Nothing is written yet about').waitFor()
    await page.getByRole('link', { name: 'Add a topic' }).click()
    await page.getByLabel('Topic').fill('Green & black')
    await page.getByLabel('Text, in').fill('Which *one*?')
    await page.getByLabel('Your name').fill('Ana')
    await page.getByRole('button', { name: 'Add' }).click()
    await page.getByText('Saved as revision 1').waitFor()
    assert.match(page.url(), /#green-black$/)

    const phone = await visit({ viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true })
    await phone.goto('/wiki/Talk:Tea')
    const boxes = await Promise.all(['Edit section', 'Reply to'].map((name) =>
      phone.getByRole('button', { name: `${name} “Green & black”` }).boundingBox()))
    const [edit, reply] = boxes.map((box) => box ?? assert.fail('both buttons are there'))
    assert.ok(reply.x + reply.width <= edit.x, 'beside each other')
    for (const { width, height } of [edit, reply]) assert.ok(width >= 44 && height >= 44, `${width} × ${height}`)
    await phone.getByRole('button', { name: 'Reply to' }).focus()
    await phone.keyboard.press('Tab')
    assert.equal(await phone.evaluate(() => document.activeElement?.textContent), 'Edit', 'in the order that is seen')
    await phone.getByRole('button', { name: 'Reply to' }).tap()
    await phone.getByLabel('Your reply').fill('Both.')
    await page.getByRole('link', { name: 'Add a topic' }).click()
    await page.getByLabel('Topic').fill('Another')
    await page.getByLabel('Text, in').fill('more')
    await page.getByRole('button', { name: 'Add' }).click()
    await page.getByText('Saved as revision 2').waitFor()
    await phone.getByRole('button', { name: 'Reply', exact: true }).click()
    await phone.getByText('Saved as revision 3').waitFor()
    assert.match(await phone.locator('article').innerText(),
      /Green & black[^]*Which one\?[^]*Ana[^]*Both\.[^]*without a name[^]*Another[^]*more/)
    await phone.getByRole('link', { name: 'Its page' }).click()
    assert.equal(await phone.locator('h1').first().textContent(), 'Tea')
  })
}

test('a topic that is refused comes back with what was typed, and is accessible', async (t) => {
  const { page } = await browser.open(t, {}, { PAGE_MAX_BYTES: '1000' })
  await page.goto('/edit/topic/Talk:a')
  await page.getByLabel('Topic').fill('long')
  await page.getByLabel('Text, in').fill('x'.repeat(1_500))
  await page.getByRole('button', { name: 'Add' }).click()
  await page.getByRole('alert').waitFor()
  await assertAccessible(page, 'a topic that is refused', { dark: true })
  assert.equal(await page.getByLabel('Text, in').inputValue(), 'x'.repeat(1_500))
  assert.equal(await page.getByLabel('Topic').inputValue(), 'long')
})
