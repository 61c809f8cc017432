import { driverOf } from '../database/driver.js'
import { inTransaction, stillWanted } from '../database/transaction.js'
import { currentRevision, HEAD_FIELDS, kindOf, linkTargetsOf } from './head.js'
import { titleKey } from './name.js'

/** @typedef {import('./head.js').Head} Head */

/**
 * Who changes a page and why; both may be ''.
 * @typedef {{author?: string, summary?: string}} Attribution
 */

/**
 * Refuses a write by throwing. It gets the newest state in the step that writes, so no other write comes between.
 * @typedef {(head: Head | null) => void} Precondition
 */

/**
 * What an edit did, for those who keep copies of what it made stale.
 * @typedef {object} Commit
 * @property {string} name
 * @property {number} revision
 * @property {string[]} authors  whose list of changes grew
 * @property {string[]} tags  of the page, before and after
 * @property {string[]} linking  pages that show the page's link differently now; more than LINKING_MAX when there are more
 * @property {string[]} links  names that the page began or ceased to link to
 * @property {boolean} listed  whether the page appeared in the lists of pages, or left them
 */

/**
 * Receives commits: `add` within the transaction, so that they are stored when and only when the edit is, `added` once
 * it is durable.
 * @typedef {object} Outbox
 * @property {(commits: Commit[], session: import('mongoose').ClientSession) => Promise<void>} add
 * @property {() => void} added
 */

/**
 * What writes share.
 * @typedef {object} WriteContext
 * @property {ReturnType<typeof import('./model.js').defineModels>} models
 * @property {ReturnType<typeof import('./link-targets.js').createLinkTargets>} targets
 * @property {ReturnType<typeof import('./current-html.js').createCurrentHtml>} currentHtml
 * @property {import('../markdown/renderer.js').Renderer} renderer
 * @property {Outbox} outbox
 * @property {ReturnType<typeof import('../process/keyed-mutex.js').createKeyedMutex>} inTurn  of all writes to a page
 */

/** @typedef {ReturnType<typeof createCommit>} CommitPage */

/** @param {WriteContext} context */
export function createCommit ({ models: { Pages, Revisions }, targets, currentHtml, outbox, inTurn }) {
  /**
   * The one way in which a page's text changes: its newest state and the revision that keeps it, both or neither,
   * durable when this returns. Writes to one page take turns in this process; the transaction detects those of other
   * processes.
   * @param {string} name
   * @param {object} change
   * @param {string} change.content
   * @param {number} change.contentBytes
   * @param {string[]} [change.tags]  not given: they stay
   * @param {Attribution} attribution
   * @param {{html: string, links: string[]} | null} rendered  null for a deletion
   * @param {Precondition} precondition
   * @param {() => boolean} [wanted]  taken when the request came: it may be refused while this waits for its turn
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
    // Read and written in one step: what the precondition refuses is undone with the transaction.
    const before = await replaceHead(name, state, now, session)
    precondition(before)
    const revision = (before?.revision ?? 0) + 1
    // A page that was renamed took its revisions along.
    const follows = before === null || before.redirect_to ? null : before.revision
    const [tagsBefore, tags] = [before?.tags ?? [], deleted ? [] : change.tags ?? before?.tags ?? []]
    await driverOf(Revisions).insertOne({
      page: name, revision, follows, content, content_bytes: contentBytes, tags, author, summary, deleted, created_at: now
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
   * Writes a page's newest state, one revision further.
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
