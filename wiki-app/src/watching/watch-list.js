import createError from '@fastify/error'
import { driverOf } from '../database/driver.js'
import { asIdsHave } from './read-marks.js'

/** @import {Models} from '../pages/model.js' */
/** @import {Watcher, Watchers} from './model.js' */

/** With less than 300 bytes for each, far below the database's limit for a document. */
export const WATCHED_MAX = 1_000
/** Of a name that was changed again and again. */
const RENAMINGS_MAX = 5

const TooManyWatched = createError(
  'WIKI_TOO_MANY_WATCHED', `You watch ${WATCHED_MAX} %s already. Stop watching one of them first.`, 409
)

/** @typedef {'pages' | 'authors'} Kind */

/**
 * What each person watches. All users are keys (access/users.js).
 * @param {{Watchers: Watchers, Pages: Models['Pages']}} models
 */
export function createWatchList ({ Watchers, Pages }) {
  const watchers = driverOf(Watchers)

  /**
   * A page that got another name is watched under that one, unless another page has taken the name meanwhile.
   * @param {Watcher} watcher @returns {Promise<Watcher>}
   */
  async function afterRenamings (watcher) {
    for (let renamings = 0; renamings < RENAMINGS_MAX && watcher.pages.length > 0; renamings++) {
      const renamed = await driverOf(Pages)
        .find(
          { _id: { $in: watcher.pages.map(({ name }) => name) }, redirect_to: { $gt: '' } },
          { projection: { redirect_to: 1 }, batchSize: watcher.pages.length + 1 }
        )
        .toArray()
      if (renamed.length === 0) return watcher
      for (const { _id: from, redirect_to: to } of renamed) await follow(watcher._id, from, String(to))
      watcher = await find(watcher._id)
    }
    return watcher
  }

  /** @param {string} user @param {string} from @param {string} to */
  async function follow (user, from, to) {
    await watchers.updateOne(
      { _id: user, 'pages.name': { $ne: to } },
      { $set: { 'pages.$[renamed].name': to } },
      { arrayFilters: [{ 'renamed.name': from }] }
    )
    await stop(user, 'pages', from)
  }

  /** @param {string} user @returns {Promise<Watcher>} */
  const find = async (user) => await watchers.findOne({ _id: user }) ?? { _id: user, ...nothing() }

  /** @param {string} user @param {Kind} kind @param {string} name */
  async function stop (user, kind, name) {
    await watchers.updateOne({ _id: user }, { $pull: /** @type {any} */ ({ [kind]: { name } }) })
  }

  /** @param {string} user @param {Partial<Pick<Watcher, 'read' | 'read_before' | 'feed'>>} [fields] */
  async function set (user, fields = {}) {
    const others = Object.fromEntries(Object.entries(nothing()).filter(([field]) => !(field in fields)))
    const update = { ...Object.keys(fields).length > 0 && { $set: fields }, $setOnInsert: others }
    await watchers.updateOne({ _id: user }, update, { upsert: true })
  }

  return {
    /** @param {string} user @returns {Promise<Watcher>} with the names that pages have now */
    of: async (user) => afterRenamings(await find(user)),

    /** @param {string} user @param {Kind} kind @param {string} name @throws {Error} 409 beyond WATCHED_MAX */
    async watch (user, kind, name) {
      await set(user)
      const { matchedCount } = await watchers.updateOne(
        { _id: user, [`${kind}.name`]: { $ne: name }, [`${kind}.${WATCHED_MAX - 1}`]: { $exists: false } },
        { $push: /** @type {any} */ ({ [kind]: { name, since: asIdsHave(new Date()) } }) }
      )
      if (matchedCount > 0) return
      const known = await watchers.findOne({ _id: user, [`${kind}.name`]: name }, { projection: { _id: 1 } })
      if (known === null) throw new TooManyWatched(kind)
    },

    stop,
    set,

    /** @param {string} feed  SHA-256 of a secret @returns {Promise<Watcher | null>} */
    async byFeed (feed) {
      const watcher = await watchers.findOne({ feed })
      return watcher && afterRenamings(watcher)
    }
  }
}

/** What was there before anything was watched is read. */
const nothing = () => ({ pages: [], authors: [], read: [], read_before: asIdsHave(new Date()) })

/** @typedef {ReturnType<typeof createWatchList>} WatchList */
