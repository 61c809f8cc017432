import mongoose from 'mongoose'
import { keyOf, storageNameOf } from './storages.js'

/** @import {Collection, Db} from 'mongodb' */
/** @import {Types} from 'mongoose' */
/** @import {defineFileModels, StoredFile} from '../model.js' */
/** @import {Storage, StoredKey} from './storage.js' */

const DAY_MS = 86_400_000
/** Far longer than an upload, or a copy from place to place, takes. */
export const UNUSED_MIN_MS = DAY_MS
const CHECKED_AT_ONCE = 500

/**
 * Removes what no document refers to: of uploads that a crash ended, of deletions whose second half failed.
 * @param {Pick<ReturnType<typeof defineFileModels>, 'Files'>} models @param {Storage} storage
 * @param {{unusedMs?: number, signal?: AbortSignal}} [options]  `unusedMs`: younger ones may still get their document
 * @returns {Promise<number>} removed copies
 */
export async function sweep ({ Files }, storage, { unusedMs = UNUSED_MIN_MS, signal } = {}) {
  let removed = 0
  const oldest = Date.now() - unusedMs
  for await (const keys of inParts(storage.list())) {
    signal?.throwIfAborted()
    const candidates = keys.filter(({ id }) => id.getTimestamp().getTime() <= oldest)
    if (candidates.length === 0) continue
    const used = await usedIn(Files, storage, candidates.map(({ id }) => id))
    for (const key of candidates) {
      if (used.has(key.id.toHexString())) continue
      await storage.remove(key)
      removed++
    }
  }
  return removed
}

/** @param {import('mongoose').Model<StoredFile>} Files @param {Storage} storage @param {Types.ObjectId[]} ids */
async function usedIn (Files, { name }, ids) {
  const among = mongoose.trusted({ $in: ids })
  const files = /** @type {StoredFile[]} */ (await Files.find(
    { $or: [{ _id: among }, { 'metadata.place.store': name, 'metadata.place.id': among }] }, { metadata: 1 }
  ).lean().exec())
  return new Set(files.filter((file) => storageNameOf(file) === name).map((file) => keyOf(file).id.toHexString()))
}

/** @param {AsyncIterable<StoredKey>} keys */
async function * inParts (keys) {
  /** @type {StoredKey[]} */
  let part = []
  for await (const key of keys) {
    if (part.push(key) < CHECKED_AT_ONCE) continue
    yield part
    part = []
  }
  yield part
}
