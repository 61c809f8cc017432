import { NotOfSpace } from '../access/places.js'
import { createHistories } from '../pages/histories.js'
import { createFollowPrivate } from './follow-private.js'
import { defineSpaceWatchers } from './model.js'
import { createWatchedChanges } from './watched-changes.js'
import { createWatchList } from './watch-list.js'

/** @import {Connection} from 'mongoose' */
/** @import {Users} from '../access/users.js' */
/** @import {Begun} from '../spaces/services.js' */
/** @import {WatchList} from './watch-list.js' */

/**
 * What people watch in private spaces, in a list of its own: what has only the public list, as feeds have, cannot show
 * any of it (docs/decisions/0094).
 * @param {{connection: Connection, users: Users, spaces: Pick<Begun, 'models' | 'finding'>}} parts
 */
export function createWatchingInside ({ connection, users, spaces: { models: { inside: models }, finding } }) {
  const list = createWatchList({
    Watchers: defineSpaceWatchers(connection), follow: createFollowPrivate({ models, finding, users })
  })

  return {
    list,
    changesOf: createWatchedChanges(models, createHistories(models)),

    /** @param {string} user  key @param {string} name  of a page @returns {Promise<Place | null>} null: it is public */
    async placeOf (user, name) {
      const space = await finding.find(name)
      if (space === null) return null
      const person = await users.find(user)
      const mayRead = person !== null && await finding.roleIn(space, person) !== null
      return {
        list,
        mayRead,
        refuseOutsiders () {
          if (!mayRead) throw new NotOfSpace(space._id, 'reader')
        }
      }
    }
  }
}

/**
 * Where a private page is watched. `refuseOutsiders` throws 403, the same for all pages of a space, whether they exist
 * or not.
 * @typedef {{list: WatchList, mayRead: boolean, refuseOutsiders: () => void}} Place
 */
/** @typedef {ReturnType<typeof createWatchingInside>} WatchingInside */
