import { createHash } from 'node:crypto'
import mongoose from 'mongoose'
import { BytesMissing } from './storage.js'
import { keyOf, storageNameOf } from './storages.js'

/** @import {defineFileModels, StoredFile} from '../model.js' */
/** @import {StorageName} from './storage.js' */
/** @import {Storages} from './storages.js' */

/**
 * @typedef {ReturnType<typeof defineFileModels>} Models
 * @typedef {{files: number, bytes: number, damaged: string[], total: number}} Progress  `damaged`: they stay
 */

/** Copied at once, each through little memory. */
const LANES = 4
const READ_AT_ONCE = 100

/** The bytes are not those that the name stands for. */
class Damaged extends Error {}

/**
 * Copies each picture, reads the copy back, and only then refers to it and removes the old one. After a kill at any
 * moment all pictures can be read, and the next call continues. The wiki may run meanwhile, and other calls.
 * @param {Models} models @param {Storages} storages
 * @param {{to: StorageName, signal?: AbortSignal, onProgress?: (progress: Progress) => void}} options
 * @returns {Promise<Progress>} @throws {Error} when a place cannot be reached, or `signal` aborts
 */
export async function movePictures (models, storages, { to, signal, onProgress = () => {} }) {
  const elsewhere = to === 'database'
    ? { 'metadata.place.store': mongoose.trusted({ $exists: true, $ne: to }) }
    : { 'metadata.place.store': mongoose.trusted({ $ne: to }) }
  return forEach(models, elsewhere, { signal, onProgress }, (file) => moveOne(models, storages, file, to))
}

/**
 * Reads each picture, and compares its bytes with its name.
 * @param {Models} models @param {Storages} storages
 * @param {{signal?: AbortSignal, onProgress?: (progress: Progress) => void}} options
 */
export const checkPictures = (models, storages, { signal, onProgress = () => {} }) =>
  forEach(models, {}, { signal, onProgress }, async (file) => {
    await verify(file, await storages.get(storageNameOf(file)).read(keyOf(file), file.length))
    return true
  })

/**
 * @param {Models} models @param {Record<string, unknown>} which
 * @param {{signal?: AbortSignal, onProgress: (progress: Progress) => void}} options
 * @param {(file: StoredFile) => Promise<boolean>} work  false: the picture does not count
 */
async function forEach ({ Files }, which, { signal, onProgress }, work) {
  const query = /** @type {any} */ (which)
  /** @type {Progress} */
  const progress = { files: 0, bytes: 0, damaged: [], total: await Files.countDocuments(query).exec() }
  const files = inTurn(Files, query)
  const lane = async () => {
    for (;;) {
      signal?.throwIfAborted()
      const { done, value: file } = await files.next()
      if (done) return
      try {
        if (!await work(file)) continue
        progress.files++
        progress.bytes += file.length
      } catch (error) {
        if (!(error instanceof Damaged || error instanceof BytesMissing)) throw error
        if (!await isStill(Files, file)) continue
        progress.damaged.push(file.filename)
      }
      onProgress(progress)
    }
  }
  await Promise.all(Array.from({ length: LANES }, lane))
  return progress
}

/**
 * A cursor of the database would end after minutes of slow copies. Calls of `next` wait for each other.
 * @param {Models['Files']} Files @param {any} query
 * @returns {AsyncGenerator<StoredFile, undefined>}
 */
async function * inTurn (Files, query) {
  /** @type {StoredFile[]} */
  let part = []
  let after = {}
  do {
    part = await Files.find({ ...query, ...after }).sort({ _id: 1 }).limit(READ_AT_ONCE).lean().exec()
    yield * part
    after = { _id: mongoose.trusted({ $gt: part.at(-1)?._id }) }
  } while (part.length === READ_AT_ONCE)
  return undefined
}

/** @param {Models} models @param {Storages} storages @param {StoredFile} file @param {StorageName} to */
async function moveOne ({ Files }, storages, file, to) {
  const [source, target] = [storages.get(storageNameOf(file)), storages.get(to)]
  const key = { id: new mongoose.Types.ObjectId(), name: file.filename }
  const bytes = await source.read(keyOf(file), file.length)
  await target.put(key.id, verified(file, bytes), () => file.filename)
  try {
    await verify(file, await target.read(key, file.length))
  } catch (error) {
    await target.remove(key).catch(() => {})
    throw error
  }
  const place = { store: to, id: key.id }
  const { matchedCount } = await Files.updateOne(asRead(file), { $set: { 'metadata.place': place } }).exec()
  // It was deleted meanwhile, or another call has moved it.
  const old = matchedCount === 0 ? { storage: target, key } : { storage: source, key: keyOf(file) }
  await old.storage.remove(old.key)
  return matchedCount > 0
}

/** @param {StoredFile} file @returns a filter that no longer matches once it was deleted or moved */
const asRead = ({ _id, metadata: { place } }) => ({ _id, 'metadata.place.id': place?.id ?? null })

/** @param {Models['Files']} Files @param {StoredFile} file */
const isStill = async (Files, file) => await Files.exists(asRead(file)).exec() !== null

/** @param {StoredFile} file @param {AsyncIterable<Buffer>} bytes @throws {Damaged} at the end */
async function * verified ({ filename }, bytes) {
  const hash = createHash('sha256')
  for await (const piece of bytes) {
    hash.update(piece)
    yield piece
  }
  if (!hash.digest('hex').startsWith(filename)) throw new Damaged(`the bytes of ${filename} are damaged`)
}

/** @param {StoredFile} file @param {AsyncIterable<Buffer>} bytes @throws {Damaged} */
async function verify (file, bytes) {
  const pieces = verified(file, bytes)
  while (!(await pieces.next()).done) continue
}
