import mongoose from 'mongoose'
import { answerInTime, createWait, inTransaction } from '../database/transaction.js'
import { hashOf } from '../http/hash.js'
import { countsOf } from './counts.js'
import { historyOf } from './histories.js'
import { currentRevision, kindOf, linkTargetsOf, NO_TEXT } from './head.js'
import { outdatedMark } from './link-targets.js'
import { PageMissing } from './page-errors.js'
import { createRenamePlan } from './rename-plan.js'
import { searchKey } from './search-key.js'

/** @import {ClientSession} from 'mongoose' */
/** @import {Attribution, Commit, Precondition} from './commit.js' */
/** @import {Page} from './model.js' */
/** @import {Move} from './rename-plan.js' */

/** A version before this one may still write it, while both run. */
const CURRENT_FIELDS = { title_key: 0 }

/**
 * @typedef {object} Renaming
 * @property {string} name
 * @property {string} target  the new name
 * @property {Attribution} attribution
 * @property {Precondition} precondition  of the page, not of its subpages
 * @property {boolean} subpages  whether they are renamed, too
 * @property {string} [saveId]  of the revisions that it makes
 */

/** @param {import('./commit.js').WriteContext} context */
export function createRename (context) {
  const { models: { Pages }, subpages: lists, shortLinks, later, purges, guard, runExclusive } = context
  const planned = createRenamePlan(context.models)
  const move = createMove(context)

  /**
   * The old names redirect until someone creates pages there. All pages are renamed, or none.
   * @param {string} name @param {string} target @param {Attribution} [attribution] @param {Precondition} [precondition]
   * @param {{subpages?: boolean, saveId?: string}} [options]  whether they are renamed, too; `save_id` of its revisions
   * @returns {Promise<{revision: number, subpages: number}>} of the page's renaming; number of renamed subpages
   * @throws {Error} 403 when a name is protected, 404 when there is no such page, 409 when a new name is taken or there
   *   are too many subpages; what `precondition` throws
   */
  async function rename (name, target, attribution = {}, precondition = () => {}, { subpages = false, saveId } = {}) {
    const wait = createWait(Pages.db)
    return answerInTime(wait, async () => {
      /** @type {string[]} */
      let moved = []
      try {
        const { commits, ...renamed } = await runExclusive(name, () => inTransaction(Pages.db, async (session) => {
          const done = await renameAll({ name, target, attribution, precondition, subpages, saveId }, session)
          moved = done.commits.flatMap(({ shortLinks: ids = [] }) => ids)
          return done
        }, wait))
        purges.added()
        return renamed
      } finally {
        // Also after an error: the database may have committed, and the answer been lost.
        if (moved.length > 0) await shortLinks.forget(moved)
      }
    })
  }

  /** @param {Renaming} renaming @param {ClientSession} session */
  async function renameAll ({ name, target, attribution, precondition, subpages, saveId }, session) {
    /** @type {Page | null} */
    const page = await Pages.findOne({ _id: name }, CURRENT_FIELDS, { session }).lean().exec()
    if (page === null || currentRevision(page) === 0) throw new PageMissing(name)
    precondition(page)
    await guard.refuseMove(name, target, session)
    const moves = await planned({ name, target, subpages }, session)
    await refuseProtected(moves, attribution, session)
    const [first, ...others] = moves
    const by = { ...attribution, saveId }
    const done = [await move(page, first, by, session)]
    // Read one after the other: together they may take much memory.
    for (const other of others) {
      /** @type {Page | null} */
      const subpage = await Pages.findOne({ _id: other.from }, CURRENT_FIELDS, { session }).lean().exec()
      if (subpage === null) throw new PageMissing(other.from)
      done.push(await move(subpage, other, by, session))
    }
    const above = await lists.update(session, {
      came: done.map(({ target }) => target), went: [name, ...others.map(({ from }) => from)]
    })
    const moved = await shortLinks.move(session, moves)
    await guard.follow(moves, session)
    const [firstCommit, ...commits] = done.flatMap(({ commits }) => commits)
      .map((commit) => ({ ...commit, shortLinks: moved.get(commit.name) }))
    await later(purges.ofCommits([{ ...firstCommit, above }, ...commits]), session)
    const renamed = others.filter(({ isTalk }) => !isTalk).length
    return { revision: done[0].target.revision, subpages: renamed, commits: [firstCommit, ...commits] }
  }

  /** @param {Move[]} moves @param {Attribution} attribution @param {ClientSession} session @throws {Error} 403 */
  async function refuseProtected (moves, { role }, session) {
    const names = moves.flatMap(({ from, to }) => [from, to])
    const [refusal] = (await guard.refusals(names.map((name) => ({ name, role })), session)).values()
    if (refusal) throw refusal
  }

  return rename
}

/** @param {import('./commit.js').WriteContext} context */
const createMove = ({ models: { Pages, Revisions }, targets, later, fanOut }) =>
  /**
   * @param {Page} page @param {Move} move @param {Attribution & {saveId?: string}} by @param {ClientSession} session
   * @returns {Promise<{target: Page, commits: Commit[]}>}
   */
  async function move (page, { to, existing }, { author = '', summary = '', saveId }, session) {
    const name = page._id
    // Must grow, for both names.
    const revision = Math.max(page.revision, existing?.revision ?? 0) + 1
    const now = new Date()
    const linking = await targets.setKind(session, to, 'page', kindOf(existing))
    await targets.setKind(session, name, 'redirect', 'page')
    await later(countsOf({
      name: to,
      links: [
        { before: linkTargetsOf(existing), after: linkTargetsOf({ ...page, _id: to }) },
        { before: linkTargetsOf(page), after: [to] }
      ]
    }), session)
    const { history: _, ...others } = page
    const history = String(historyOf(page))
    const state = {
      ...others,
      _id: to,
      ...history !== to && { history },
      search_key: searchKey(to),
      revision,
      html_hash: hashOf(page.html, now.toISOString()),
      modified_at: now,
      // The page's own links to its new name are no longer missing.
      links_outdated: outdatedMark()
    }
    await Pages.replaceOne({ _id: to }, state, { session, upsert: true }).exec()
    const former = { revision, deleted_at: now, redirect_to: to, links: [], tags: [], ...NO_TEXT }
    await Pages.updateOne({ _id: name }, { $set: former, $unset: { history: 1 } }, { session }).exec()
    const { content, content_bytes: contentBytes, tags = [] } = page
    const _id = new mongoose.Types.ObjectId()
    await Revisions.insertMany([{
      _id,
      page: history,
      revision,
      follows: page.revision,
      content,
      content_bytes: contentBytes,
      tags,
      author,
      summary: `Renamed from “${name}”${summary && `: ${summary}`}`,
      deleted: false,
      created_at: now,
      ...saveId !== undefined && { save_id: saveId }
    }], { session, lean: true })
    await fanOut([{ name: to, page: history, author, revision: _id }], later, session)
    const both = { revision, authors: [author], tags, listed: true, above: [] }
    return {
      target: state,
      commits: [{ ...both, name, linking: [], links: [to] }, { ...both, name: to, linking, links: [name] }]
    }
  }
