import createError from '@fastify/error'
import { retryAfter } from '../../http/retry-after.js'

/** @import {Readable} from 'node:stream' */
/** @import {Types} from 'mongoose' */

export const STORAGE_NAMES = /** @type {const} */ (['database', 'disk', 's3'])
/** @typedef {(typeof STORAGE_NAMES)[number]} StorageName */

/**
 * `id` is new for each copy of a picture, so that removing one late never takes away another.
 * @typedef {{id: Types.ObjectId, name: string}} Key  `name`: of the content
 * @typedef {{id: Types.ObjectId, name: string | null}} StoredKey  null: the storage does not know it
 */

/**
 * In the same place, those of private spaces have other names: no version that knows no spaces takes them for
 * left-overs, or sends them.
 */
const APART = 'space-'

/**
 * Where the bytes of pictures are. They are durable before a document refers to them; those that no document refers to
 * are collected later (sweep.js).
 * @typedef {object} Storage
 * @property {StorageName} name
 * @property {boolean} isApart  of private spaces
 * @property {(id: Types.ObjectId, bytes: AsyncIterable<Buffer>, nameAtEnd: () => string) => Promise<void>} put
 *   resolves when they are durable; nothing is left when `bytes` or `nameAtEnd` throw
 * @property {(key: Key, length: number) => Promise<Readable>} read  rejects with BytesMissing or 503
 * @property {(key: StoredKey) => Promise<void>} remove  also what is not there
 * @property {() => AsyncIterable<StoredKey>} list  also of uploads that never ended
 * @property {(key: Key) => string | null} internalUrl  where nginx finds the file; null: the wiki sends it
 * @property {(mayWrite: boolean) => Promise<void>} check  rejects where it cannot be used
 * @property {() => Promise<string | null>} readOwner  null: it belongs to no wiki yet
 * @property {(owner: string) => Promise<void>} writeOwner
 * @property {() => void} close
 */

/** The bytes of a picture are not where its document says. */
export const BytesMissing = createError('WIKI_PICTURE_LOST',
  'The bytes of a picture are not where they were stored (%s).', 500)

const Away = createError('WIKI_PICTURES_AWAY',
  'The wiki cannot reach the place of its pictures just now. Try again in a moment.', 503)

const RETRY_AFTER_S = 5

/** @param {unknown} error */
export const isAway = (error) => error instanceof Away

/** @param {unknown} cause  may name addresses and folders: for the log alone */
export const storageAway = (cause) => Object.assign(retryAfter(new Away(), RETRY_AFTER_S), { cause })

/** Only hexadecimal digits, so that no name leaves the folder. @param {Key} key @param {boolean} isApart */
export function fileNameOf ({ id, name }, isApart) {
  if (!/^[0-9a-f]{32}$/.test(name)) throw new TypeError(`${JSON.stringify(name)} is not the name of a picture`)
  return `${isApart ? APART : ''}${name}-${id.toHexString()}`
}

/** @param {string} fileName @param {boolean} isApart @returns {{name: string, id: string} | null} null: another file */
export function partsOf (fileName, isApart) {
  if (fileName.startsWith(APART) !== isApart) return null
  const [, name, id] = /^([0-9a-f]{32})-([0-9a-f]{24})$/.exec(isApart ? fileName.slice(APART.length) : fileName) ?? []
  return id === undefined ? null : { name, id }
}
