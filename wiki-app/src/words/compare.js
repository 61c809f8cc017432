import { setTimeout as sleep } from 'node:timers/promises'
import { currentFile, openExisting } from './file.js'

/** @import {Index} from './file.js' */
/** @import {Source} from './source.js' */
/** @import {Sqlite} from './sqlite.js' */

const PAGES_AT_ONCE = 500
/** Words that are compared in one query, by how often they occur. */
const PLACES_AT_ONCE = 200_000
const SHOWN_MAX = 10
/** Far more than a wiki is behind when it has little to do. */
const CATCH_UP_MAX_MS = 10_000
const CHECK_MS = 500

/**
 * @typedef {object} Comparison
 * @property {number} pages  in the rebuilt index
 * @property {number} terms  different words
 * @property {number} moving  pages that were edited meanwhile: their words are not compared
 * @property {string[]} differences  of the first of them
 */

/**
 * Compares the index that counts with one that is rebuilt beside it: pages, revisions, and each place of each word.
 * @param {string} folder
 * @param {Index} rebuilt  empty, and not of that folder
 * @param {{fill: (index: Index) => Promise<unknown>, source: Source, clusterTime: string}} options  `fill`: see sweep
 * @returns {Promise<Comparison>} @throws {Error} when there is no index
 */
export async function compareWithRebuilt (folder, rebuilt, { fill, source, clusterTime }) {
  const file = currentFile(folder)
  if (file === null) throw new Error(`there is no index of words in ${folder}`)
  const sqlite = await openExisting(file)
  try {
    await giveNumbers(sqlite, rebuilt)
    await fill(rebuilt)
    const [{ found: pages }] = await rebuilt.all('select count(*) as found from pages')
    await sqlite.all('attach ? as rebuilt', rebuilt.file)
    await prepare(sqlite)
    const suspects = await suspectsIn(sqlite)
    const [lasting, moving] = await settle(sqlite, suspects, { source, clusterTime })
    const { terms, differences } = await compareWords(sqlite)
    return {
      pages, terms, moving, differences: [...lasting, ...differences].slice(0, SHOWN_MAX)
    }
  } finally {
    sqlite.close()
  }
}

/** The same page has the same number in both, so that places can be compared. @param {Sqlite} a @param {Index} b */
async function giveNumbers (a, b) {
  for (let last = 0; ;) {
    const rows = await a.all('select id, name from pages where id > ? order by id limit ?', last, PAGES_AT_ONCE)
    if (rows.length === 0) return
    await b.all('insert into pages (id, name, revision) select value->>0, value->>1, 0 from json_each(?)',
      JSON.stringify(rows.map(({ id, name }) => [id, name])))
    last = rows[rows.length - 1].id
  }
}

/** One moment of both, until the end. @param {Sqlite} sqlite */
const prepare = (sqlite) => sqlite.exec(`
  create virtual table temp.live_places using fts5vocab('main', 'words', 'instance');
  create virtual table temp.rebuilt_places using fts5vocab('rebuilt', 'words', 'instance');
  create virtual table temp.live_terms using fts5vocab('main', 'words', 'row');
  create virtual table temp.rebuilt_terms using fts5vocab('rebuilt', 'words', 'row');
  create temp table suspects (id integer, name text, live integer, rebuilt integer);
  begin;
  insert into suspects select r.id, r.name, l.revision, r.revision from rebuilt.pages r
    left join main.pages l on l.name = r.name where l.revision is not r.revision;
  insert into suspects select l.id, l.name, l.revision, null from main.pages l
    where not exists (select 1 from rebuilt.pages r where r.name = l.name);`)

/** @param {Sqlite} sqlite @returns {Promise<Suspect[]>} */
const suspectsIn = (sqlite) => sqlite.all('select name, live, rebuilt from suspects order by name')

/**
 * Revisions; null: the page is not there.
 * @typedef {{name: string, live: number | null, rebuilt: number | null}} Suspect
 */

/**
 * An edit meanwhile makes a page differ, too; then the index soon has what the database has.
 * @param {Sqlite} sqlite @param {Suspect[]} suspects @param {{source: Source, clusterTime: string}} options
 * @returns {Promise<[string[], number]>} what stays different, and how many pages do not
 */
async function settle (sqlite, suspects, { source, clusterTime }) {
  if (suspects.length === 0) return [[], 0]
  const other = await openExisting((await sqlite.all('pragma database_list')).find(({ name }) => name === 'main').file)
  try {
    let left = suspects
    for (let waitedMs = 0; left.length > 0 && waitedMs < CATCH_UP_MAX_MS; waitedMs += CHECK_MS) {
      if (waitedMs > 0) await sleep(CHECK_MS)
      /** @type {Suspect[]} */
      const still = []
      for (const suspect of left) {
        const [stored] = await other.all('select revision from pages where name = ?', suspect.name)
        const [head] = await source.headsOf([suspect.name], clusterTime)
        const wanted = head === undefined || head.deleted_at != null ? null : head.revision
        if ((stored?.revision ?? null) !== wanted) still.push(suspect)
      }
      left = still
    }
    return [
      left.map(({ name, live, rebuilt }) =>
        `page “${name}”: revision ${live ?? 'none'} instead of ${rebuilt ?? 'none'}`),
      suspects.length - left.length
    ]
  } finally {
    other.close()
  }
}

/** @param {Sqlite} sqlite */
async function compareWords (sqlite) {
  let terms = 0
  /** @type {string[]} */
  const differences = []
  for (let after = ''; differences.length < SHOWN_MAX;) {
    const [{ found, last }] = await sqlite.all(`
      select count(*) as found, max(term) as last from (
        select term, sum(cnt) over (order by term) as places from (
          select term, cnt from live_terms where term > ? union all
          select term, cnt from rebuilt_terms where term > ?
          order by term limit 2000))
      where places <= ? or term = (select min(term) from (
        select min(term) as term from live_terms where term > ? union all
        select min(term) from rebuilt_terms where term > ?))`, after, after, PLACES_AT_ONCE, after, after)
    if (found === 0) return { terms, differences }
    for (const [here, there, what] of [['live', 'rebuilt', 'too much'], ['rebuilt', 'live', 'missing']]) {
      const rows = await sqlite.all(`
        select p.term, p.col, p.offset, coalesce(l.name, r.name) as name from (
          select term, doc, col, offset from ${here}_places where term > ? and term <= ?
          except select term, doc, col, offset from ${there}_places where term > ? and term <= ?) p
        left join main.pages l on l.id = p.doc left join rebuilt.pages r on r.id = p.doc
        where p.doc not in (select id from suspects) limit ${SHOWN_MAX}`, after, last, after, last)
      differences.push(...rows.map(({ term, col, offset, name }) =>
        `word “${term}” at ${col} ${offset} of “${name}”: ${what}`))
    }
    const [{ different }] = await sqlite.all('select count(*) as different from (select term from live_terms ' +
      'where term > ? and term <= ? union select term from rebuilt_terms where term > ? and term <= ?)',
    after, last, after, last)
    terms += different
    after = last
  }
  return { terms, differences }
}
