import { createText } from './text.js'

/** Pages of 5 kB, as in the experiments. A save gives a page the text of another, as an edit changes the text. */
const PAGES = 1_000
const PAGE_CHARS = 5_000
export const TEXTS = Array.from({ length: PAGES }, (_, page) => createText(page, PAGE_CHARS))
/** More than one measurement uses, as each request is created beforehand. */
const SAVES_OF_A_CONNECTION = 1_000
const FILLED_AT_ONCE = 8

const path = (/** @type {number} */ page) => `/wiki/page-${page}`
const anyPage = () => Math.floor(Math.random() * PAGES)

export const VIEWS = TEXTS.map((_, page) => ({ path: path(page) }))

/** @param {{etag: string}[]} pages */
export const knownOf = (pages) =>
  pages.map(({ etag }, page) => ({ path: path(page), headers: { 'if-none-match': etag } }))

export const saves = () => Array.from({ length: SAVES_OF_A_CONNECTION }, () =>
  ({
    method: /** @type {const} */ ('POST'),
    path: path(anyPage()),
    headers: { 'content-type': 'text/markdown' },
    body: TEXTS[anyPage()]
  }))

/** @param {string} url  of a wiki that has none of them yet */
export const fillPages = (url) => eachPage(PAGES, async (page) => {
  const saved = await fetch(url + path(page), {
    method: 'POST', headers: { 'content-type': 'text/markdown' }, body: TEXTS[page]
  })
  if (!saved.ok) throw new Error(`${path(page)} was refused: ${await saved.text()}`)
})

/**
 * @param {string} url
 * @param {number} [count]  how many, from the first page on
 * @returns {Promise<{etag: string, bytes: number}[]>}
 */
export const readPages = (url, count = PAGES) => eachPage(count, async (page) => {
  const answer = await fetch(url + path(page))
  return { etag: String(answer.headers.get('etag')), bytes: (await answer.arrayBuffer()).byteLength }
})

/**
 * @template T
 * @param {number} count
 * @param {(page: number) => Promise<T>} work
 * @returns {Promise<T[]>}
 */
async function eachPage (count, work) {
  let next = 0
  /** @type {T[]} */
  const results = []
  await Promise.all(Array.from({ length: FILLED_AT_ONCE }, async () => {
    while (next < count) {
      const page = next++
      results[page] = await work(page)
    }
  }))
  return results
}
