import createError from '@fastify/error'
import { NoSqlite } from './sqlite.js'

export const SearchTooLong = createError(
  'WIKI_SEARCH_TOO_LONG',
  'The search took too long and was stopped. Search for longer or rarer words, or try again in a moment.',
  503
)
export const SearchUnavailable = createError('WIKI_SEARCH_UNAVAILABLE', 'Texts cannot be searched now: %s.', 503)

/** It would have taken longer than it may. */
export class TooLong extends Error {}
/** There is no index, or none that can be read. */
export class NoIndex extends Error {}

const FULL = new Set(['SQLITE_FULL', 'ENOSPC', 'EDQUOT', 'SQLITE_IOERR_WRITE', 'SQLITE_IOERR_SHMSIZE'])
const UNWRITABLE = new Set([
  'EACCES', 'EPERM', 'EROFS', 'ENOENT', 'ENOTDIR', 'EEXIST', 'SQLITE_CANTOPEN', 'SQLITE_READONLY', 'SQLITE_PERM'
])

/** For everybody; what else the error says is for the log. @param {any} error */
export function reasonOf (error) {
  if (error instanceof NoSqlite) return 'there is no SQLite for this machine'
  if (error instanceof NoIndex) return 'the index of words is not built yet'
  const code = String(error?.code)
  if (FULL.has(code)) return 'the disk is full'
  if (UNWRITABLE.has(code) || /^ConnectionFailed/.test(error?.message)) return 'the folder of the index cannot be used'
  if (/^Mongo/.test(error?.name)) return 'the database does not tell what has changed'
  return 'the log of the wiki says why'
}
