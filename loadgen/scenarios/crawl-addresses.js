// What people and crawlers ask of each wiki. Node and k6 both run this file: no APIs of either.
import { pageName } from './plan.js'

/**
 * @typedef {object} Addresses  paths, with their queries; pages from 0, revisions from 1
 * @property {(page: number) => string} view
 * @property {(page: number, from: number, to: number) => string} difference
 * @property {(page: number, revision: number) => string} revision
 * @property {(page: number, before: number) => string} history  what is older than a revision, which is not the first
 * @property {(page: number, text: string) => {method: string, path: string, type: string, body: string}} save
 */

/** @typedef {{pages: number, revisions: number}} Size  `revisions`: of each page, before people edit it */

const stevec = () => /** @type {Addresses} */ ({
  view: (page) => `/wiki/${pageName(page)}`,
  difference: (page, from, to) => `/difference/${pageName(page)}?from=${from}&to=${to}`,
  revision: (page, revision) => `/revision/${pageName(page)}/${revision}`,
  history: (page, before) => `/history/${pageName(page)}?before=${before}`,
  save: (page, content) => ({
    method: 'PUT', path: `/api/v1/pages/${pageName(page)}`, type: 'application/json', body: JSON.stringify({ content })
  })
})

/** @param {number} revision  1 to 59 @returns {string} its second of 2020 */
export const secondOf = (revision) => String(revision).padStart(2, '0')

/**
 * Its revisions are numbered across all pages, in the order of the import.
 * @param {Size} size @param {number} first  number of the first revision of page 0
 */
const mediawiki = ({ revisions }, first) => {
  const id = (/** @type {number} */ page, /** @type {number} */ revision) => first + page * revisions + revision - 1
  const of = (/** @type {number} */ page, /** @type {string} */ query) => `/index.php?title=Page-${page}&${query}`
  return /** @type {Addresses} */ ({
    view: (page) => `/index.php/Page-${page}`,
    difference: (page, from, to) => of(page, `diff=${id(page, to)}&oldid=${id(page, from)}`),
    revision: (page, revision) => of(page, `oldid=${id(page, revision)}`),
    history: (page, before) => of(page, `action=history&offset=202001010000${secondOf(before)}`),
    save: (page, text) => ({
      method: 'POST',
      path: '/api.php',
      type: 'application/x-www-form-urlencoded',
      // The token of everybody that is not signed in: https://www.mediawiki.org/wiki/API:Edit
      body: [
        'action=edit', 'format=json', `title=Page-${page}`, `text=${encodeURIComponent(text)}`,
        `token=${encodeURIComponent('+\\')}`
      ].join('&')
    })
  })
}

/** @param {string} wiki  `stevec` or `mediawiki` @param {Size} size @param {number} first */
export const addressesOf = (wiki, size, first) => wiki === 'stevec' ? stevec() : mediawiki(size, first)

/** A prime: in steps of it, all kinds of addresses come before one comes again. */
const STEP = 7919

/** @param {Size} size @returns {number} a difference for each pair of revisions, and two for each revision */
const addressesOfPage = ({ revisions }) => revisions * (revisions - 1) / 2 + 2 * revisions

/** @param {Size} size @returns {number} */
export const lengthOfSweep = (size) => size.pages * addressesOfPage(size)

/**
 * @param {Addresses} addresses
 * @param {number} number  0 to the length of the sweep − 1: each gives another address
 * @param {Size} size  of less than STEP addresses a page
 */
export function pathOfSweep (addresses, number, size) {
  const { pages, revisions } = size
  const page = number % pages
  const kind = Math.floor(number / pages) * STEP % addressesOfPage(size)
  if (kind < revisions) return addresses.revision(page, kind + 1)
  if (kind < 2 * revisions) return addresses.history(page, kind - revisions + 2)
  const pair = kind - 2 * revisions
  const to = Math.floor((1 + Math.sqrt(1 + 8 * pair)) / 2)
  return addresses.difference(page, pair - to * (to - 1) / 2 + 1, to + 1)
}
