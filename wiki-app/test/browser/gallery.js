import assert from 'node:assert/strict'
import { mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import path from 'node:path'

const TOTAL_MAX_BYTES = 2 * 1024 ** 2
/** From 0 to 1. */
const QUALITY = 0.8
const DEVICES = /** @type {const} */ ({
  desktop: { width: 1280, height: 800, shown: 400 },
  phone: { width: 390, height: 844, shown: 150 }
})
const SCHEMES = /** @type {const} */ (['light', 'dark'])

/** @typedef {import('playwright-core').Page} Page */

/**
 * Takes the pictures of a gallery into a folder, and writes the page that shows them. Without a folder it does nothing.
 * @param {string | undefined} directory  its pictures are replaced
 * @param {{title: string, introduction: string, visit: () => Promise<Page>}} options  `visit` opens a browser's page
 */
export async function openGallery (directory, { title, introduction, visit }) {
  if (!directory) return { take: async () => {}, close: async () => {} }
  mkdirSync(directory, { recursive: true })
  for (const file of picturesIn(directory)) rmSync(path.join(directory, file))
  const converter = await visit()
  const sections = [`# ${title}\n\n${introduction}\n`]
  return {
    /**
     * @param {Page} page
     * @param {string} heading
     * @param {string} caption
     */
    async take (page, heading, caption) {
      const number = String(sections.length).padStart(2, '0')
      const name = `${number}-${heading.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-')}`
      const pictures = []
      for (const [device, { width, height, shown }] of Object.entries(DEVICES)) {
        await page.setViewportSize({ width, height })
        for (const colorScheme of SCHEMES) {
          await page.emulateMedia({ colorScheme })
          await page.evaluate(showSameTimes)
          const png = await page.screenshot({ animations: 'disabled', caret: 'hide' })
          const file = `${name}-${device}-${colorScheme}.webp`
          writeFileSync(path.join(directory, file), await toWebp(converter, png))
          pictures.push(`<img src="${file}" width="${shown}" alt="${heading}, ${device}, ${colorScheme}">`)
        }
      }
      await page.setViewportSize(DEVICES.desktop)
      await page.emulateMedia({ colorScheme: null })
      sections.push(`## ${sections.length}. ${heading}\n\n${caption}\n\n${pictures.join('\n')}\n`)
    },
    async close () {
      writeFileSync(path.join(directory, 'README.md'), sections.join('\n'))
      const sizes = picturesIn(directory).map((file) => statSync(path.join(directory, file)).size)
      const bytes = sizes.reduce((sum, size) => sum + size, 0)
      assert.ok(bytes <= TOTAL_MAX_BYTES, `the pictures have ${bytes} bytes, more than ${TOTAL_MAX_BYTES}`)
    }
  }
}

/** @param {string} directory */
const picturesIn = (directory) => readdirSync(directory).filter((file) => file.endsWith('.webp'))

/** Runs in the browser: two galleries of the same wiki are the same, whenever they are made. */
function showSameTimes () {
  window.scrollTo(0, 0)
  for (const time of document.querySelectorAll('time')) time.textContent = 'this minute'
  const texts = document.createTreeWalker(document.body, window.NodeFilter.SHOW_TEXT)
  for (let node = texts.nextNode(); node !== null; node = texts.nextNode()) {
    const text = node.nodeValue ?? ''
    const same = text.replace(/\d{4}-\d\d-\d\d \d\d:\d\d/g, '2026-12-01 12:00')
    if (same !== text) node.nodeValue = same
  }
}

/**
 * @param {Page} page  of any browser that writes WebP
 * @param {Buffer} png
 * @returns {Promise<Buffer>} a third as large
 */
async function toWebp (page, png) {
  const base64 = await page.evaluate(async ({ source, quality }) => {
    const image = Object.assign(document.createElement('img'), { src: `data:image/png;base64,${source}` })
    await image.decode()
    const canvas = Object.assign(document.createElement('canvas'), { width: image.width, height: image.height })
    canvas.getContext('2d')?.drawImage(image, 0, 0)
    return canvas.toDataURL('image/webp', quality).split(',')[1]
  }, { source: png.toString('base64'), quality: QUALITY })
  return Buffer.from(base64, 'base64')
}
