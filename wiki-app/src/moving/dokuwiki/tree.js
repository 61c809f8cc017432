import { readdir, readFile, realpath, stat } from 'node:fs/promises'
import path from 'node:path'

/** Of folders in folders. */
const DEPTH_MAX = 50

/** A file cannot be taken; the message is a sentence for the report. */
export class FileError extends Error {
  statusCode = 400
}

/**
 * The files of a folder. Links to files within it are followed, others not.
 * @param {string} folder
 */
export async function openTree (folder) {
  const root = await realpath(folder)

  /** @param {string} name  relative to the folder @throws {FileError} */
  async function placeOf (name) {
    const place = await realpath(path.join(root, name))
    if (!place.startsWith(root + path.sep)) throw new FileError('It is a symbolic link that leads out of the folder.')
    return place
  }

  return {
    /**
     * @param {string} name  of a folder in it, which may be missing
     * @returns {AsyncGenerator<{name: string, isFile: boolean}>} names relative to `name`, in the order of their
     *   characters; `isFile` is false for what is no file: a link to a folder, a socket
     */
    async * files (name) {
      yield * filesOf(path.join(root, name), '', 0)
    },

    /**
     * @param {string} name @param {number} maxBytes
     * @returns {Promise<{bytes: Buffer, modifiedAt: Date} | null>} null when there is none @throws {FileError}
     */
    async read (name, maxBytes) {
      try {
        const place = await placeOf(name)
        const { size, mtime } = await stat(place)
        if (size > maxBytes) throw new FileError(`It has more than ${maxBytes} bytes.`)
        return { bytes: await readFile(place), modifiedAt: mtime }
      } catch (error) {
        const { code } = /** @type {NodeJS.ErrnoException} */ (error)
        if (code === 'ENOENT' || code === 'ENOTDIR' || code === 'EISDIR' || code === 'ENAMETOOLONG') return null
        if (code === 'EACCES' || code === 'ELOOP') throw new FileError(`It cannot be read (${code}).`)
        throw error
      }
    },

    /** @param {string} name @returns {Promise<number>} bytes; 0 when there is none */
    size: (name) => stat(path.join(root, name)).then(({ size }) => size, () => 0),
    root
  }
}

/** @typedef {Awaited<ReturnType<typeof openTree>>} Tree */

/**
 * @param {string} folder @param {string} prefix  of the names @param {number} depth
 * @returns {AsyncGenerator<{name: string, isFile: boolean}>}
 */
async function * filesOf (folder, prefix, depth) {
  const entries = await readdir(folder, { withFileTypes: true }).catch((error) => {
    if (error.code === 'ENOENT') return []
    throw error
  })
  for (const entry of entries.sort((a, b) => a.name < b.name ? -1 : 1)) {
    const name = `${prefix}${entry.name}`
    const place = path.join(folder, entry.name)
    if (entry.isDirectory() && depth < DEPTH_MAX) yield * filesOf(place, `${name}/`, depth + 1)
    else {
      const isLinkToFile = entry.isSymbolicLink() && await stat(place).then((found) => found.isFile(), () => false)
      yield { name, isFile: entry.isFile() || isLinkToFile }
    }
  }
}
