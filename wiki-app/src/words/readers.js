import { isUnspaced, tokensOf } from '../pages/unspaced.js'
import { NoIndex, TooLong } from './errors.js'
import { currentFile, discard, openExisting, stateIn } from './file.js'
import { hasSimilar, similarTo } from './similar.js'
import { isCorrupt, isInterrupted } from './sqlite.js'
import { beginningOf, stemOf } from './stems.js'
import { matchOf } from './terms.js'

/** @import {Language} from '../site/languages.js' */
/** @import {Sqlite} from './sqlite.js' */
/** @import {Query} from './terms.js' */

/** Beyond it hits are not ranked: ranking reads them all. */
const RANKED_MAX = 1_000
/** A word in a title counts as so many in the text. */
const TITLE_WEIGHT = 10
/** Searches at a time, each with a cache of its own. */
const READERS_MAX = 2
const SETTINGS = `create virtual table temp.terms using fts5vocab('main', 'words', 'row');
  pragma query_only = 1; pragma cache_size = -2048`
/** Words of the index that begin as a word of the query, and those of them that are looked for, too. */
const TERMS_READ_MAX = 1_000
const FORMS_MAX = 20
const BEGINNING_MIN_CHARS = 2
/** Words of a query that may be misspelt, and the time to find others for them. */
const MISSPELT_MAX = 3
const SIMILAR_MAX_MS = 100

/**
 * `forms`: words found as well; `corrections`: words of the query that the index does not have, and what is nearest.
 * @typedef {{names: string[], forms: string[], corrections: Map<string, string>, more: boolean, ranked: boolean}} Hits
 */

/**
 * Searches an index beside the process that writes it (https://www.sqlite.org/wal.html).
 * @param {string} folder @param {Language} language
 */
export function createReaders (folder, language) {
  /** @type {{file: string, sqlite: Sqlite}[]} */
  const idle = []
  /** @type {(() => void)[]} */
  const waiting = []
  let open = 0
  let closed = false

  /** @returns {Promise<{file: string, sqlite: Sqlite}>} @throws {Error} when there is no index */
  async function take () {
    const file = currentFile(folder)
    if (closed || file === null) throw new NoIndex('the index of words is not built yet')
    const reader = idle.pop()
    if (reader?.file === file) return reader
    reader?.sqlite.close()
    const sqlite = await openExisting(file)
    await sqlite.exec(SETTINGS)
    return { file, sqlite }
  }

  /** @template T @param {(sqlite: Sqlite) => Promise<T>} work @returns {Promise<T>} */
  async function withReader (work) {
    if (open === READERS_MAX) await new Promise((resolve) => { waiting.push(() => resolve(undefined)) })
    else open++
    let reader
    try {
      reader = await take()
      return await work(reader.sqlite)
    } catch (error) {
      // The writer makes another one.
      if (isCorrupt(error)) discard(folder)
      throw error
    } finally {
      if (reader !== undefined && !closed) idle.push(reader)
      else reader?.sqlite.close()
      const next = waiting.shift()
      if (next === undefined) open--
      else next()
    }
  }

  return {
    state: () => withReader(stateIn),

    /**
     * @param {Query} query  of which something is looked for
     * @param {{skip: number, limit: number, maxMs: number}} options
     * @returns {Promise<Hits>} the best first, or, of too many, some
     * @throws {TooLong | NoIndex | Error} Error: of SQLite
     */
    search: (query, { skip, limit, maxMs }) => {
      const until = performance.now() + maxMs
      return withReader((sqlite) =>
        inTime(sqlite, until - performance.now(), () => find(sqlite, query, { skip, limit, language })))
    },

    close () {
      closed = true
      for (const { sqlite } of idle.splice(0)) sqlite.close()
    }
  }
}

/** @typedef {ReturnType<typeof createReaders>} Readers */

/**
 * @template T @param {Sqlite} sqlite @param {number} maxMs @param {() => Promise<T>} work @returns {Promise<T>}
 * @throws {TooLong}
 */
async function inTime (sqlite, maxMs, work) {
  if (maxMs <= 0) throw new TooLong()
  let isOver = false
  const timer = setTimeout(() => {
    isOver = true
    sqlite.interrupt()
  }, maxMs)
  try {
    const result = await work()
    if (isOver) throw new TooLong()
    return result
  } catch (error) {
    throw isOver && isInterrupted(error) ? new TooLong() : error
  } finally {
    clearTimeout(timer)
  }
}

/**
 * @param {Sqlite} sqlite @param {Query} query @param {{skip: number, limit: number, language: Language}} options
 * @returns {Promise<Hits>}
 */
async function find (sqlite, query, { skip, limit, language }) {
  const exact = /** @type {string} */ (matchOf(query))
  const isRanked = await hasAtMost(sqlite, exact, RANKED_MAX)
  const { forms, corrections } = isRanked && query.phrases.length === 0
    ? await othersOf(sqlite, query.words, language)
    : { forms: [], corrections: new Map() }
  const wide = forms.length === 0 ? exact : /** @type {string} */ (matchOf(query, forms))
  const isWide = wide !== exact && await hasAtMost(sqlite, wide, RANKED_MAX)
  // Talk pages come after all others, and words with other endings after the words themselves.
  const order = isRanked
    ? `pages.name >= 'Talk:' and pages.name < 'Talk;', words.rowid not in (select rowid from words where words match ?),
        bm25(words, ${TITLE_WEIGHT}, 1), pages.name`
    : 'words.rowid'
  const rows = await sqlite.all(`select pages.name from words join pages on pages.id = words.rowid
    where words match ? order by ${order} limit ? offset ?`,
  ...[isWide ? wide : exact, ...isRanked ? [exact] : []], limit + 1, skip)
  return {
    names: rows.slice(0, limit).map(({ name }) => name),
    forms: isWide ? forms : [],
    corrections,
    more: rows.length > limit,
    ranked: isRanked
  }
}

/** @param {Sqlite} sqlite @param {string} match @param {number} most */
async function hasAtMost (sqlite, match, most) {
  const [{ hits }] = await sqlite.all(
    `select count(*) as hits from (select 1 from words where words match ? limit ${most + 1})`, match)
  return hits <= most
}

/**
 * @param {Sqlite} sqlite @param {string[]} all  words of a query @param {Language} language
 * @returns {Promise<Pick<Hits, 'forms' | 'corrections'>>}
 */
async function othersOf (sqlite, all, language) {
  // Characters of a script without spaces (terms.js) have neither forms nor neighbours.
  const words = all.filter((word) => !tokensOf(word).some(isUnspaced))
  const forms = await formsOf(sqlite, words, language)
  const stems = new Set(forms.map((form) => stemOf(form, language)))
  const similar = new Map()
  // Without them the search is what it was: too much time for them is no failure.
  await inTime(sqlite, SIMILAR_MAX_MS, async () => {
    let misspelt = 0
    for (const word of words) {
      if (misspelt === MISSPELT_MAX) break
      if (!hasSimilar(word) || stems.has(stemOf(word, language))) continue
      const [known] = await sqlite.all('select 1 from temp.terms where term = ?', word)
      if (known !== undefined) continue
      misspelt++
      const found = await similarTo(sqlite, word)
      if (found.length > 0) similar.set(word, found)
    }
  }).catch((error) => { if (!(error instanceof TooLong)) throw error })
  const corrections = new Map([...similar].map(([word, [nearest]]) => [word, nearest]))
  return { forms: [...new Set([...forms, ...[...similar.values()].flat()])], corrections }
}

/**
 * The index keeps words as they are written: what has the same stem is looked up in it.
 * @param {Sqlite} sqlite @param {string[]} words @param {Language} language
 * @returns {Promise<string[]>} other words of the index with the stem of one of these
 */
async function formsOf (sqlite, words, language) {
  const forms = new Set()
  for (const word of words) {
    const stem = stemOf(word, language)
    const beginning = beginningOf(word, stem)
    if (beginning.length < BEGINNING_MIN_CHARS) continue
    const terms = await sqlite.all('select term from temp.terms where term >= ? and term < ? limit ?',
      beginning, `${beginning}\u{10FFFF}`, TERMS_READ_MAX)
    for (const { term } of terms) if (stemOf(term, language) === stem) forms.add(term)
  }
  return [...forms].filter((form) => !words.includes(form)).slice(0, FORMS_MAX)
}
