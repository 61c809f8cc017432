import { driverOf } from '../database/driver.js'
import { NotInSpace } from './guards.js'

/** @import {PicturesOfSpaces} from '../files/pictures.js' */
/** @import {SpaceModels} from './model.js' */

/**
 * Pictures and files: a store for each space, which finds no file of another one.
 * @param {Pick<SpaceModels, 'Spaces'>} models @param {PicturesOfSpaces} pictures
 */
export function createSpaceFiles (models, { storeIn }) {
  const spaces = driverOf(models.Spaces)

  return {
    /** @param {string} space  its name */
    filesOf: (space) => storeIn({
      space,

      // A write, not only a read: a space that closes at the same time conflicts with it, and counts the file or
      // refuses it.
      async admit (session) {
        const { matchedCount } = await spaces
          .updateOne({ _id: space, state: 'open' }, { $inc: { uploads: 1 } }, { session })
        if (matchedCount === 0) throw new NotInSpace(space)
      }
    })
  }
}

/** @typedef {ReturnType<typeof createSpaceFiles>} SpaceFiles */
