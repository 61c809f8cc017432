import mongoose from 'mongoose'
import { driverOf } from '../database/driver.js'

/** @import {ClientSession} from 'mongoose' */
/** @import {Models, Page} from './model.js' */

/** No name has a backslash. */
export const newHistory = () => `\\${new mongoose.Types.ObjectId()}`

/**
 * The key of a page's revisions, which stays when the page is renamed.
 * @param {Pick<Page, '_id' | 'history' | 'redirect_to'>} head
 * @returns {string | null} null: under a former name; its revisions are those of the renamed page
 */
export const historyOf = ({ _id, history, redirect_to: redirect }) => redirect ? null : history ?? _id

export const HISTORY_FIELDS = { history: 1, redirect_to: 1 }

/**
 * Between the names of pages and the keys of their revisions.
 * @param {Pick<Models, 'Pages'>} models
 */
export function createHistories ({ Pages }) {
  /**
   * @param {string[]} names @param {ClientSession} [session]
   * @returns {Promise<Map<string, string | null>>} as `historyOf`; of names that have or had a page
   */
  async function storedKeysOf (names, session) {
    if (names.length === 0) return new Map()
    const found = await driverOf(Pages)
      .find({ _id: { $in: names } }, { projection: HISTORY_FIELDS, batchSize: names.length + 1, session })
      .toArray()
    return new Map(found.map((head) => [head._id, historyOf(head)]))
  }

  /**
   * @param {string[]} names @param {ClientSession} [session]
   * @returns {Promise<Map<string, string>>} keys by name; without former names. A page that is not written yet gets its
   *   name as the key.
   */
  async function keysOf (names, session) {
    const keys = await storedKeysOf(names, session)
    return new Map(names.flatMap((name) => {
      const key = keys.has(name) ? keys.get(name) : name
      return key == null ? [] : [[name, key]]
    }))
  }

  return {
    keysOf,
    storedKeysOf,

    /** @param {string} name @param {ClientSession} [session] @returns {Promise<string | null>} null: a former name */
    keyOf: async (name, session) => (await keysOf([name], session)).get(name) ?? null,

    /** @param {string[]} keys @returns {Promise<(key: string) => string>} the name of the page now */
    async namesOf (keys) {
      const all = [...new Set(keys)]
      const found = all.length === 0
        ? []
        : await driverOf(Pages)
          .find({ history: { $in: all } }, { projection: { history: 1 }, batchSize: all.length + 1 })
          .toArray()
      const names = new Map(found.map(({ _id, history }) => [history, _id]))
      return (key) => names.get(key) ?? key
    }
  }
}

/** @typedef {ReturnType<typeof createHistories>} Histories */
