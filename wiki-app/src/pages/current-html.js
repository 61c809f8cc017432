import { hashOf } from '../http/hash.js'
import { withMissing } from '../markdown/missing.js'
import { inTransaction } from '../database/transaction.js'
import { countsOf } from './counts.js'
import { isOlder } from '../markdown/version.js'

/** @import {Model} from 'mongoose' */
/** @import {Renderer} from '../markdown/renderer.js' */
/** @import {KeyedMutex} from '../process/keyed-mutex.js' */
/** @import {Later} from '../queue/queue.js' */
/** @import {LinkTargets} from './link-targets.js' */
/** @import {Page} from './model.js' */
/** @import {PageView} from './read-pages.js' */

/** A page that finds no room is queued by its next reader. */
const WAITING_MAX = 1_000

/**
 * Readers never wait: HTML of an older renderer is rendered again later (docs/decisions/0018).
 * @typedef {{Pages: Model<Page>, targets: LinkTargets, later: Later}} Stored
 * @typedef {Stored & {renderer: Renderer, runExclusive: KeyedMutex}} Parts
 * @param {Parts & {log: Pick<import('fastify').FastifyBaseLogger, 'warn'>}} parts
 */
// eslint-disable-next-line max-lines-per-function -- the closure is the object
export function createCurrentHtml ({ Pages, targets, later, renderer, runExclusive, log }) {
  /** To render again, one at a time. @type {Set<string>} */
  const waiting = new Set()
  /** Corrections in flight, by page and mark. @type {Map<string, Promise<any>>} */
  const relinking = new Map()
  let rendering = false
  let failing = false
  let closed = false

  /**
   * @param {string} name @param {{html: string, links: string[]}} rendered @param {Date} modifiedAt
   * @param {Set<string>} missing  of its links at least
   */
  function storedFields (name, { html: rendered, links }, modifiedAt, missing) {
    const html = withMissing(rendered, new Set(others(name, links).filter((link) => missing.has(link))))
    return { ...made(html, modifiedAt), renderer: renderer.version, links_outdated: null }
  }

  /** @param {Pick<Page, 'renderer'>} page */
  const isOld = ({ renderer: by }) => isOlder(by, renderer.version)

  /** @param {string} name */
  function renderBehind (name) {
    if (closed || waiting.size >= WAITING_MAX) return
    waiting.add(name)
    if (!rendering) renderWaiting()
  }

  async function renderWaiting () {
    rendering = true
    for (const name of waiting) {
      await renderAgain(name).then(() => { failing = false }, (error) => failed(name, error))
      waiting.delete(name)
    }
    rendering = false
  }

  /** The page's next reader tries again. @param {string} name @param {Error} error */
  function failed (name, error) {
    if (!failing && !closed) log.warn(`“${name}” could not be updated, and stays as stored: ${error.message}`)
    failing = true
  }

  /** @param {string} name */
  async function renderAgain (name) {
    const there = { _id: name, deleted_at: null }
    /** @type {Pick<Page, '_id' | 'content' | 'revision' | 'renderer'> | null} */
    const source = await Pages.findOne(there, { content: 1, revision: 1, renderer: 1 }).lean().exec()
    if (closed || source === null || !isOld(source)) return
    const same = { ...there, revision: source.revision, renderer: source.renderer ?? null }
    const rendered = await renderer.render(source.content, { yields: true }).catch(nullWhenRefused)
    if (rendered === null) {
      // A text that this version refuses keeps its HTML.
      await Pages.updateOne(same, { $set: { renderer: renderer.version } }).exec()
      return
    }
    await runExclusive(name, () => inTransaction(Pages.db, async (session) => {
      const page = await Pages.findOne(same, { links: 1, html: 1, modified_at: 1 }, { session }).lean().exec()
      if (page === null) return
      const missing = await targets.missing(rendered.links, session, name)
      const links = [{ before: others(name, page.links), after: others(name, rendered.links) }]
      await later(countsOf({ name, links, missing }), session)
      const { html_hash: hash, rendered_at: at, ...rest } = storedFields(name, rendered, page.modified_at, missing)
      const changed = rest.html.equals(bytesOf(page.html)) ? {} : { html_hash: hash, rendered_at: at }
      await Pages.updateOne(same, { $set: { ...rest, ...changed, links: rendered.links } }, { session }).exec()
    }))
  }

  /**
   * @template {PageView} View @param {View} page  with links that have changed
   * @returns {Promise<View | null>} null when the page changed meanwhile
   */
  function relinked (page) {
    // Each change of the links sets a new mark; what else the result has of the page is in the hashes.
    const { links_outdated: mark, revision, html_hash: html, subpages_hash: subpages } = page
    const key = `${mark} ${revision} ${html} ${subpages} ${page._id}`
    const correction = relinking.get(key) ?? relink(page, () => relinking.delete(key))
    relinking.set(key, correction)
    return correction
  }

  /**
   * @template {PageView} View @param {View} page
   * @param {() => void} over  called when the result is stored or has failed
   * @returns {Promise<View | null>}
   */
  async function relink (page, over) {
    try {
      const same = { _id: page._id, revision: page.revision, links_outdated: page.links_outdated }
      const now = await Pages.findOne(same, { links: 1 }).lean().exec()
      if (now === null) {
        over()
        return null
      }
      const before = bytesOf(page.html)
      const missing = await targets.missing(others(page._id, now.links), undefined, page._id)
      const html = withMissing(before.toString(), missing)
      const changed = html.equals(before) ? {} : made(html, page.modified_at)
      const update = { $set: { ...changed, links_outdated: null } }
      const stored = Pages.updateOne(same, update).exec()
      stored.then(() => { failing = false }, (/** @type {Error} */ error) => failed(page._id, error)).finally(over)
      return { ...page, ...changed, links_outdated: null }
    } catch (error) {
      over()
      throw error
    }
  }

  return {
    storedFields,

    /**
     * @template {PageView} View @param {View} page
     * @returns {View | Promise<View | null>} null when it changed meanwhile
     */
    upToDate (page) {
      if (page.deleted_at != null) return page
      this.remind(page)
      return page.links_outdated == null ? page : relinked(page)
    },

    /** @param {Pick<Page, '_id' | 'renderer'>} page */
    remind (page) {
      if (isOld(page)) renderBehind(page._id)
    },

    close () {
      closed = true
      waiting.clear()
    }
  }
}

/** The same HTML of the same edit keeps its tag. @param {Buffer} html @param {Date} modifiedAt */
const made = (html, modifiedAt) =>
  ({ html, html_hash: hashOf(html, modifiedAt.toISOString()), rendered_at: new Date() })

/** @typedef {ReturnType<typeof createCurrentHtml>} CurrentHtml */

/** @param {string} name @param {string[]} links */
const others = (name, links) => links.filter((link) => link !== name)

/** @param {Buffer | {buffer: Uint8Array}} html  as read with or without the driver's `promoteBuffers` */
const bytesOf = (html) => Buffer.isBuffer(html) ? html : Buffer.from(html.buffer)

/**
 * @param {Error & {statusCode?: number}} error @returns {null} when the text cannot be rendered
 * @throws {Error} when rendering may succeed later
 */
export function nullWhenRefused (error) {
  if (error.statusCode === 413 || error.statusCode === 422) return null
  throw error
}
