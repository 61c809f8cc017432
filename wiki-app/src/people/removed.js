import { sha256 } from '../access/users.js'

/** @import {ClientSession, mongo} from 'mongoose' */
/** @import {Removed} from './model.js' */

/**
 * From now on nobody comes in by it, until a link connects it.
 * @param {mongo.Collection<mongo.OptionalId<Removed>>} removed @param {string} identity
 * @param {ClientSession} session
 */
export const keepOut = (removed, identity, session) => removed.updateOne(
  { _id: sha256(identity) }, { $set: { removed_at: new Date() } }, { upsert: true, session }
)
