import { isForClient } from '../archive/client-error.js'

/** @import {Edit} from '../pages/commit.js' */
/** @import {PageStore} from '../pages/store.js' */
/** @import {Draft} from './write-chunk.js' */

/** @typedef {Pick<Edit, 'change' | 'rendered'>} Prepared */

/** So many texts are tried one after the other, then some of those before them: each may take seconds. */
const TRIED_MAX = 5

/** @type {Prepared} */
const DELETION = { change: { content: '', contentBytes: 0 }, rendered: null }

/** The first `count` of some revisions cannot be shown as a page. */
export class Unshown extends Error {
  /** @param {string} problem @param {number} count */
  constructor (problem, count) {
    super(problem)
    this.count = count
  }
}

/** @param {Pick<PageStore, 'prepare'>} store */
export function createNewest (store) {
  /** Why they cannot be shown. @type {WeakMap<Draft, string>} */
  const problems = new WeakMap()

  /** @param {Draft} draft @returns {Promise<Prepared | null>} */
  async function shown (draft) {
    if (problems.has(draft)) return null
    try {
      return await store.prepare(draft)
    } catch (error) {
      if (!isForClient(error)) throw error
      problems.set(draft, error.message)
      return null
    }
  }

  /**
   * The newest revision that can be shown is the page. A deletion is an edit of its own: the one before it is a text.
   * @param {Draft[]} drafts  oldest first
   * @returns {Promise<{prepared: Prepared, count: number}>} it is the last of the first `count`
   * @throws {Unshown}
   */
  return async function newestOf (drafts) {
    for (let end = drafts.length; ;) {
      if (drafts[end - 1].deleted) {
        if (end === 1) return { prepared: DELETION, count: 1 }
        end--
      }
      let start = end
      while (start > 0 && !drafts[start - 1].deleted) start--
      for (const count of counts(start, end)) {
        const prepared = await shown(drafts[count - 1])
        if (prepared !== null) return { prepared, count }
      }
      if (start === 0) throw new Unshown(String(problems.get(drafts[end - 1])), end)
      end = start
    }
  }
}

/** @param {number} start @param {number} end @returns {Generator<number>} from `end` down to above `start` */
function * counts (start, end) {
  for (let back = 0; end - back > start + 1; back = back < TRIED_MAX - 1 ? back + 1 : 2 * back) yield end - back
  yield start + 1
}
