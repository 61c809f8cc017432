import { NoIndex, TooLong } from './errors.js'
import { currentFile, discard, openExisting, stateIn } from './file.js'
import { isCorrupt, isInterrupted } from './sqlite.js'

/** @import {Sqlite} from './sqlite.js' */

/** Beyond it hits are not ranked: ranking reads them all. */
const RANKED_MAX = 1_000
/** A word in a title counts as so many in the text. */
const TITLE_WEIGHT = 10
/** Searches at a time, each with a cache of its own. */
const READERS_MAX = 2
const SETTINGS = 'pragma query_only = 1; pragma cache_size = -2048'

/** @typedef {{names: string[], more: boolean, ranked: boolean}} Hits */

/**
 * Searches an index beside the process that writes it (https://www.sqlite.org/wal.html).
 * @param {string} folder
 */
export function createReaders (folder) {
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
     * @param {string} match  see matchOf @param {{skip: number, limit: number, maxMs: number}} options
     * @returns {Promise<Hits>} the best first, or, of too many, some
     * @throws {TooLong | NoIndex | Error} Error: of SQLite
     */
    search: (match, { skip, limit, maxMs }) => {
      const until = performance.now() + maxMs
      return withReader((sqlite) =>
        inTime(sqlite, until - performance.now(), () => find(sqlite, match, { skip, limit })))
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

/** @param {Sqlite} sqlite @param {string} match @param {{skip: number, limit: number}} part @returns {Promise<Hits>} */
async function find (sqlite, match, { skip, limit }) {
  const [{ hits }] = await sqlite.all(
    `select count(*) as hits from (select 1 from words where words match ? limit ${RANKED_MAX + 1})`, match)
  const ranked = hits <= RANKED_MAX
  // Talk pages come after all others.
  const order = ranked
    ? `pages.name >= 'Talk:' and pages.name < 'Talk;', bm25(words, ${TITLE_WEIGHT}, 1), pages.name`
    : 'words.rowid'
  const rows = await sqlite.all(`select pages.name from words join pages on pages.id = words.rowid
    where words match ? order by ${order} limit ? offset ?`, match, limit + 1, skip)
  return { names: rows.slice(0, limit).map(({ name }) => name), more: rows.length > limit, ranked }
}
