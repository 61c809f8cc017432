import { answerInTime, createWait, inTransaction } from '../database/transaction.js'
import { createGroupCommit } from './group-commit.js'
import { createWriteEdits } from './write-edits.js'

/** @import {ClientSession} from 'mongoose' */
/** @import {Wait} from '../database/transaction.js' */
/** @import {Renderer} from '../markdown/renderer.js' */
/** @import {KeyedMutex} from '../process/keyed-mutex.js' */
/** @import {Task} from '../queue/entries.js' */
/** @import {Later} from '../queue/queue.js' */
/** @import {Head} from './head.js' */
/** @import {LinkTargets} from './link-targets.js' */
/** @import {Models} from './model.js' */

/**
 * Author and summary may be ''. `role`: the writer's, for protected pages; an editor's by default.
 * @typedef {{author?: string, summary?: string, role?: import('../access/roles.js').Role}} Attribution
 */

/**
 * Gets the newest state within the transaction, also of the revision that the edit names as its `source`; throws to
 * refuse.
 * @typedef {Pick<import('./model.js').Revision, 'erased_at'> | null} Source  null: there is none
 * @typedef {(head: Head | null, source?: Source) => void} Precondition
 */

/**
 * @typedef {object} Edit
 * @property {string} name
 * @property {{content: string, contentBytes: number, tags?: string[]}} change  without `tags`, the tags stay
 * @property {Attribution} attribution
 * @property {{html: string, links: string[]} | null} rendered  null for a deletion
 * @property {Precondition} precondition
 * @property {{history: string, _id: import('mongoose').Types.ObjectId}} [source]  the revision whose text this is
 * @property {string} [saveId]  of a save that was answered before: its revision keeps it
 * @property {boolean} [mayBeStored]  an earlier attempt may have stored that revision, so it is looked for first
 * @property {(session: ClientSession, written: {name: string, revision: number}) => Promise<void>} [along]  writes
 *   something else in the same transaction; throws to refuse the edit
 * @property {Past} [past]  of a history that comes from another wiki, see moving/
 */

/**
 * Revisions older than the edit's own, and when that was made. Ids and dates grow, also beyond those of the page.
 * @typedef {object} Past
 * @property {import('mongoose').Types.ObjectId} id  of the edit's own revision
 * @property {Date} at  of the edit's own revision
 * @property {PastRevision[]} revisions  oldest first
 */

/**
 * @typedef {{id: import('mongoose').Types.ObjectId, at: Date, content: string, contentBytes: number, tags: string[],
 *   author: string, summary: string, saveId: string, deleted: boolean}} PastRevision
 */

/** `before`: the state that the edit replaced. @typedef {{revision: number, before: Head | null}} Written */

/**
 * What an edit made stale.
 * @typedef {object} Commit
 * @property {string} name
 * @property {number} revision
 * @property {string[]} authors  those whose list of changes grew
 * @property {string[]} tags  of the page, before and after
 * @property {string[]} linking  pages whose link to this one looks different now; may be incomplete above LINKING_MAX
 * @property {string[]} links  names that the page started or stopped linking to
 * @property {boolean} listed  whether the page entered or left the lists of pages
 * @property {string[]} above  pages above whose list of subpages changed
 * @property {string[]} [shortLinks]  ids of short addresses that led to this name, and lead to another one now
 */

/**
 * What counting made stale: lists of links, lists of tags, pages.
 * @typedef {{links: boolean, tags: boolean, pages: string[]}} Recounted
 */

/**
 * What an edit's transaction adds to the queue for the caches, see caching/purge-queue.js. `added` is called once it is
 * durable.
 * @typedef {object} Purges
 * @property {(commits: Commit[]) => Task[]} ofCommits
 * @property {(recounted: Recounted) => Task[]} ofCounted
 * @property {() => Task[]} ofEverything
 * @property {() => void} added
 */

/**
 * Hands edits to those that watch them, in the edits' transaction, see watching/fan-out.js.
 * @typedef {import('../watching/fan-out.js').FanOut['add']} FanOutEdits
 */

/**
 * Short addresses of pages, see short-links/store.js.
 * @typedef {Pick<import('../short-links/store.js').ShortLinks, 'move' | 'forget'>} MovedLinks
 */

/**
 * @typedef {{targets: LinkTargets, subpages: import('./subpages.js').SubpageLists, shortLinks: MovedLinks}} Between
 * @typedef {Between & {models: Models, later: Later, currentHtml: import('./current-html.js').CurrentHtml}} Stored
 * @typedef {Stored & {renderer: Renderer, purges: Purges, fanOut: FanOutEdits, runExclusive: KeyedMutex,
 *   guard: import('../protection/guard.js').WriteGuard}} WriteContext
 */

export const WRITE_STRATEGIES = /** @type {const} */ (['sync', 'group-commit'])

/**
 * `sync`: each edit is a transaction. `group-commit`: the edits that wait while another transaction commits are the
 * next one, at most `max` of them. It starts `waitMs` after the first of them came, or as soon as there are `max`.
 * @typedef {{strategy: (typeof WRITE_STRATEGIES)[number], max: number, waitMs: number}} Saving
 */

/** @typedef {ReturnType<typeof createCommit>} CommitPage */

/** @param {WriteContext} context @param {Saving} saving */
export function createCommit (context, { strategy, max, waitMs }) {
  const { models: { Pages }, purges, runExclusive } = context
  const connection = Pages.db
  const writeEdits = createWriteEdits(context)

  /** @param {Edit} edit @param {Wait} wait */
  async function commitAlone (edit, wait) {
    const written = await inTransaction(connection, async (session) => {
      const [outcome] = await writeEdits([edit], session)
      if ('refusal' in outcome) throw outcome.refusal
      return outcome
    }, wait)
    purges.added()
    return written
  }

  const commitEdit = strategy === 'sync'
    ? commitAlone
    : createGroupCommit({ connection, writeEdits, commitAlone, onCommitted: purges.added, max, waitMs })

  /**
   * Durable once it resolves. The mutex serialises writes of this process, the transaction detects those of others.
   * @param {Edit} edit
   * @param {Wait} [wait]  created when the request arrived
   * @returns {Promise<Written>}
   */
  return (edit, wait = createWait(connection)) =>
    answerInTime(wait, () => runExclusive(edit.name, () => commitEdit(edit, wait)))
}
