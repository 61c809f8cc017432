import { randomUUID } from 'node:crypto'
import { ConfigError } from '../../config-error.js'
import { isAway } from './storage.js'

/** @import {Collection, Db} from 'mongodb' */
/** @import {Storage, StorageName} from './storage.js' */
/** @import {Storages} from './storages.js' */

/** About places, not pictures: a backup leaves it out, and a restore leaves it alone. */
export const PLACES = 'picture_places'
const DUPLICATE_KEY = 11_000

/** @typedef {{_id: string, owner: string, isMarked: boolean}} Place  `isMarked`: the place has the mark, too */

/** @type {Record<StorageName, {setting: string, mark: string}>} */
const NAMES = {
  database: { setting: 'MONGODB_URI', mark: '' },
  disk: { setting: 'PICTURE_FOLDER', mark: 'its file .stevec-pictures' },
  s3: { setting: 'PICTURE_S3_BUCKET', mark: 'its object stevec-pictures-owner' }
}

/**
 * A folder that is not mounted looks empty, and a second wiki would collect the first one's pictures as left-overs.
 * Therefore each place has a mark that the database knows.
 * @param {Db} db @param {Storages} storages
 * @param {{mayWrite: boolean, onAway?: (error: Error, name: StorageName) => void}} options  `onAway`: instead of an
 *   error where a place cannot be reached
 * @throws {ConfigError} when a place is another wiki's, or not the one that has this wiki's pictures
 */
export async function claimPlaces (db, { all }, { mayWrite, onAway }) {
  for (const storage of all.filter(({ name }) => name !== 'database')) {
    await claim(db.collection(PLACES), storage, mayWrite).catch((error) => {
      if (onAway === undefined || !isAway(error)) throw error
      onAway(error, storage.name)
    })
  }
  const usable = all.map(({ name }) => name)
  const elsewhere = { 'metadata.place.store': { $exists: true, $nin: usable } }
  const projection = { 'metadata.place.store': 1 }
  const lost = await db.collection('files.files').findOne(elsewhere, { projection }) ??
    await db.collection('space_files.files').findOne(elsewhere, { projection })
  if (lost === null) return
  const { setting } = NAMES[/** @type {StorageName} */ (lost.metadata.place.store)]
  throw new ConfigError(`some pictures of this wiki are in the place that ${setting} named; set it, or move them ` +
    'first with wiki-app/bin/pictures.js')
}

/** @param {Collection<Place>} places @param {Storage} storage @param {boolean} mayWrite */
async function claim (places, storage, mayWrite) {
  // The place after the record: another process of this wiki may be making both.
  const look = async () => ({ record: await places.findOne({ _id: storage.name }), mark: await storage.readOwner() })
  let { record, mark } = await look()
  if (record === null) {
    if (mark === null && !mayWrite) return
    if (mark === null) await makeRecord(places, storage.name);
    ({ record, mark } = await look())
  }
  if (mark === null && record?.isMarked === false && mayWrite) {
    await storage.writeOwner(record.owner)
    mark = await storage.readOwner()
  }
  const { setting, mark: where } = NAMES[storage.name]
  if (record === null || (mark !== null && mark !== record.owner)) {
    throw new ConfigError(`${setting} names a place that belongs to another wiki, or to another database of this ` +
      `one: name an empty one. Only if no wiki uses it any more, remove ${where}; all pictures in it are deleted then`)
  }
  if (mark === null) {
    throw new ConfigError(`${setting} does not name the place that has this wiki's pictures: ${where} is missing. ` +
      'Is it mounted, and is it the same place for all wikis of this database?')
  }
  if (!record.isMarked) await places.updateOne({ _id: storage.name }, { $set: { isMarked: true } })
}

/** @param {Collection<Place>} places @param {StorageName} name */
async function makeRecord (places, name) {
  await places.insertOne({ _id: name, owner: randomUUID(), isMarked: false }).catch((error) => {
    if (error.code !== DUPLICATE_KEY) throw error
  })
}
