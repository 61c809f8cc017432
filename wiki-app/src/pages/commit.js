import { driverOf } from '../database/driver.js'
import { inTransaction, stillWanted } from '../database/transaction.js'
import { currentRevision, HEAD_FIELDS, kindOf, linkTargetsOf } from './head.js'
import { titleKey } from './name.js'

/** @typedef {import('./head.js').Head} Head */

/**
 * The author and the summary of a change; both may be ''.
 * @typedef {{author?: string, summary?: string}} Attribution
 */

/**
 * Throws to refuse a write. It gets the newest state within the step that writes, so no other write can come between.
 * @typedef {(head: Head | null) => void} Precondition
 */

/**
 * The effects of an edit, for purging the copies that it made stale.
 * @typedef {object} Commit
 * @property {string} name
 * @property {number} revision
 * @property {string[]} authors  those whose list of changes grew
 * @property {string[]} tags  of the page, before and after
 * @property {string[]} linking  pages that show their link to this page differently now; if there are more than
 *   LINKING_MAX, the list may be incomplete
 * @property {string[]} links  names that the page started or stopped linking to
 * @property {boolean} listed  whether the page entered or left the lists of pages
 */

/**
 * Receives commits. `add` runs within the transaction, so that they are stored if and only if the edit is; `added` runs
 * once the edit is durable.
 * @typedef {object} Outbox
 * @property {(commits: Commit[], session: import('mongoose').ClientSession) => Promise<void>} add
 * @property {() => void} added
 */

/**
 * The dependencies of writes.
 * @typedef {object} WriteContext
 * @property {ReturnType<typeof import('./model.js').defineModels>} models
 * @property {ReturnType<typeof import('./link-targets.js').createLinkTargets>} targets
 * @property {ReturnType<typeof import('./current-html.js').createCurrentHtml>} currentHtml
 * @property {import('../markdown/renderer.js').Renderer} renderer
 * @property {Outbox} outbox
 * @property {ReturnType<typeof import('../process/keyed-mutex.js').createKeyedMutex>} inTurn
 *   serialises the writes to a page
 */

/** @typedef {ReturnType<typeof createCommit>} CommitPage */

/** @param {WriteContext} context */
export function createCommit ({ models: { Pages, Revisions }, targets, currentHtml, outbox, inTurn }) {
  /**
   * Changes a page's text; nothing else does. Writes the newest state and its revision, both or neither, durable when
   * this returns. Writes to one page are serialised in this process; the transaction detects writes of other processes.
   * @param {string} name
   * @param {object} change
   * @param {string} change.content
   * @param {number} change.contentBytes
   * @param {string[]} [change.tags]  undefined: the tags stay
   * @param {Attribution} attribution
   * @param {{html: string, links: string[]} | null} rendered  null for a deletion
   * @param {Precondition} precondition
   * @param {() => boolean} [wanted]  created when the request arrived: the request may be refused while this is queued
   * @returns {Promise<{revision: number, before: Head | null}>}
   */
  async function commit (name, change, attribution, rendered, precondition, wanted = stillWanted(Pages.db)) {
    const written = await inTurn(name, () => inTransaction(Pages.db, (session) =>
      write(name, change, attribution, rendered, precondition, session), wanted))
    outbox.added()
    return written
  }

  /**
   * @param {string} name
   * @param {{content: string, contentBytes: number, tags?: string[]}} change
   * @param {Attribution} attribution
   * @param {{html: string, links: string[]} | null} rendered
   * @param {Precondition} precondition
   * @param {import('mongoose').ClientSession} session
   */
  async function write (name, change, { author = '', summary = '' }, rendered, precondition, session) {
    const { content, contentBytes } = change
    const deleted = rendered === null
    const now = new Date()
    const links = rendered?.links ?? []
    const state = rendered === null
      ? { deleted_at: now, redirect_to: null, links, tags: [] }
      : {
          title_key: titleKey(name),
          content,
          content_bytes: contentBytes,
          links,
          modified_at: now,
          deleted_at: null,
          redirect_to: null,
          ...change.tags && { tags: change.tags },
          ...await currentHtml.storedFields(name, rendered, now, session)
        }
    // Read and written in one step: if the precondition throws, the transaction undoes the write.
    const before = await replaceHead(name, state, now, session)
    precondition(before)
    const revision = (before?.revision ?? 0) + 1
    // The revisions of a renamed page moved to its new name.
    const follows = before === null || before.redirect_to ? null : before.revision
    const [tagsBefore, tags] = [before?.tags ?? [], deleted ? [] : change.tags ?? before?.tags ?? []]
    await driverOf(Revisions).insertOne({
      page: name,
      revision,
      follows,
      content,
      content_bytes: contentBytes,
      tags,
      author,
      summary,
      deleted,
      created_at: now
    }, { session })
    await targets.relink(session, linkTargetsOf(before), linkTargetsOf({ _id: name, links }))
    await targets.retag(session, tagsBefore, tags)
    const linking = await targets.setKind(session, name, deleted ? null : 'page', kindOf(before))
    await outbox.add([{
      name,
      revision,
      authors: [author],
      tags: [...new Set([...tagsBefore, ...tags])],
      linking,
      links: symmetricDifference(before?.links ?? [], links),
      listed: deleted || currentRevision(before) === 0
    }], session)
    return { revision, before }
  }

  /**
   * Writes a page's newest state and increments its revision.
   * @param {string} name
   * @param {Partial<import('./model.js').Page>} state
   * @param {Date} now
   * @param {import('mongoose').ClientSession} session
   * @returns {Promise<Head | null>} the state before
   */
  async function replaceHead (name, state, now, session) {
    const onInsert = { created_at: now, ...state.tags === undefined && { tags: [] } }
    const update = { $set: state, $inc: { revision: 1 }, $setOnInsert: onInsert }
    return driverOf(Pages).findOneAndUpdate({ _id: name }, update, {
      projection: HEAD_FIELDS, upsert: true, returnDocument: 'before', session
    })
  }

  return commit
}

/**
 * @param {string[]} some
 * @param {string[]} others
 */
const symmetricDifference = (some, others) =>
  [...some.filter((name) => !others.includes(name)), ...others.filter((name) => !some.includes(name))]
