import { asInWiki, personOf } from '../access/places.js'
import { driverOf } from '../database/driver.js'
import { NotInSpace } from './guards.js'

/** @import {Person} from '../access/access.js' */
/** @import {PicturesOfSpaces} from '../files/pictures.js' */
/** @import {FindSpace} from './find-space.js' */
/** @import {Space, SpaceModels} from './model.js' */

/**
 * Pictures and files: a store for each space, which finds no file of another one.
 * @param {Pick<SpaceModels, 'Spaces'>} models @param {Pick<FindSpace, 'roleIn'>} finding
 * @param {PicturesOfSpaces} pictures
 */
export function createSpaceFiles (models, { roleIn }, { storeIn }) {
  const spaces = driverOf(models.Spaces)

  return {
    /** @param {Pick<Space, '_id' | 'at'>} space @param {Person | null} [uploader] */
    filesOf: ({ _id, at }, uploader = null) => storeIn({
      space: _id,

      // An upload takes a while. A write, not only a read: a space that closes at the same time conflicts with it, and
      // counts the file or refuses it. A space that was made since is another one, also with this name.
      async admit (session) {
        const space = /** @type {Space | null} */ (await spaces
          .findOneAndUpdate({ _id, at, state: 'open' }, { $inc: { uploads: 1 } }, { session }))
        if (space === null || uploader === null) throw new NotInSpace(_id)
        /** @type {typeof roleIn} */
        const roleNow = (of, person) => roleIn(of, person, session)
        await personOf({ roleIn: roleNow }, space, 'editor', asInWiki(uploader))
      }
    })
  }
}

/** @typedef {ReturnType<typeof createSpaceFiles>} SpaceFiles */
