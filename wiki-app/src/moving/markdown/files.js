import { constants } from 'node:fs'
import { open, opendir, realpath } from 'node:fs/promises'
import path from 'node:path'
import { pathRefusal } from '../../archive/paths.js'

export const FILES_MAX = 200_000

/** `refusal`: why it is not read. @typedef {{path: string, refusal?: string}} Found */

/**
 * Files below a folder, in the order of their paths; hidden ones are left out.
 * @param {string} root  an absolute path without symbolic links @param {AbortSignal} [signal]
 * @returns {AsyncGenerator<Found>} with paths below the root
 * @throws {Error} when there are too many
 */
export async function * filesBelow (root, signal) {
  let count = 0

  /** @param {string} below  '' or with a slash at its end @returns {AsyncGenerator<Found>} */
  async function * inFolder (below) {
    signal?.throwIfAborted()
    const entries = []
    for await (const entry of await opendir(path.join(root, below))) {
      if (entry.name.startsWith('.')) continue
      if (++count > FILES_MAX) throw new Error(`there are more than ${FILES_MAX} files in ${root}: move it in parts`)
      entries.push(entry)
    }
    entries.sort((one, other) => one.name < other.name ? -1 : 1)
    for (const entry of entries) {
      const each = below + entry.name
      const refusal = pathRefusal(each)
      if (refusal !== null) yield { path: each, refusal }
      else if (entry.isDirectory()) yield * inFolder(`${each}/`)
      else if (entry.isFile()) yield { path: each }
      else yield { path: each, ...entry.isSymbolicLink() ? await linked(each) : { refusal: 'It is no file.' } }
    }
  }

  /** @param {string} link */
  async function linked (link) {
    const target = await realpath(path.join(root, link)).catch(() => null)
    if (target === null) return { refusal: 'It is a link to nothing.' }
    if (!`${target}${path.sep}`.startsWith(root + path.sep)) {
      return { refusal: 'It is a link that leads out of the folder.' }
    }
    return await isFile(target) ? {} : { refusal: 'It is a link to a folder, which is there itself.' }
  }

  yield * inFolder('')
}

/**
 * @param {string} root @param {string} below  of `filesBelow` @param {number} maxBytes
 * @returns {Promise<{bytes: Buffer, modifiedAt: Date} | null>} null when it is larger
 * @throws {Error} when it cannot be read
 */
export async function readBelow (root, below, maxBytes) {
  const target = await realpath(path.join(root, below))
  // It may have changed since.
  if (!target.startsWith(root + path.sep)) throw new Error('it leads out of the folder')
  const file = await open(target, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  try {
    const { size, mtime } = await file.stat()
    if (size > maxBytes) return null
    const bytes = Buffer.alloc(Number(size))
    const { bytesRead } = await file.read(bytes, 0, bytes.length, 0)
    return { bytes: bytes.subarray(0, bytesRead), modifiedAt: mtime }
  } finally {
    await file.close()
  }
}

/** @param {string} target */
async function isFile (target) {
  const file = await open(target, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch(() => null)
  try {
    return (await file?.stat())?.isFile() ?? false
  } finally {
    await file?.close()
  }
}
