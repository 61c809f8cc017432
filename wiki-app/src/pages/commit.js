import { driverOf } from '../database/driver.js'
import { answerInTime, createWait, inTransaction } from '../database/transaction.js'
import { currentRevision, HEAD_FIELDS, kindOf, linkTargetsOf } from './head.js'
import { keysOf } from './search-key.js'

/** @import {ClientSession} from 'mongoose' */
/** @import {Renderer} from '../markdown/renderer.js' */
/** @import {KeyedMutex} from '../process/keyed-mutex.js' */
/** @import {Head} from './head.js' */
/** @import {LinkTargets} from './link-targets.js' */
/** @import {Models, Page} from './model.js' */

/** Both may be ''. @typedef {{author?: string, summary?: string}} Attribution */

/**
 * Gets the newest state within the transaction; throws to refuse.
 * @typedef {(head: Head | null) => void} Precondition
 */

/**
 * @typedef {object} Edit
 * @property {string} name
 * @property {{content: string, contentBytes: number, tags?: string[]}} change  without `tags`, the tags stay
 * @property {Attribution} attribution
 * @property {{html: string, links: string[]} | null} rendered  null for a deletion
 * @property {Precondition} precondition
 */

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
 * `add` runs within the transaction, `added` once it is durable.
 * @typedef {(commits: Commit[], session: ClientSession) => Promise<void>} AddCommits
 * @typedef {{add: AddCommits, added: () => void}} Outbox
 */

/**
 * Short addresses of pages, see short-links/store.js.
 * @typedef {Pick<import('../short-links/store.js').ShortLinks, 'move' | 'forget'>} MovedLinks
 */

/**
 * @typedef {{targets: LinkTargets, subpages: import('./subpages.js').SubpageLists, shortLinks: MovedLinks}} Between
 * @typedef {Between & {models: Models, currentHtml: import('./current-html.js').CurrentHtml}} Stored
 * @typedef {Stored & {renderer: Renderer, outbox: Outbox, runExclusive: KeyedMutex}} WriteContext
 */

/** @typedef {ReturnType<typeof createCommit>} CommitPage */

/** @param {WriteContext} context */
export function createCommit ({ models: { Pages, Revisions }, targets, subpages, currentHtml, outbox, runExclusive }) {
  /**
   * Durable once it resolves. The mutex serialises writes of this process, the transaction detects those of others.
   * @param {Edit} edit
   * @param {import('../database/transaction.js').Wait} [wait]  created when the request arrived
   */
  const commit = (edit, wait = createWait(Pages.db)) => answerInTime(wait, async () => {
    const written = await runExclusive(edit.name, () =>
      inTransaction(Pages.db, (session) => write(edit, session), wait))
    outbox.added()
    return written
  })

  /** @param {Edit} edit @param {ClientSession} session */
  async function write (edit, session) {
    const { name, change, attribution: { author = '' }, rendered, precondition } = edit
    const deleted = rendered === null
    const now = new Date()
    const links = rendered?.links ?? []
    // If the precondition throws, the transaction undoes the write.
    const before = await replaceHead(name, await stateAfter(edit, now, session), now, session)
    precondition(before)
    const revision = (before?.revision ?? 0) + 1
    const [tagsBefore, tags] = [before?.tags ?? [], deleted ? [] : change.tags ?? before?.tags ?? []]
    await driverOf(Revisions).insertOne(revisionOf(edit, before, { revision, tags, now }), { session })
    await targets.relink(session, linkTargetsOf(before), linkTargetsOf({ _id: name, links }))
    await targets.retag(session, tagsBefore, tags)
    const linking = await targets.setKind(session, name, deleted ? null : 'page', kindOf(before))
    const listed = deleted || currentRevision(before) === 0
    const cameOrWent = deleted ? { went: [name] } : { came: [{ _id: name, subpages_hash: before?.subpages_hash }] }
    await outbox.add([{
      name,
      revision,
      authors: [author],
      tags: [...new Set([...tagsBefore, ...tags])],
      linking,
      links: symmetricDifference(before?.links ?? [], links),
      listed,
      above: listed ? await subpages.update(session, cameOrWent) : []
    }], session)
    return { revision, before }
  }

  /** @param {Edit} edit @param {Date} now @param {ClientSession} session @returns {Promise<Partial<Page>>} */
  async function stateAfter ({ name, change: { content, contentBytes, tags }, rendered }, now, session) {
    if (rendered === null) return { deleted_at: now, redirect_to: null, links: [], tags: [] }
    return {
      ...keysOf(name),
      content,
      content_bytes: contentBytes,
      links: rendered.links,
      modified_at: now,
      deleted_at: null,
      redirect_to: null,
      ...tags && { tags },
      ...await currentHtml.storedFields(name, rendered, now, session)
    }
  }

  /**
   * Increments the revision.
   * @param {string} name @param {Partial<Page>} state @param {Date} now @param {ClientSession} session
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

/** @param {Edit} edit @param {Head | null} before @param {{revision: number, tags: string[], now: Date}} after */
function revisionOf ({ name, change, attribution: { author = '', summary = '' }, rendered }, before, after) {
  return {
    page: name,
    revision: after.revision,
    // A renamed page's revisions moved to its new name.
    follows: before === null || before.redirect_to ? null : before.revision,
    content: change.content,
    content_bytes: change.contentBytes,
    tags: after.tags,
    author,
    summary,
    deleted: rendered === null,
    created_at: after.now
  }
}

/** @param {string[]} some @param {string[]} others */
function symmetricDifference (some, others) {
  const [before, after] = [new Set(some), new Set(others)]
  return [...some.filter((name) => !after.has(name)), ...others.filter((name) => !before.has(name))]
}
