import { userKey } from '../access/users.js'
import { feedOf } from '../watching/feed-items.js'

/** @import {ClientSession, Connection, mongo} from 'mongoose' */

/** @type {Record<string, (key: string) => mongo.Filter<any>>} of one person in other collections, by key */
const OWN = {
  watchers: (key) => ({ _id: key }),
  space_watchers: (key) => ({ _id: key }),
  digests: (key) => ({ _id: key }),
  digest_confirmations: (key) => ({ _id: key }),
  password_mails: (key) => ({ _id: { $in: [`link ${key}`, `changed ${key}`] } }),
  address_confirmations: (key) => ({ _id: key }),
  feed_items: feedOf,
  proposals: (key) => ({ author_key: key }),
  space_proposals: (key) => ({ author_key: key })
}

/**
 * What is stored for a person elsewhere, and sessions.
 * @param {Connection} connection @param {string} name @param {ClientSession} session
 */
export async function deleteOwn (connection, name, session) {
  for (const [collection, filterOf] of Object.entries(OWN)) {
    await connection.collection(collection).deleteMany(filterOf(userKey(name)), { session })
  }
  const fromGroup = /** @type {any} */ ({ $pull: { members: { key: userKey(name) } } })
  await connection.collection('groups').updateMany({ 'members.key': userKey(name) }, fromGroup, { session })
  await endSessions(connection, name, session)
}

/** @param {Connection} connection @param {string} name @param {ClientSession} session */
export const endSessions = (connection, name, session) =>
  connection.collection('sessions').deleteMany({ user: name }, { session })
