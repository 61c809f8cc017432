import { RepositoryError, startGit } from './git.js'

/**
 * Reads objects with one git, one after the other: https://git-scm.com/docs/git-cat-file#_batch_output
 * @param {string} folder @param {AbortSignal} [signal]
 */
export function openObjects (folder, signal) {
  const { stdin, stdout, ended, stop } = startGit(folder, ['cat-file', '--batch'], signal)
  const source = createSource(stdout)
  /** @type {Promise<unknown>} */
  let last = Promise.resolve()

  /** @param {string} hash @param {number} maxBytes */
  async function readNext (hash, maxBytes) {
    stdin.write(`${hash}\n`)
    const line = await source.line()
    if (line === null) {
      await ended
      throw new RepositoryError(`git ended while it read ${folder}`)
    }
    const size = Number(/^\S+ \w+ (\d+)$/.exec(line)?.[1] ?? NaN)
    if (Number.isNaN(size)) throw new RepositoryError(`${folder} is not whole: ${line}; try git fsck there`)
    const bytes = await source.bytes(size, maxBytes)
    await source.bytes(1, 1)
    return bytes
  }

  return {
    /**
     * @param {string} hash  that git printed @param {number} maxBytes
     * @returns {Promise<Buffer | null>} null when it is larger
     * @throws {RepositoryError} when it is not there
     */
    read (hash, maxBytes) {
      const reading = last.then(() => readNext(hash, maxBytes))
      last = reading.catch(() => {})
      return reading
    },

    close () {
      stdin.end()
      stop()
    }
  }
}

/** @typedef {ReturnType<typeof openObjects>} Objects */

/** @param {import('node:stream').Readable} stream */
function createSource (stream) {
  const chunks = stream[Symbol.asyncIterator]()
  /** @type {Buffer} */
  let rest = Buffer.alloc(0)
  /** @returns {Promise<boolean>} false at the end */
  async function more () {
    const { value, done } = await chunks.next()
    if (!done) rest = value
    return !done
  }

  return {
    /** @returns {Promise<string | null>} null at the end; lines of git are short */
    async line () {
      let text = ''
      for (;;) {
        const end = rest.indexOf(10)
        text += rest.subarray(0, end === -1 ? undefined : end).toString()
        rest = rest.subarray(end === -1 ? rest.length : end + 1)
        if (end !== -1) return text
        if (!await more()) return null
      }
    },

    /**
     * @param {number} size  to read @param {number} maxBytes  to keep
     * @returns {Promise<Buffer | null>} null when there are more
     */
    async bytes (size, maxBytes) {
      const pieces = []
      for (let left = size; left > 0;) {
        if (rest.length === 0 && !await more()) throw new RepositoryError('git ended in the middle of a file')
        const piece = rest.subarray(0, left)
        if (size <= maxBytes) pieces.push(piece)
        rest = rest.subarray(piece.length)
        left -= piece.length
      }
      return size <= maxBytes ? Buffer.concat(pieces) : null
    }
  }
}
