import { once } from 'node:events'
import { startGit } from './git.js'
import { committer } from './message.js'

/** @import {Exported} from './message.js' */

/** https://git-scm.com/docs/git-fast-import @typedef {ReturnType<typeof startImport>} FastImport */

const OCTAL = 8
const OCTAL_DIGITS = 3
/** What a line of a command may not have. */
const SPECIAL = /["\\\p{Cc}]/gu

/**
 * Paths of pages have nothing special; those that a commit in the repository names may have anything.
 * https://git-scm.com/docs/git-fast-import#_filemodify
 * @param {string} path
 */
const quoted = (path) => `"${path.replace(SPECIAL, (each) =>
  `\\${each.charCodeAt(0).toString(OCTAL).padStart(OCTAL_DIGITS, '0')}`)}"`

/**
 * Writes commits, one after the other, without a working tree.
 * @param {string} folder
 * @param {{ref: string, from: string | null, signal?: AbortSignal}} options  `ref`: gets the last commit; `from`: hash
 *   of the commit before the first one
 */
export function startImport (folder, { ref, from, signal }) {
  const { stdin, ended, stop } = startGit(folder, ['fast-import', '--quiet', '--done', '--force'], signal)
  let isFirst = true
  let hasFailed = false
  ended.catch(() => { hasFailed = true })

  /** @param {string | Buffer} piece */
  async function write (piece) {
    if (hasFailed) await ended
    if (!stdin.write(piece)) await Promise.race([once(stdin, 'drain'), ended])
  }

  /** @param {string | Buffer} text */
  async function data (text) {
    const bytes = Buffer.from(text)
    await write(`data ${bytes.length}\n`)
    await write(bytes)
    await write('\n')
  }

  return {
    /**
     * @param {Pick<Exported, 'author' | 'at'>} by @param {string} message
     * @param {{remove?: string | null, move?: [from: string, to: string] | null,
     *   file?: {path: string, content: string | Buffer} | null}} changes
     */
    async commit ({ author, at }, message, { remove, move, file }) {
      // Older than 1970 is not possible in git.
      const person = `${committer(author)} <> ${Math.max(0, Math.floor(at.getTime() / 1000))} +0000`
      await write(`commit ${ref}\nauthor ${person}\ncommitter ${person}\n`)
      await data(message)
      if (isFirst && from !== null) await write(`from ${from}\n`)
      isFirst = false
      if (remove) await write(`D ${quoted(remove)}\n`)
      if (move) await write(`R ${quoted(move[0])} ${quoted(move[1])}\n`)
      if (!file) return
      await write(`M 100644 inline ${quoted(file.path)}\n`)
      await data(file.content)
    },

    /** All commits are stored once it resolves. */
    async end () {
      stdin.end('done\n')
      await ended
    },

    stop
  }
}
