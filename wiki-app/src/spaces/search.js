import { driverOf } from '../database/driver.js'
import { retryAfter } from '../http/retry-after.js'
import { EXCERPT_FROM_CHARS, MAX_TIME_MS_EXPIRED, SEARCH_MAX_MS } from '../search/search.js'
import { SearchTooLong } from '../words/errors.js'
import { plainWords, queryOf } from '../words/terms.js'
import { rangesOf } from './find-space.js'

/** @import {Page} from '../pages/model.js' */
/** @import {Query} from '../words/terms.js' */
/** @import {SpaceModels} from './model.js' */

/** Of one part. The next one goes on after the last page that was read. */
const LIMITS = { hits: 20, pages: 2_000, chars: 8_388_608, ms: SEARCH_MAX_MS }
/** A batch is decoded at once, which blocks others; a page may have 1 MiB. */
const BATCH = 8
/** As words of the public index (words/file.js). */
const LETTER = '[\\p{L}\\p{N}\\p{M}]'
const GAP = '[^\\p{L}\\p{N}\\p{M}]+'
const WORD = new RegExp(`${LETTER}+`, 'gu')

/**
 * `content`: its beginning; `next`: the last page that was read, when there are more.
 * @typedef {Pick<Page, '_id' | 'revision' | 'modified_at' | 'content'>} SpaceHit
 * @typedef {{hits: SpaceHit[], next: string | null}} FoundInSpace
 */

/**
 * The texts of one space, read one after another. An index of words would be of all spaces: its corrections and other
 * forms of a word would say what another space has.
 * @param {Pick<SpaceModels['inside'], 'Pages'>} models
 */
export function createSpaceSearch ({ Pages }) {
  const pages = driverOf(Pages)

  /** In order of bytes. @param {string} root @param {string} after */
  const pagesAfter = (root, after) => pages.find({
    deleted_at: null,
    // In each range, so that no page of another space is read.
    $or: rangesOf(root).map((range) => ({ $and: [{ _id: range }, { _id: { $gt: after } }] }))
  }, {
    projection: { content: 1, modified_at: 1, revision: 1 },
    sort: { _id: 1 },
    limit: LIMITS.pages + 1,
    batchSize: BATCH,
    maxTimeMS: LIMITS.ms
  })

  /**
   * Pages and talk pages that have all words, each in the name or in the text.
   * @param {{root: string, q: string, after?: string, limit?: number}} options  `q`: words, "phrases in quotes",
   *   -excluded words; `after`: a name; `limit`: of hits
   * @returns {Promise<FoundInSpace | null>} null: there is no word to look for
   * @throws {Error} 503 when not even one page could be read in time
   */
  return async function texts ({ root, q, after = '', limit = LIMITS.hits }) {
    const matches = matcherOf(queryOf(q))
    if (matches === null) return null
    const endsAt = performance.now() + LIMITS.ms
    /** @type {SpaceHit[]} */
    const hits = []
    let [last, read, chars] = [after, 0, 0]
    const isOver = () => read > 0 && (read === LIMITS.pages || hits.length === limit || chars >= LIMITS.chars ||
      performance.now() >= endsAt)
    try {
      for await (const page of pagesAfter(root, after)) {
        const hit = /** @type {SpaceHit} */ (page)
        const { _id: name, content } = hit
        if (isOver()) return { hits, next: last }
        if (await matches(name, content)) hits.push({ ...hit, content: content.slice(0, EXCERPT_FROM_CHARS) })
        last = name
        chars += content.length
        read++
      }
      return { hits, next: null }
    } catch (error) {
      if (/** @type {{code?: number}} */ (error).code !== MAX_TIME_MS_EXPIRED) throw error
      if (read === 0) throw retryAfter(new SearchTooLong())
      return { hits, next: last }
    }
  }
}

/** @param {Query} query @returns {((name: string, content: string) => Promise<boolean>) | null} null: no words */
function matcherOf ({ words, phrases, unwanted }) {
  const wanted = [...words, ...phrases].map(testOf)
  const others = unwanted.map(testOf)
  if (wanted.length === 0) return null
  return async (name, content) => {
    // What is all ASCII is still as it was written.
    const [title, text] = [(await plainWords(name)).toLowerCase(), (await plainWords(content)).toLowerCase()]
    const isIn = (/** @type {ReturnType<typeof testOf>} */ test) => test(title) || test(text)
    return wanted.every(isIn) && !others.some(isIn)
  }
}

/**
 * `indexOf` is much faster than a pattern that looks behind each letter, and leaves few places for that.
 * @param {string} phrase  a word or several, as queryOf gives them
 * @returns {(plain: string) => boolean}
 */
function testOf (phrase) {
  const words = phrase.match(WORD) ?? []
  const [first = ''] = words
  const pattern = new RegExp(`(?<!${LETTER})${words.join(GAP)}(?!${LETTER})`, 'uy')
  return (plain) => {
    for (let at = plain.indexOf(first); at !== -1; at = plain.indexOf(first, at + 1)) {
      pattern.lastIndex = at
      if (pattern.test(plain)) return true
    }
    return false
  }
}
