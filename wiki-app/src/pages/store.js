import createError from '@fastify/error'
import mongoose from 'mongoose'
import { hashOf } from '../hash.js'
import { withMissing } from '../markdown/missing.js'
import { inTransaction, stillWanted } from '../transaction.js'
import { createGatheredRead } from './gathered.js'
import { titleKey } from './name.js'
import { createShown, nullWhenRefused } from './shown.js'
import { createTargets, outdatedMark } from './targets.js'
import { createTurns } from './turns.js'

/** @typedef {import('./model.js').Page} Page */
/** @typedef {Pick<Page, '_id' | 'revision' | 'html_hash' | 'deleted_at' | 'redirect_to' | 'tags' | 'links'>} Head  what a write is judged by */

/**
 * Who changes a page and why; both may be ''.
 * @typedef {{author?: string, summary?: string}} Attribution
 */

/**
 * Refuses a write by throwing; called with the newest state in the step that writes, so nothing can come between.
 * @typedef {(head: Head | null) => void} Precondition
 */

/**
 * What an edit did, for whoever keeps copies of what it made stale.
 * @typedef {object} Commit
 * @property {string} name
 * @property {number} revision
 * @property {string[]} authors  whose list of changes grew
 * @property {string[]} tags  of the page, before and after
 * @property {string[]} linking  pages that show the page's link differently now; more than LINKING_MAX when there are more
 * @property {string[]} links  names that the page began or ceased to lead to
 * @property {boolean} listed  whether the page appeared in the lists of pages, or left them
 */

/**
 * Who is told of edits: `add` in the transaction, so that it is written when and only when the edit is, `added` once that is durable.
 * @typedef {object} Outbox
 * @property {(commits: Commit[], session: import('mongoose').ClientSession) => Promise<void>} add
 * @property {() => void} added
 */

const NameTaken = createError('WIKI_NAME_TAKEN', 'The page cannot be called “%s”: that name has a page, or the history of a deleted one.', 409)

export const PageMissing = createError('WIKI_PAGE_MISSING', 'There is no page named “%s”.', 404)

const HEAD_FIELDS = { revision: 1, html_hash: 1, deleted_at: 1, redirect_to: 1, tags: 1, links: 1 }
const VALIDATOR_FIELDS = {
  revision: 1, html_hash: 1, renderer: 1, links_outdated: 1, rendered_at: 1, deleted_at: 1, redirect_to: 1
}
const VIEW_FIELDS = { ...VALIDATOR_FIELDS, html: 1, content_bytes: 1, modified_at: 1, tags: 1 }
const SOURCE_FIELDS = { revision: 1, content: 1, html_hash: 1, deleted_at: 1, tags: 1, modified_at: 1 }

/** @typedef {Pick<Page, '_id' | keyof typeof VIEW_FIELDS>} PageView */
/** @typedef {Pick<Page, '_id' | keyof typeof VALIDATOR_FIELDS>} PageValidators  what tells whether somebody's copy is the newest */
/** @typedef {Pick<Page, '_id' | keyof typeof SOURCE_FIELDS>} PageSource */

const UPGRADED_AT_ONCE = 100
const UNMARKED_MAX_BYTES = 65_536

/** For a wiki without caches to purge. @type {Outbox} */
const SILENT = { add: async () => {}, added: () => {} }

/** A page that changes each time while its links are set right is shown as it is stored. */
const READ_ATTEMPTS_MAX = 3

/**
 * The number that an edit is based on.
 * @param {Pick<Head, 'revision' | 'deleted_at'> | null} head
 * @returns {number} 0 where there is no page to see
 */
export const currentRevision = (head) => head === null || head.deleted_at != null ? 0 : head.revision

/**
 * All access to the newest state of single pages, and every write. Names are canonical ones.
 * @param {object} options
 * @param {ReturnType<typeof import('./model.js').defineModels>} options.models
 * @param {import('../markdown/renderer.js').Renderer} options.renderer
 * @param {Outbox} [options.outbox]
 * @param {number} options.readsAtOnce  pages that one read of the database brings at most
 * @param {Pick<import('fastify').FastifyBaseLogger, 'warn'>} options.log
 */
export function createPageStore ({ models, renderer, outbox = SILENT, readsAtOnce, log }) {
  const inTurn = createTurns()
  const { Pages, Revisions } = models
  const targets = createTargets(models)
  const shown = createShown({ Pages, targets, renderer, inTurn, log })
  /** @type {(name: string) => Promise<PageView | null>} */
  const readView = gathered(VIEW_FIELDS)
  /** @type {(name: string) => Promise<PageValidators | null>} */
  const readValidators = gathered(VALIDATOR_FIELDS)

  /** @param {Record<string, number>} projection */
  function gathered (projection) {
    return createGatheredRead({
      keysMax: readsAtOnce,
      readMany: async (names) => {
        const filter = { _id: { $in: names } }
        const pages = await readBatch(filter, projection, names.length) ?? await driverOf(Pages).find(filter, { projection, promoteBuffers: true }).toArray()
        return new Map(pages.map((page) => [page._id, page]))
      }
    })
  }

  /**
   * The same without a cursor of the driver's, which costs a tenth of a page view and keeps the answer in memory until V8 collects old objects.
   * @param {object} filter
   * @param {Record<string, number>} projection
   * @param {number} pagesMax
   * @returns {Promise<any[] | null>} null when they are not all in one answer, of 16 MiB at most, or the command failed: it is not sent again, as a find is
   */
  async function readBatch (filter, projection, pagesMax) {
    const { db } = /** @type {{db: import('mongodb').Db}} */ (/** @type {unknown} */ (Pages.db))
    const find = Pages.collection.name
    try {
      // With one more than there can be, the answer says that it is the last.
      const { cursor: { id, firstBatch } } = await db.command({ find, filter, projection, batchSize: pagesMax + 1 }, { promoteBuffers: true })
      if (Number(id) === 0) return firstBatch
      db.command({ killCursors: find, cursors: [id] }).catch(() => {})
    } catch {}
    return null
  }

  /**
   * The one way in which a page changes: its newest state and the revision that keeps it, both or neither, durable when this returns.
   * Writes of one page take turns in this process; those of other processes are met by the transaction.
   * @param {string} name
   * @param {object} change
   * @param {string} change.content
   * @param {number} change.contentBytes
   * @param {string[]} [change.tags]  not given: they stay
   * @param {Attribution} attribution
   * @param {{html: string, links: string[]} | null} rendered  null for a deletion
   * @param {Precondition} precondition
   * @param {() => boolean} [wanted]  from when it was asked for: it may wait for its turn until nobody wants it any more
   * @returns {Promise<{revision: number, before: Head | null}>}
   */
  async function commit (name, change, { author = '', summary = '' }, rendered, precondition, wanted = stillWanted(Pages.db)) {
    const deleted = rendered === null
    const written = await inTurn(name, () => inTransaction(Pages.db, async (session) => {
      const now = new Date()
      const links = rendered?.links ?? []
      const state = rendered === null
        ? { deleted_at: now, redirect_to: null, links, tags: [] }
        : {
            title_key: titleKey(name),
            content: change.content,
            content_bytes: change.contentBytes,
            links,
            modified_at: now,
            deleted_at: null,
            redirect_to: null,
            ...change.tags && { tags: change.tags },
            ...await shown.shownAs(name, rendered, now, session)
          }
      // Read and written in one step: what the precondition refuses is undone with the transaction.
      const before = await replaceHead(name, state, now, session)
      precondition(before)
      const revision = (before?.revision ?? 0) + 1
      // A page that was renamed took its revisions along.
      const follows = before === null || before.redirect_to ? null : before.revision
      const tags = deleted ? [] : change.tags ?? before?.tags ?? []
      await driverOf(Revisions).insertOne({ page: name, revision, follows, content: change.content, content_bytes: change.contentBytes, tags, author, summary, deleted, created_at: now }, { session })
      await targets.relink(session, waysFrom(before), waysFrom({ _id: name, links }))
      await targets.retag(session, before?.tags ?? [], tags)
      const linking = await targets.become(session, name, deleted ? null : 'page', whatIs(before))
      await outbox.add([{
        name,
        revision,
        authors: [author],
        tags: union(before?.tags ?? [], tags),
        linking,
        links: changed(before?.links ?? [], links),
        listed: deleted || currentRevision(before) === 0
      }], session)
      return { revision, before }
    }, wanted))
    outbox.added()
    return written
  }

  /**
   * Writes a page's newest state, one revision further.
   * @param {string} name
   * @param {Partial<Page>} state
   * @param {Date} now
   * @param {import('mongoose').ClientSession} session
   * @returns {Promise<Head | null>} what was there before
   */
  async function replaceHead (name, state, now, session) {
    const onInsert = { created_at: now, ...state.tags === undefined && { tags: [] } }
    return driverOf(Pages).findOneAndUpdate({ _id: name }, { $set: state, $inc: { revision: 1 }, $setOnInsert: onInsert }, { projection: HEAD_FIELDS, upsert: true, returnDocument: 'before', session })
  }

  /**
   * Notes where a page leads to and that it is there, which older versions did not.
   * @param {string} name
   */
  async function upgradePage (name) {
    const old = { _id: name, links: mongoose.trusted({ $exists: false }) }
    const source = await Pages.findOne(old, { content: 1, revision: 1, deleted_at: 1 }).lean().exec()
    if (source === null) return
    const rendered = source.deleted_at != null
      ? null
      : await renderer.render(source.content, { yields: true }).catch(nullWhenRefused)
    // What cannot be rendered any more leads nowhere, and is shown as it is stored.
    const links = rendered?.links ?? []
    await inTransaction(Pages.db, async (session) => {
      const same = { ...old, revision: source.revision }
      const head = await Pages.findOne(same, { ...HEAD_FIELDS, modified_at: 1 }, { session }).lean().exec()
      if (head === null) return
      const tags = head.tags ?? []
      await targets.relink(session, [], waysFrom({ ...head, links }))
      await targets.retag(session, [], tags)
      await targets.become(session, name, whatIs(head), null)
      const made = rendered === null
        ? { renderer: renderer.version, rendered_at: new Date() }
        : await shown.shownAs(name, rendered, head.modified_at, session)
      await Pages.updateOne({ _id: name }, { $set: { links, tags, ...made } }, { session }).exec()
    })
  }

  return {
    /**
     * Brings pages that an older version has stored up to this one. Begun anew it goes on where it was, and several processes may do it at once.
     * @returns {Promise<number>} how many there were
     */
    async upgrade () {
      for (let count = 0; ; count += UPGRADED_AT_ONCE) {
        /** @type {{_id: string}[]} */
        const old = await Pages.find({ links: mongoose.trusted({ $exists: false }) }, { _id: 1 }).limit(UPGRADED_AT_ONCE).lean().exec()
        for (const { _id } of old) await upgradePage(_id)
        if (old.length < UPGRADED_AT_ONCE) return count + old.length
      }
    },

    /**
     * What a reader sees, in one read unless links in it have changed. What is no page any more is still found: its
     * `deleted_at` is not null.
     * @param {string} name
     * @returns {Promise<PageView | null>}
     */
    async findView (name) {
      for (let attempt = 1; ; attempt++) {
        const page = await readView(name)
        const seen = page && await shown.upToDate(page)
        if (seen !== null || page === null || attempt === READ_ATTEMPTS_MAX) return seen ?? page
      }
    },

    /**
     * What a view would be validated by, without its text: a reader who has the newest one needs no more.
     * @param {string} name
     * @returns {Promise<PageValidators | null>} null also for a page some of whose links have changed
     */
    async findValidators (name) {
      const page = await readValidators(name)
      if (page === null || page.links_outdated != null) return null
      if (page.deleted_at == null) shown.remind(page)
      return page
    },

    /** Leaves what is not up to date as it is stored. */
    close: async () => shown.close(),

    /**
     * What a text that is not saved yet will look like.
     * @param {string} content  Markdown
     * @param {string} [name]  of its page, which is there once it is saved
     * @returns {Promise<{content_bytes: number, html: Buffer}>}
     * @throws {Error} as `save`
     */
    async preview (content, name) {
      const { contentBytes, html, links } = await renderer.render(content, { yields: true })
      return { content_bytes: contentBytes, html: withMissing(html, await targets.missing(links.filter((link) => link !== name))) }
    },

    /**
     * What the renderer made of a page's newest text, before links in it were marked.
     * @param {string} name
     * @param {number} revision
     * @returns {Promise<Buffer | null>} null when that is not the newest revision, or it is long: to take off the marks
     *   of a long one is work for another thread, which may as well render it
     */
    async findUnmarkedHtml (name, revision) {
      const newest = { _id: name, revision, renderer: renderer.version, deleted_at: null }
      const found = await Pages.findOne(newest, { html: 1 }).lean().exec()
      if (found === null || found.html.length > UNMARKED_MAX_BYTES) return null
      return withMissing(found.html.toString(), new Set())
    },

    /**
     * What an author edits.
     * @param {string} name
     * @returns {Promise<PageSource | null>}
     */
    findSource: (name) => Pages.findOne({ _id: name, deleted_at: null }, SOURCE_FIELDS).lean().exec(),

    /**
     * Creates or replaces a page. Everything costly in showing it is done here.
     * @param {string} name
     * @param {{content: string, tags?: string[]}} text  Markdown; tags that are not given stay as they are
     * @param {Attribution} [attribution]
     * @param {Precondition} [precondition]
     * @returns {Promise<{revision: number, contentBytes: number, created: boolean}>}
     * @throws {Error} 413 when it, or the HTML that it becomes, is too large; 422 when it takes too long to render; what `precondition` throws
     */
    async save (name, { content, tags }, attribution = {}, precondition = () => {}) {
      const wanted = stillWanted(Pages.db)
      const { contentBytes, ...rendered } = await renderer.render(content)
      const { revision, before } = await commit(name, { content, contentBytes, tags }, attribution, rendered, precondition, wanted)
      return { revision, contentBytes, created: currentRevision(before) === 0 }
    },

    /**
     * Its revisions stay, and any of them can be brought back.
     * @param {string} name
     * @param {Attribution} [attribution]
     * @param {Precondition} [precondition]
     * @returns {Promise<number>} the revision that is the deletion
     * @throws {Error} 404 when there is no such page; what `precondition` throws
     */
    async remove (name, attribution = {}, precondition = () => {}) {
      const { revision } = await commit(name, { content: '', contentBytes: 0 }, attribution, null, (head) => {
        if (currentRevision(head) === 0) throw new PageMissing(name)
        precondition(head)
      })
      return revision
    },

    /**
     * Gives a page, with its whole history, another name. The old name leads to it until someone writes a page there.
     * @param {string} name
     * @param {string} target
     * @param {Attribution} [attribution]
     * @param {Precondition} [precondition]
     * @returns {Promise<number>} the revision that is the renaming
     * @throws {Error} 404 when there is no such page, 409 when the new name is taken; what `precondition` throws
     */
    async rename (name, target, { author = '', summary = '' } = {}, precondition = () => {}) {
      const wanted = stillWanted(Pages.db)
      const renamed = await inTurn(name, () => inTransaction(Pages.db, async (session) => {
        const page = await Pages.findOne({ _id: name }, null, { session }).lean().exec()
        if (page === null || currentRevision(page) === 0) throw new PageMissing(name)
        precondition(page)
        const there = await Pages.findOne({ _id: target }, HEAD_FIELDS, { session }).lean().exec()
        const history = await Revisions.findOne({ page: target }, { _id: 1 }, { session }).lean().exec()
        if (name === target || currentRevision(there) !== 0 || history !== null) throw new NameTaken(target)

        // Revisions only ever grow, for either name.
        const revision = Math.max(page.revision, there?.revision ?? 0) + 1
        const now = new Date()
        const linking = await targets.become(session, target, 'page', whatIs(there))
        await targets.become(session, name, 'redirect', 'page')
        await targets.relink(session, waysFrom(there), waysFrom({ ...page, _id: target }))
        await targets.relink(session, waysFrom(page), [target])
        // Links to its new name within it are good ones from now on.
        const state = {
          ...page,
          _id: target,
          title_key: titleKey(target),
          revision,
          html_hash: hashOf(page.html, now.toISOString()),
          modified_at: now,
          links_outdated: outdatedMark()
        }
        await Pages.replaceOne({ _id: target }, state, { session, upsert: true }).exec()
        await Pages.updateOne({ _id: name }, { $set: { revision, deleted_at: now, redirect_to: target, links: [], tags: [] } }, { session }).exec()
        await Revisions.updateMany({ page: name }, { $set: { page: target } }, { session }).exec()
        const { content, content_bytes: contentBytes, tags = [] } = page
        await Revisions.insertMany([{
          page: target, revision, follows: page.revision, content, content_bytes: contentBytes, tags, author, summary: summary || `Renamed from “${name}”`, deleted: false, created_at: now
        }], { session, lean: true })
        await outbox.add([
          { name, revision, authors: [author], tags, linking: [], links: [target], listed: true },
          { name: target, revision, authors: [author], tags, linking, links: [name], listed: true }
        ], session)
        return revision
      }, wanted))
      outbox.added()
      return renamed
    },

    /**
     * @param {string} name
     * @returns {Promise<string | null>} the name that a page which was here has now
     */
    async findRedirect (name) {
      const page = await Pages.findOne({ _id: name }, { redirect_to: 1 }).lean().exec()
      return page?.redirect_to ?? null
    }
  }
}

/** @typedef {ReturnType<typeof createPageStore>} PageStore */

/**
 * The driver itself, for views and saves: mongoose would cast and copy each document, and what these read and write is made here.
 * @template Document
 * @param {import('mongoose').Model<Document>} Model
 */
const driverOf = ({ collection }) => /** @type {import('mongoose').mongo.Collection<import('mongoose').mongo.OptionalId<Document>>} */ (/** @type {unknown} */ (collection))

/**
 * @param {Head | null} head
 * @returns {import('./model.js').Target['is']}
 */
function whatIs (head) {
  if (head?.redirect_to) return 'redirect'
  return currentRevision(head) === 0 ? null : 'page'
}

/**
 * Where a reader can get to from here. A page's links to itself lead nowhere else; a former name leads to where the page is now.
 * @param {Pick<Head, '_id' | 'links'> & Partial<Head> | null} head
 * @returns {string[]}
 */
function waysFrom (head) {
  if (head === null) return []
  if (head.redirect_to) return [head.redirect_to]
  return head.deleted_at == null ? (head.links ?? []).filter((name) => name !== head._id) : []
}

/**
 * @param {string[]} some
 * @param {string[]} others
 */
const union = (some, others) => [...new Set([...some, ...others])]

/**
 * @param {string[]} before
 * @param {string[]} after
 * @returns {string[]} what is in one of them only
 */
const changed = (before, after) => [...before.filter((name) => !after.includes(name)), ...after.filter((name) => !before.includes(name))]
