import { createBatchLoader } from '../database/batch-loader.js'
import { causally } from '../database/causally.js'
import { driverOf } from '../database/driver.js'
import { readBatch } from '../database/read-batch.js'
import { withMissing } from '../markdown/missing.js'

/** @import {Timestamp} from 'mongodb' */
/** @import {Model} from 'mongoose' */
/** @import {Renderer} from '../markdown/renderer.js' */
/** @import {CurrentHtml} from './current-html.js' */
/** @import {Page} from './model.js' */

const VALIDATOR_FIELDS = {
  revision: 1,
  html_hash: 1,
  subpages_hash: 1,
  renderer: 1,
  links_outdated: 1,
  rendered_at: 1,
  deleted_at: 1,
  redirect_to: 1
}
const VIEW_FIELDS = { ...VALIDATOR_FIELDS, html: 1, content_bytes: 1, modified_at: 1, tags: 1, subpages: 1 }
const SOURCE_FIELDS = { revision: 1, content: 1, html_hash: 1, deleted_at: 1, tags: 1, modified_at: 1 }
const UNMARKED_MAX_BYTES = 65_536
/** Then a page with changing links is shown as stored. */
const READ_ATTEMPTS_MAX = 3

/** @typedef {Pick<Page, '_id' | keyof typeof VIEW_FIELDS>} PageView */
/** @typedef {Pick<Page, '_id' | keyof typeof VALIDATOR_FIELDS>} PageValidators */
/** @typedef {Pick<Page, '_id' | keyof typeof SOURCE_FIELDS>} PageSource */

/**
 * `readsAtOnce`: pages in one database read. `readAfter`: no page is from before that time.
 * @typedef {{Pages: Model<Page>, currentHtml: CurrentHtml, renderer: Renderer, readsAtOnce: number}} Parts
 * @typedef {{createLoader?: typeof createBatchLoader, readAfter?: () => Timestamp | undefined}} Optional
 * @param {Parts & Optional} parts
 */
export function createPageReads ({
  Pages, currentHtml, renderer, readsAtOnce, createLoader = createBatchLoader, readAfter = () => undefined
}) {
  /** @type {(name: string) => Promise<PageView | null>} */
  const readView = batched(VIEW_FIELDS)
  /** @type {(name: string) => Promise<PageValidators | null>} */
  const readValidators = batched(VALIDATOR_FIELDS)

  /** @param {Record<string, number>} projection */
  function batched (projection) {
    return createLoader({
      keysMax: readsAtOnce,
      source: Pages,
      readMany: async (names) => {
        const filter = { _id: { $in: names } }
        const after = readAfter()
        const find = (/** @type {object} */ options) =>
          driverOf(Pages).find(filter, { projection, promoteBuffers: true, ...options }).toArray()
        const pages = await readBatch(Pages, filter, projection, names.length, after) ??
          await (after === undefined ? find({}) : causally(Pages.db.getClient(), after, find))
        return new Map(pages.map((page) => [page._id, page]))
      }
    })
  }

  return {
    /** Also deleted and renamed pages. @param {string} name @returns {Promise<PageView | null>} */
    async findView (name) {
      for (let attempt = 1; ; attempt++) {
        const page = await readView(name)
        const seen = page && await currentHtml.upToDate(page)
        if (seen !== null || page === null || attempt === READ_ATTEMPTS_MAX) return seen ?? page
      }
    },

    /**
     * @param {string} name
     * @returns {Promise<PageValidators | null>} null also when links in the page have changed
     */
    async findValidators (name) {
      const page = await readValidators(name)
      if (page === null || page.links_outdated != null) return null
      if (page.deleted_at == null) currentHtml.remind(page)
      return page
    },

    /**
     * Without the marks of missing links.
     * @param {string} name @param {number} revision
     * @returns {Promise<Buffer | null>} null: not the newest revision, or long HTML, which another thread renders
     */
    async findUnmarkedHtml (name, revision) {
      const newest = { _id: name, revision, renderer: renderer.version, deleted_at: null }
      const found = await Pages.findOne(newest, { html: 1 }).lean().exec()
      if (found === null || found.html.length > UNMARKED_MAX_BYTES) return null
      return withMissing(found.html.toString(), new Set())
    },

    /** @param {string} name @returns {Promise<PageSource | null>} */
    findSource: (name) => Pages.findOne({ _id: name, deleted_at: null }, SOURCE_FIELDS).lean().exec(),

    /** @param {string} name @returns {Promise<string | null>} the current name of a page that was renamed */
    async findRedirect (name) {
      const page = await Pages.findOne({ _id: name }, { redirect_to: 1 }).lean().exec()
      return page?.redirect_to ?? null
    }
  }
}
