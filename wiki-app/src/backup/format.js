import { createHash } from 'node:crypto'
import { BSON } from 'mongodb'
import { PLACES } from '../files/storage/places.js'

/** @import {Document} from 'mongodb' */

const { EJSON } = BSON

/**
 * Gzipped lines of JSON: the header, `{"c": collection, "d": document}` for each document, the counts.
 * https://www.mongodb.com/docs/manual/reference/mongodb-extended-json/ (canonical: it keeps every BSON type)
 * @typedef {{format: 'stevec-backup', version: 1, created_at: string, database: string}} Header
 * @typedef {{end: Record<string, number>, checksums?: Record<string, string>}} End  documents and checksums by
 *   collection; backups of older versions have no checksums
 * @typedef {{counts: Record<string, number>, checksums: Record<string, string>}} Content
 */

/**
 * @typedef {{uri: string, file: string, signal?: AbortSignal, onProgress?: OnProgress}} Source  `uri`: with a database
 * @typedef {(what: string, documents: number) => void} OnProgress
 */

export const FORMAT = 'stevec-backup'
export const VERSION = 1

/**
 * People can sign in again; a lease is of the moment; a restored wiki's pictures are in its database, and their
 * thumbnails are made again.
 */
export const LEFT_OUT = new Set(['sessions', 'migration_lease', PLACES, 'thumbnails', 'space_thumbnails'])

/** A file is not a complete backup. */
export class BackupError extends Error {}

/** The database is the wrong one: empty for a backup, or not empty for a restore. */
export class WrongDatabaseError extends Error {}

/** @param {string} collection @param {Document} document */
export const lineOf = (collection, document) =>
  `${JSON.stringify({ c: collection, d: EJSON.serialize(document, { relaxed: false }) })}\n`

/**
 * Counts documents and sums up their checksums, in any order: a restored collection may be read in another one.
 * A checksum is the sum of the SHA-256 of all lines modulo 2^256. It finds damage; it does not prove who made the file.
 */
export class Tally {
  /** @type {Map<string, {count: number, sum: bigint}>} */
  #collections = new Map()

  /** @param {string} collection @param {string} line  as lineOf makes it */
  add (collection, line) {
    const { count, sum } = this.#collections.get(collection) ?? { count: 0, sum: 0n }
    const hash = BigInt(`0x${createHash('sha256').update(line.trimEnd()).digest('hex')}`)
    this.#collections.set(collection, { count: count + 1, sum: BigInt.asUintN(256, sum + hash) })
  }

  /** @returns {Content}  without empty collections */
  content () {
    const all = [...this.#collections]
    return {
      counts: Object.fromEntries(all.map(([name, { count }]) => [name, count])),
      checksums: Object.fromEntries(all.map(([name, { sum }]) => [name, sum.toString(16).padStart(64, '0')]))
    }
  }
}

/**
 * The backup is complete if this ends without an error.
 * @param {AsyncIterable<string>} lines
 * @returns {AsyncGenerator<{collection: string, document: Document}, Content>} returns what the file contains
 * @throws {BackupError}
 */
export async function * documentsIn (lines) {
  const tally = new Tally()
  let number = 0
  /** @type {End | null} */
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
      end = content
    } else {
      if (typeof content.c !== 'string' || content.d === null || typeof content.d !== 'object') {
        throw new BackupError(`line ${number} is no document`)
      }
      tally.add(content.c, line)
      yield { collection: content.c, document: EJSON.deserialize(content.d, { relaxed: false }) }
    }
  }
  if (end === null) throw new BackupError('it breaks off: its last line is missing')
  const found = tally.content()
  const problem = difference(end.end, end.checksums ?? found.checksums, found)
  if (problem !== null) throw new BackupError(`it ${problem}`)
  return found
}

/**
 * @param {Content['counts']} counts  as they should be
 * @param {Content['checksums']} checksums  as they should be
 * @param {Content} found
 * @returns {string | null} what differs, as the end of a sentence
 */
export function difference (counts, checksums, found) {
  for (const name of new Set([...Object.keys(counts), ...Object.keys(found.counts)])) {
    if ((counts[name] ?? 0) !== (found.counts[name] ?? 0)) {
      return `has ${found.counts[name] ?? 0} documents of ${name}, and should have ${counts[name] ?? 0}`
    }
    if (checksums[name] !== found.checksums[name]) return `has other documents of ${name} than its checksum says`
  }
  return null
}

/** @param {string} line @param {number} number */
function parsed (line, number) {
  try {
    return JSON.parse(line)
  } catch {
    throw new BackupError(number === 1 ? 'it is not a backup of a wiki' : `line ${number} is damaged`)
  }
}
