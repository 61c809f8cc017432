import { randomUUID } from 'node:crypto'
import { readdirSync, readlinkSync, renameSync, rmSync, symlinkSync } from 'node:fs'
import path from 'node:path'
import { takeLock } from './lock.js'
import { plainWords } from './terms.js'
import { openSqlite } from './sqlite.js'

/** @import {Sqlite} from './sqlite.js' */

/**
 * Changes with the tables, with the tokenizer and with what terms.js makes of a text. Files have it in their names:
 * while a wiki is upgraded, both versions may run, each with its own index. What it was goes to FORMER.
 */
const FORMAT = 2
/** The link to the file that counts: a new file takes the place of another without a moment in between. */
const CURRENT = `current-${FORMAT}`
const FILE = new RegExp(`^words-${FORMAT}-[0-9a-f-]{36}\\.db(?:-wal|-shm|-journal)?$`)
/** What earlier formats have left. */
const FORMER = [{ lock: 'writer.lock', files: /^(?:current|words-[0-9a-f-]{36}\.db(?:-wal|-shm|-journal)?)$/ }]
const CACHE_KIB = 2_048
/** Beyond it the write-ahead log is cut after a checkpoint. */
const LOG_MAX_BYTES = 8_388_608

/**
 * Words without their texts: https://www.sqlite.org/fts5.html#contentless_delete_tables
 * Marks belong to words: vowel signs of many scripts are marks.
 */
const TABLES = `
  create table state (only_row integer primary key check (only_row = 1), database text, position text,
    cluster_time text, building integer, swept text, pending_since_ms integer, failing_since_ms integer);
  create table pages (id integer primary key, name text not null unique, revision integer not null);
  create virtual table words using fts5(title, content, content='', contentless_delete=1,
    tokenize="unicode61 remove_diacritics 0 categories 'L* N* M*'");
  pragma user_version = ${FORMAT};`

/**
 * What the index is of, and how far it has come.
 * @typedef {object} State
 * @property {string} database  which collection of pages
 * @property {string | null} position  of the change stream, as JSON: all changes before are in the index
 * @property {string} cluster_time  of the last of these changes, or of the beginning
 * @property {number} building  1: pages after `swept` are not compared yet
 * @property {string} swept  a name
 * @property {number | null} pending_since_ms  the time of day of a change after which others wait; null: none does
 * @property {number | null} failing_since_ms  changes cannot be read, or not be stored, since then
 *
 * @typedef {{name: string, revision: number, content: string}} Text
 */

/** @param {string} folder @returns {string | null} the path of the index that counts; null: there is none */
export function currentFile (folder) {
  try {
    return path.join(folder, readlinkSync(path.join(folder, CURRENT)))
  } catch {
    return null
  }
}

/**
 * @param {string} folder @param {{database: string, lasting: boolean, clusterTime: () => Promise<string>}} options
 * @returns {Promise<{index: Index, replaced: string | null}>} replaced: why there is a new one, null: there is not
 */
export async function openIndex (folder, { database, lasting, clusterTime }) {
  const file = currentFile(folder)
  const opened = file === null ? { reason: 'there was none' } : await reopen(file, { database, lasting })
  const index = opened.index ?? await createIndex(folder, { database, lasting, clusterTime: await clusterTime() })
  if (opened.index === undefined) makeCurrent(folder, index)
  removeOthers(folder)
  return { index, replaced: opened.reason ?? null }
}

/**
 * @param {string} file @param {{database: string, lasting: boolean}} options
 * @returns {Promise<{index?: Index, reason?: string}>} reason: why it is of no use
 */
async function reopen (file, { database, lasting }) {
  let sqlite
  try {
    sqlite = await openExisting(file)
    const state = await stateIn(sqlite)
    if (state.database === database) {
      await sqlite.exec(settings(lasting))
      return { index: withTables(file, sqlite) }
    }
    sqlite.close()
    return { reason: 'it was of another database' }
  } catch (error) {
    sqlite?.close()
    return { reason: /** @type {Error} */ (error).message }
  }
}

/** @param {string} file @returns {Promise<Sqlite>} @throws {Error} when it is no index of this version */
export async function openExisting (file) {
  const sqlite = await openSqlite(`file:${encodeURI(file).replaceAll('?', '%3F').replaceAll('#', '%23')}?mode=rw`)
  try {
    const [{ user_version: format }] = await sqlite.all('pragma user_version')
    if (format !== FORMAT) throw new Error('it was of another version of the wiki')
    return sqlite
  } catch (error) {
    sqlite.close()
    throw error
  }
}

/**
 * Not current yet.
 * @param {string} folder @param {{database: string, lasting: boolean, clusterTime: string}} options
 */
export async function createIndex (folder, { database, lasting, clusterTime }) {
  const file = path.join(folder, `words-${FORMAT}-${randomUUID()}.db`)
  const sqlite = await openSqlite(file)
  await sqlite.exec(`pragma journal_mode = wal; ${settings(lasting)} begin; ${TABLES}`)
  await sqlite.all('insert into state values (1, ?, null, ?, 1, \'\', null, null)', database, clusterTime)
  await sqlite.exec('commit')
  return withTables(file, sqlite)
}

/** @param {boolean} lasting  FULL would wait for the disk at each commit: what a power failure takes is read again */
const settings = (lasting) => `pragma synchronous = ${lasting ? 'normal' : 'off'}; pragma cache_size = -${CACHE_KIB};
  pragma journal_size_limit = ${LOG_MAX_BYTES};`

/** @param {string} folder @param {Index} index */
export function makeCurrent (folder, index) {
  const link = path.join(folder, `${CURRENT}-${randomUUID()}`)
  symlinkSync(path.basename(index.file), link)
  renameSync(link, path.join(folder, CURRENT))
}

/** Of no use any more: the process that writes makes a new one. @param {string} folder */
export const discard = (folder) => { rmSync(path.join(folder, CURRENT), { force: true }) }

/** @param {string} folder */
function removeOthers (folder) {
  const current = currentFile(folder) ?? ''
  for (const name of readdirSync(folder)) {
    if (FILE.test(name) && !name.startsWith(path.basename(current))) rmSync(path.join(folder, name), { force: true })
  }
}

/** Where no earlier version of the wiki writes any more. @param {string} folder */
export async function removeFormer (folder) {
  for (const { lock: name, files } of FORMER) {
    const left = readdirSync(folder).filter((each) => files.test(each))
    const lock = left.length === 0 ? null : await takeLock(path.join(folder, name))
    if (lock === null) continue
    for (const each of left) rmSync(path.join(folder, each), { force: true })
    lock.free()
  }
}

/** @param {string} folder @returns {string} the lock of the process that writes there */
export const lockIn = (folder) => path.join(folder, `writer-${FORMAT}.lock`)

/** @param {Sqlite} sqlite @returns {Promise<State>} */
export const stateIn = async (sqlite) => (await sqlite.all('select * from state'))[0]

/** @typedef {ReturnType<typeof withTables>} Index */

/** @param {string} file @param {Sqlite} sqlite */
function withTables (file, sqlite) {
  /** @param {Partial<State>} state */
  const setState = async (state) => {
    const fields = Object.entries(state)
    if (fields.length === 0) return
    await sqlite.all(`update state set ${fields.map(([name]) => `${name} = ?`).join(', ')}`,
      ...fields.map(([, value]) => value))
  }

  /** @param {string} name */
  async function remove (name) {
    const [page] = await sqlite.all('delete from pages where name = ? returning id', name)
    if (page !== undefined) await sqlite.all('delete from words where rowid = ?', page.id)
  }

  /** @param {Text} text */
  async function put ({ name, revision, content }) {
    const [{ id }] = await sqlite.all('insert into pages (name, revision) values (?, ?) on conflict (name) ' +
      'do update set revision = excluded.revision returning id', name, revision)
    await sqlite.all('insert or replace into words (rowid, title, content) values (?, ?, ?)',
      id, await plainWords(name), await plainWords(content))
  }

  return {
    file,
    all: sqlite.all,
    state: () => stateIn(sqlite),
    setState,

    /**
     * All of it or nothing, whatever kills the process.
     * @param {{texts: Text[], gone: string[], state: Partial<State>}} changes
     */
    async apply ({ texts, gone, state }) {
      await sqlite.exec('begin immediate')
      try {
        for (const name of gone) await remove(name)
        for (const text of texts) await put(text)
        await setState(state)
        await sqlite.exec('commit')
      } catch (error) {
        await sqlite.exec('rollback').catch(() => {})
        throw error
      }
    },

    /** @param {string[]} names @returns {Promise<Map<string, number>>} revisions of those that are in the index */
    async revisionsOf (names) {
      const rows = await sqlite.all('select name, revision from pages where name in (select value from json_each(?))',
        JSON.stringify(names))
      return new Map(rows.map(({ name, revision }) => [name, revision]))
    },

    /**
     * @param {string} after @param {string | null} upTo  null: to the end @param {number} limit
     * @returns {Promise<Map<string, number>>} in the order of the names' bytes
     */
    async revisionsBetween (after, upTo, limit) {
      const rows = await sqlite.all('select name, revision from pages where name > ? and (? is null or name <= ?) ' +
        'order by name limit ?', after, upTo, upTo, limit)
      return new Map(rows.map(({ name, revision }) => [name, revision]))
    },

    close: sqlite.close
  }
}
