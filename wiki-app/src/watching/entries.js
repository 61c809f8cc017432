import { userKey } from '../access/users.js'

/** @import {WatchingInside} from './inside.js' */
/** @import {Kind, WatchList} from './watch-list.js' */

/**
 * Begins and ends to watch one page or author, in the list where it belongs. All users are names.
 * @param {{list: WatchList, inside: WatchingInside}} parts  `list`: of public pages, and of authors
 */
export function createEntries ({ list, inside }) {
  const everywhere = { list, mayRead: true, refuseOutsiders () {} }

  /** @param {string} user @param {Kind} kind @param {string} name */
  const placeOf = async (user, kind, name) =>
    (kind === 'pages' ? await inside.placeOf(userKey(user), name) : null) ?? everywhere

  return {
    /**
     * @param {string} user @param {Kind} kind @param {string} name
     * @returns {Promise<{until?: Date} | null>} null: it is not watched
     * @throws {Error} 403: of a private space without a role there, unless it is watched still
     */
    async entry (user, kind, name) {
      const place = await placeOf(user, kind, name)
      const { pages, hidden, authors } = await place.list.of(userKey(user))
      /** @type {{name: string, until?: Date}[]} */
      const watched = kind === 'pages' ? [...pages, ...hidden] : authors
      const found = watched.find((each) => each.name === name)
      if (found === undefined) place.refuseOutsiders()
      return found ?? null
    },

    /** @param {string} user @param {string} name  of a page */
    mayWatch: async (user, name) => (await placeOf(user, 'pages', name)).mayRead,

    /**
     * @param {string} user @param {Kind} kind @param {string} name @param {Date} [until]  without it: for good
     * @throws {Error} 403: of a private space without a role there; 409: too many
     */
    async watch (user, kind, name, until) {
      const place = await placeOf(user, kind, name)
      place.refuseOutsiders()
      await place.list.watch(userKey(user), kind, name, until)
      // Watched before the name was one of a space.
      if (place.list !== list) await list.stop(userKey(user), kind, name)
    },

    /** Whatever role they have. @param {string} user @param {Kind} kind @param {string} name */
    async stop (user, kind, name) {
      await Promise.all([list, inside.list].map((each) => each.stop(userKey(user), kind, name)))
    }
  }
}
