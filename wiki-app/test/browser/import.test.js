import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import test from 'node:test'
import { png } from '../images.js'
import { assertAccessible, useBrowser } from './helper.js'

const browser = useBrowser()

test('a newcomer finds the import, chooses a folder and reads the report, without JavaScript', async (t) => {
  const { page } = await browser.open(t, { javaScriptEnabled: false })
  const folder = mkdtempSync(path.join(tmpdir(), 'stevec-docs-'))
  t.after(() => rmSync(folder, { recursive: true }))
  mkdirSync(path.join(folder, 'docs/img'), { recursive: true })
  writeFileSync(path.join(folder, 'docs/README.md'),
    '# The bees\n\n[How they fly](How%20they%20fly.md) ![A bee](img/bee.png)')
  writeFileSync(path.join(folder, 'docs/How they fly.md'), 'High. [Back](README.md)')
  writeFileSync(path.join(folder, 'docs/img/bee.png'), png(20, 20))

  await page.goto('/pages')
  await page.getByRole('link', { name: 'Import', exact: true }).click()
  await page.getByLabel('Or a folder').setInputFiles(path.join(folder, 'docs'))
  await page.getByRole('button', { name: 'Import', exact: true }).click()
  assert.match(await page.getByRole('status').innerText(), /2 pages made, 1 picture stored\./)

  await page.getByRole('link', { name: 'docs', exact: true }).click()
  await page.getByRole('img', { name: 'A bee' }).waitFor()
  await page.getByRole('link', { name: 'How they fly', exact: true }).first().click()
  await page.getByRole('heading', { name: 'docs/How they fly' }).waitFor()
})

test('the import’s form and report are accessible, in both colours and on a phone', async (t) => {
  const { page } = await browser.open(t, { viewport: { width: 390, height: 844 } })
  await page.goto('/edit/import')
  await assertAccessible(page, 'the form', { dark: true })
  await page.getByLabel('A zip file').setInputFiles([])
  await page.getByLabel('Or a folder').evaluate((input) => {
    input.removeAttribute('webkitdirectory')
  })
  const long = 'x'.repeat(150)
  await page.getByLabel('Or a folder').setInputFiles([
    { name: `${long}.md`, mimeType: 'text/markdown', buffer: Buffer.from(`[gone](${long}/${long}.md)`) },
    { name: `${long}.txt`, mimeType: 'text/plain', buffer: Buffer.from('x') }
  ])
  await page.getByRole('button', { name: 'Import', exact: true }).click()
  await page.getByRole('status').waitFor()
  await assertAccessible(page, 'the report', { dark: true })
})
