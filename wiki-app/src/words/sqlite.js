/**
 * SQLite by libsql, whose promises are settled by threads of its own: neither a search nor a commit holds up the event
 * loop. `run` of its statements would: `all` is used for changes, too.
 * @typedef {object} Sqlite
 * @property {(sql: string, ...values: (string | number | null)[]) => Promise<any[]>} all  one statement; its rows
 * @property {(sql: string) => Promise<void>} exec  several statements
 * @property {() => void} interrupt  what runs fails with SQLITE_INTERRUPT
 * @property {() => void} close
 */

const BUSY_MAX_MS = 5_000
const CORRUPT = new Set(['SQLITE_CORRUPT', 'SQLITE_NOTADB', 'SQLITE_CORRUPT_VTAB'])

/** @type {Promise<any> | undefined} */
let loading

/**
 * @param {string} file  made if there is none @param {{busyMaxMs?: number}} [options]  a lock of another process
 * @returns {Promise<Sqlite>} @throws {NoSqlite} when there is no binary for this platform; what SQLite throws
 */
export async function openSqlite (file, { busyMaxMs = BUSY_MAX_MS } = {}) {
  loading ??= import('libsql/promise')
  const { default: Database } = await loading.catch((error) => { throw new NoSqlite(error) })
  const database = new Database(file, { timeout: busyMaxMs })
  /** @type {Map<string, Promise<any>>} */
  const statements = new Map()
  return {
    async all (sql, ...values) {
      const statement = statements.get(sql) ?? database.prepare(sql)
      statements.set(sql, statement)
      return (await statement).all(values)
    },
    exec: (sql) => database.exec(sql),
    interrupt: () => database.interrupt(),
    close () {
      // They keep the file open until they are collected.
      statements.clear()
      database.close()
    }
  }
}

export class NoSqlite extends Error {
  /** @param {Error} cause */
  constructor (cause) {
    super(`SQLite has no program for this machine (${process.platform}, ${process.arch}): ` +
      cause.message.split('\n', 1)[0])
  }
}

/** @param {any} error */
export const isCorrupt = (error) => CORRUPT.has(String(error?.code))
/** @param {any} error */
export const isInterrupted = (error) => error?.code === 'SQLITE_INTERRUPT'
/** @param {any} error */
export const isBusy = (error) => error?.code === 'SQLITE_BUSY'
