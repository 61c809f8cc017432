import { answerInTime, createWait, inTransaction } from '../database/transaction.js'
import { hashOf } from '../http/hash.js'
import { currentRevision, HEAD_FIELDS, kindOf, linkTargetsOf } from './head.js'
import { outdatedMark } from './link-targets.js'
import { NameTaken, PageMissing } from './page-errors.js'
import { keysOf } from './search-key.js'

/** @import {Attribution, Precondition} from './commit.js' */

/** @param {import('./commit.js').WriteContext} context */
export function createRename ({ models: { Pages, Revisions }, targets, outbox, runExclusive }) {
  /**
   * The old name redirects until someone creates a page there.
   * @param {string} name @param {string} target @param {Attribution} [attribution] @param {Precondition} [precondition]
   * @returns {Promise<number>} revision of the renaming
   * @throws {Error} 404 when there is no such page, 409 when the new name is taken; what `precondition` throws
   */
  async function rename (name, target, attribution = {}, precondition = () => {}) {
    const wait = createWait(Pages.db)
    return answerInTime(wait, async () => {
      const renamed = await runExclusive(name, () => inTransaction(Pages.db, (session) =>
        move(name, target, attribution, precondition, session), wait))
      outbox.added()
      return renamed
    })
  }

  /**
   * @param {string} name @param {string} target @param {Attribution} attribution @param {Precondition} precondition
   * @param {import('mongoose').ClientSession} session
   */
  async function move (name, target, { author = '', summary = '' }, precondition, session) {
    const page = await Pages.findOne({ _id: name }, null, { session }).lean().exec()
    if (page === null || currentRevision(page) === 0) throw new PageMissing(name)
    precondition(page)
    const existing = await Pages.findOne({ _id: target }, HEAD_FIELDS, { session }).lean().exec()
    const history = await Revisions.findOne({ page: target }, { _id: 1 }, { session }).lean().exec()
    if (name === target || currentRevision(existing) !== 0 || history !== null) throw new NameTaken(target)

    // Must grow, for both names.
    const revision = Math.max(page.revision, existing?.revision ?? 0) + 1
    const now = new Date()
    const linking = await targets.setKind(session, target, 'page', kindOf(existing))
    await targets.setKind(session, name, 'redirect', 'page')
    await targets.relink(session, linkTargetsOf(existing), linkTargetsOf({ ...page, _id: target }))
    await targets.relink(session, linkTargetsOf(page), [target])
    const state = {
      ...page,
      _id: target,
      ...keysOf(target),
      revision,
      html_hash: hashOf(page.html, now.toISOString()),
      modified_at: now,
      // The page's own links to its new name are no longer missing.
      links_outdated: outdatedMark()
    }
    await Pages.replaceOne({ _id: target }, state, { session, upsert: true }).exec()
    const former = { revision, deleted_at: now, redirect_to: target, links: [], tags: [] }
    await Pages.updateOne({ _id: name }, { $set: former }, { session }).exec()
    await Revisions.updateMany({ page: name }, { $set: { page: target } }, { session }).exec()
    const { content, content_bytes: contentBytes, tags = [] } = page
    await Revisions.insertMany([{
      page: target,
      revision,
      follows: page.revision,
      content,
      content_bytes: contentBytes,
      tags,
      author,
      summary: summary || `Renamed from “${name}”`,
      deleted: false,
      created_at: now
    }], { session, lean: true })
    await outbox.add([
      { name, revision, authors: [author], tags, linking: [], links: [target], listed: true },
      { name: target, revision, authors: [author], tags, linking, links: [name], listed: true }
    ], session)
    return revision
  }

  return rename
}
