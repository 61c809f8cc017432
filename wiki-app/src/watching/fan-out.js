import mongoose from 'mongoose'
import { driverOf } from '../database/driver.js'
import { createHistories } from '../pages/histories.js'
import { pageOfTalk } from '../pages/talk.js'
import { watchedAt } from './ends.js'
import { createFeedItems, STEP } from './feed-items.js'

/** @import {ClientSession, Types} from 'mongoose' */
/** @import {Models} from '../pages/model.js' */
/** @import {LongWork} from '../queue/worker.js' */

/**
 * When a change reaches the lists of those that watch it: as they read (docs/decisions/0058), in the request that makes
 * it, or behind it on the queue. The last two are for the experiment `fan-out` (docs/decisions/0063).
 */
export const FAN_OUTS = /** @type {const} */ (['on-read', 'in-request', 'on-queue'])

/** The kind of work. */
export const FAN_OUT = 'fan-out'
/** What takes longer in a transaction, the queue does. */
const IN_REQUEST_MAX = 10_000

/**
 * `page`: key of its history. `about`: key of the page that it is the talk page of, whose watchers get it, too.
 * @typedef {{page: string, about?: string, author: string, revision: Types.ObjectId}} Changed
 * @typedef {Omit<Changed, 'about'> & {name: string}} Edited  `name`: of the page now
 * @typedef {Changed & {after: string}} Content  `after`: the last watcher that has it
 */
/** @typedef {typeof FAN_OUTS[number]} Way */

// Of the documents in model.js, only what finds the watchers: nobody else pays for these indexes.
const listOf = (/** @type {Record<string, any>} */ fields) => [new mongoose.Schema(fields, { _id: false })]
const schema = new mongoose.Schema({
  _id: String, pages: listOf({ history: String, until: Date }), authors: listOf({ name: String })
}, { collection: 'watchers', versionKey: false, strict: 'throw', strictQuery: 'throw' })
schema.index({ 'pages.history': 1, _id: 1 })
schema.index({ 'authors.name': 1, _id: 1 })

/** @typedef {{_id: string}} Named */

/**
 * @param {{connection: import('mongoose').Connection, models: Models, way: Exclude<Way, 'on-read'>}} parts
 */
export function createFanOut ({ connection, models, way }) {
  const watchers = driverOf(/** @type {import('mongoose').Model<Named>} */ (
    /** @type {unknown} */ (connection.model('WatcherByName', schema))))
  const feedItems = createFeedItems({ connection, models })
  const histories = createHistories(models)

  /**
   * Each person once, also one that watches the page and its author.
   * @param {Changed} changed @param {string} after @param {ClientSession} [session]
   * @returns {Promise<{found: string[], more: boolean}>} the next STEP of them
   */
  async function watchersAfter ({ page, about, author }, after, session) {
    const later = { $gt: after }
    const ofAuthor = author === '' ? [] : [{ 'authors.name': author, _id: later }]
    const now = new Date()
    const ofPages = [page, ...about === undefined ? [] : [about]].map((history) =>
      ({ pages: { $elemMatch: { history, ...watchedAt(now) } }, _id: later }))
    const filter = { $or: [...ofPages, ...ofAuthor] }
    const found = await watchers
      .find(/** @type {any} */ (filter), {
        projection: { _id: 1 }, sort: { _id: 1 }, limit: STEP, batchSize: STEP + 1, session
      })
      .toArray()
    return { found: found.map(({ _id }) => _id), more: found.length === STEP }
  }

  /**
   * @param {Changed} changed @param {string} after @param {ClientSession} [session]
   * @returns {Promise<string | null>} the last that has it now; null: all have it
   */
  async function step (changed, after, session) {
    const { found, more } = await watchersAfter(changed, after, session)
    await feedItems.add(found, changed.revision, session)
    return more ? found[found.length - 1] : null
  }

  /**
   * In the transaction of the edit: its items are there once it is, or neither is.
   * @param {Changed} changed @param {ClientSession} session @returns {Promise<string | null>} null: all have it
   */
  async function inTransaction (changed, session) {
    /** @type {string | null} */
    let after = ''
    for (let written = 0; written < IN_REQUEST_MAX && after !== null; written += STEP) {
      after = await step(changed, after, session)
    }
    return after
  }

  /** @param {Edited[]} edits @param {ClientSession} session @returns {Promise<Changed[]>} */
  async function changesBy (edits, session) {
    const keys = await histories.keysOf(edits.flatMap(({ name }) => pageOfTalk(name) ?? []), session)
    return edits.map(({ name, ...changed }) => {
      const about = keys.get(pageOfTalk(name) ?? '')
      return about === undefined ? changed : { ...changed, about }
    })
  }

  return {
    /**
     * @param {Edited[]} edits @param {import('../queue/queue.js').Later} later
     * @param {ClientSession} session  of the edits
     */
    async add (edits, later, session) {
      const tasks = []
      for (const changed of await changesBy(edits, session)) {
        const after = way === 'in-request' ? await inTransaction(changed, session) : ''
        if (after !== null) tasks.push({ kind: FAN_OUT, name: changed.page, content: { ...changed, after } })
      }
      await later(tasks, session)
    },
    changesOf: feedItems.changesOf,
    /** @type {Record<string, LongWork>} */
    works: { [FAN_OUT]: { step: stepOfQueue(step), finish: async () => {}, finished: () => {} } }
  }
}

/** @param {(changed: Changed, after: string) => Promise<string | null>} step @returns {LongWork['step']} */
const stepOfQueue = (step) => ({ content, done_up_to: doneUpTo }) => {
  const { after, ...changed } = /** @type {Content} */ (content)
  return step(changed, doneUpTo === '' ? after : doneUpTo)
}

/** @typedef {ReturnType<typeof createFanOut>} FanOut */
