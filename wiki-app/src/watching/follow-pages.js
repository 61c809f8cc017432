import { driverOf } from '../database/driver.js'
import { HISTORY_FIELDS, historyOf } from '../pages/histories.js'
import { bothOf } from './ends.js'

/** @import {Models} from '../pages/model.js' */
/** @import {WatchedPage} from './model.js' */

/**
 * What a list has: `pages` with the names of now; `hidden`: those that its owner may not read, as they were then.
 * `spaceOf`: the private space of a page that may be read; null: it is in none.
 * @typedef {{pages: WatchedPage[], hidden: WatchedPage[], spaceOf: (name: string) => string | null}} Followed
 * @typedef {(user: string, pages: WatchedPage[]) => Promise<Followed>} Follow  `user`: key
 */

/** Of a name that was changed again and again before the list was looked at. */
const RENAMINGS_MAX = 5

/** @param {Pick<Models, 'Pages'>} models */
export function createFollowPages ({ Pages }) {
  /** @param {'_id' | 'history'} field @param {string[]} values */
  const headsBy = async (field, values) => values.length === 0
    ? []
    : await driverOf(Pages)
      .find({ [field]: { $in: values } }, { projection: HISTORY_FIELDS, batchSize: values.length + 1 })
      .toArray()

  /**
   * @param {WatchedPage[]} pages
   * @returns {Promise<WatchedPage[]>} with the names of now; without the key that a page would have got, had not
   *   another one been renamed to its name before it was written
   */
  async function byHistory (pages) {
    const keys = pages.flatMap(({ history }) => history === undefined ? [] : [history])
    // In this order: a page that is renamed in between is in both, and the later one counts.
    const others = await headsBy('_id', keys)
    const renamed = await headsBy('history', keys)
    const written = new Set(others.map(({ _id }) => _id))
    const names = new Map([...others, ...renamed].map((head) => [historyOf(head), head._id]))
    return pages.map(({ history, ...page }) => {
      if (history === undefined) return page
      const name = names.get(history) ?? (written.has(history) ? undefined : history)
      return name === undefined ? page : { ...page, name, history }
    })
  }

  /** @param {WatchedPage[]} pages @returns {Promise<WatchedPage[]>} one renaming further */
  async function byName (pages) {
    const names = pages.filter(({ history }) => history === undefined).map(({ name }) => name)
    const heads = new Map((await headsBy('_id', names)).map((head) => [head._id, head]))
    return pages.map((page) => {
      if (page.history !== undefined) return page
      const head = heads.get(page.name)
      // A page that is not written yet gets its name as the key.
      if (head === undefined) return { ...page, history: page.name }
      return head.redirect_to ? { ...page, name: head.redirect_to } : { ...page, history: String(historyOf(head)) }
    })
  }

  /**
   * A watched page is found by the key of its history, so another page that takes its name changes nothing.
   * @param {WatchedPage[]} pages
   * @returns {Promise<WatchedPage[]>} with keys and with the names of now, each page once
   */
  return async function followPages (pages) {
    let followed = await byHistory(pages)
    const isLeft = () => followed.some(({ history }) => history === undefined)
    for (let renamings = 0; renamings <= RENAMINGS_MAX && isLeft(); renamings++) followed = await byName(followed)
    /** @type {Map<string, WatchedPage>} */
    const once = new Map()
    for (const page of followed) {
      const key = page.history ?? page.name
      once.set(key, bothOf(once.get(key) ?? page, page))
    }
    return [...once.values()]
  }
}

/** Everybody may read public pages. @param {Pick<Models, 'Pages'>} models @returns {Follow} */
export function createFollowPublic (models) {
  const followPages = createFollowPages(models)
  return async (_user, pages) => ({ pages: await followPages(pages), hidden: [], spaceOf: () => null })
}
