import { createText } from './text.js'

/** Pages of 5 kB, as in the experiments. A save gives a page the text of another, as an edit changes the text. */
const PAGES = 1_000
const PAGE_CHARS = 5_000
export const TEXTS = Array.from({ length: PAGES }, (_, page) => createText(page, PAGE_CHARS))
/** More than a connection sends in a measurement. Each is created beforehand, which takes the load's processor time. */
const SAVES_OF_A_CONNECTION = 1_000
const FILLED_AT_ONCE = 8

const LONG_PAGES = 100
const LONG_CHARS = 50_000
const LONG_TEXTS = Array.from({ length: LONG_PAGES }, (_, page) => createText(PAGES + page, LONG_CHARS))

const path = (/** @type {number} */ page) => `/wiki/page-${page}`
const longPath = (/** @type {number} */ page) => `/wiki/long-${page}`
const post = (/** @type {string} */ path) =>
  ({ method: /** @type {const} */ ('POST'), path, headers: { 'content-type': 'text/markdown' } })
const anyPage = () => Math.floor(Math.random() * PAGES)

export const VIEWS = TEXTS.map((_, page) => ({ path: path(page) }))

/** @param {{etag: string}[]} pages */
export const knownOf = (pages) =>
  pages.map(({ etag }, page) => ({ path: path(page), headers: { 'if-none-match': etag } }))

export const saves = (count = SAVES_OF_A_CONNECTION) => Array.from({ length: count }, () =>
  ({ ...post(path(anyPage())), body: TEXTS[anyPage()] }))

/** Every second text links to a page that many others link to, so that most saves change its number of links. */
export const sharedLinks = (count = SAVES_OF_A_CONNECTION) => saves(count).map(({ body, ...request }) =>
  ({ ...request, body: Math.random() < 0.5 ? `${body}\n\n[[page-0]]` : body }))

/** Edits of one word of long pages. */
export const smallEdits = (count = SAVES_OF_A_CONNECTION) => Array.from({ length: count }, () => {
  const page = Math.floor(Math.random() * LONG_PAGES)
  return { ...post(longPath(page)), body: `${LONG_TEXTS[page]}\n\nedit${Math.floor(Math.random() * 1e9)}` }
})

/** @param {string} url  of a wiki that has none of them yet */
export const fillPages = (url) => eachPage(PAGES, (page) => create(url, path(page), TEXTS[page]))

/** @param {string} url  of a wiki that has none of them yet */
export const fillLongPages = (url) =>
  eachPage(LONG_PAGES, (page) => create(url, longPath(page), LONG_TEXTS[page]))

/** @param {string} url @param {string} path @param {string} body */
async function create (url, path, body) {
  const { method, headers } = post(path)
  const saved = await fetch(url + path, { method, headers, body })
  if (!saved.ok) throw new Error(`${path} was refused: ${await saved.text()}`)
}

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
