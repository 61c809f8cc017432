import { BSON } from 'mongodb'

/** @import {Document} from 'mongodb' */

const { EJSON } = BSON

/**
 * Gzipped lines of JSON: the header, `{"c": collection, "d": document}` for each document, the counts.
 * https://www.mongodb.com/docs/manual/reference/mongodb-extended-json/ (canonical: it keeps every BSON type)
 * @typedef {{format: 'stevec-backup', version: 1, created_at: string, database: string}} Header
 * @typedef {{end: Record<string, number>}} End  documents by collection
 */

/**
 * @typedef {{uri: string, file: string, signal?: AbortSignal, onProgress?: OnProgress}} Source  `uri`: with a database
 * @typedef {(what: string, documents: number) => void} OnProgress
 */

export const FORMAT = 'stevec-backup'
export const VERSION = 1

/** People can sign in again; a lease is of the moment. */
export const LEFT_OUT = new Set(['sessions', 'migration_lease'])

/** A file is not a complete backup. */
export class BackupError extends Error {}

/** The database is the wrong one: empty for a backup, or not empty for a restore. */
export class WrongDatabaseError extends Error {}

/** @param {string} collection @param {Document} document */
export const lineOf = (collection, document) =>
  `${JSON.stringify({ c: collection, d: EJSON.serialize(document, { relaxed: false }) })}\n`

/**
 * The backup is complete if this ends without an error.
 * @param {AsyncIterable<string>} lines
 * @returns {AsyncGenerator<{collection: string, document: Document}, Record<string, number>>} returns counts
 * @throws {BackupError}
 */
export async function * documentsIn (lines) {
  /** @type {Record<string, number>} */
  const counts = {}
  let number = 0
  let end = null
  for await (const line of lines) {
    number += 1
    if (end !== null) throw new BackupError(`line ${number} comes after the end`)
    const content = parsed(line, number)
    if (number === 1) {
      if (content.format !== FORMAT) throw new BackupError('it is not a backup of a wiki')
      if (content.version !== VERSION) {
        throw new BackupError(`its version is ${content.version}, and only ${VERSION} can be read here`)
      }
    } else if (content.end) {
      end = content.end
    } else {
      if (typeof content.c !== 'string' || content.d === null || typeof content.d !== 'object') {
        throw new BackupError(`line ${number} is no document`)
      }
      counts[content.c] = (counts[content.c] ?? 0) + 1
      yield { collection: content.c, document: EJSON.deserialize(content.d, { relaxed: false }) }
    }
  }
  if (end === null) throw new BackupError('it breaks off: its last line is missing')
  const all = new Set([...Object.keys(end), ...Object.keys(counts)])
  for (const name of all) {
    if ((counts[name] ?? 0) !== (end[name] ?? 0)) {
      throw new BackupError(`it has ${counts[name] ?? 0} documents of ${name}, and should have ${end[name] ?? 0}`)
    }
  }
  return counts
}

/** @param {string} line @param {number} number */
function parsed (line, number) {
  try {
    return JSON.parse(line)
  } catch {
    throw new BackupError(number === 1 ? 'it is not a backup of a wiki' : `line ${number} is damaged`)
  }
}
