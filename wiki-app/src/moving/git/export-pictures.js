import { nameOfAttachment } from '../../archive/attachment-paths.js'
import { pathsOf } from '../../archive/attachment-paths.js'
import { pictureBytes } from '../../backup/pictures.js'
import { aboutPicture } from './exported-state.js'
import { messageOf } from './message.js'

/** @import {ClientSession, Db, Document} from 'mongodb' */
/** @import {Outside} from '../../backup/pictures.js' */
/** @import {State} from './exported-state.js' */
/** @import {FastImport} from './fast-import.js' */

/**
 * A commit for each picture, and for each name of another file, that is new, has another name, or is deleted.
 * @param {Db} db
 * @param {{session: ClientSession, outside?: Outside, state: State, into: FastImport,
 *   onPicture: (count: number) => void}} options
 * @returns {Promise<number>} commits
 */
export async function exportPictures (db, { session, outside, state, into, onPicture }) {
  const { read, gone } = pictureBytes(db, { session, outside })
  const before = new Map(state.pictures)
  let count = 0
  for await (const file of db.collection('files.files').find({}, { session }).sort({ _id: 1 })) {
    for (const exported of exportedOf(file)) {
      const { picture, author, at } = exported
      const known = before.get(picture)
      before.delete(picture)
      if (known === aboutPicture(exported)) continue
      const content = known === undefined ? await wholeOf(read(file)) : null
      if (gone.has(String(file._id))) continue
      await into.commit({ author, at }, messageOf(exported, picture), { file: content && { path: picture, content } })
      if (at > state.latest) state.latest = at
      onPicture(++count)
    }
  }
  for (const picture of before.keys()) {
    await into.commit(...await deletionOf(db, picture, { session, latest: state.latest }), { remove: picture })
    onPicture(++count)
  }
  return count
}

/** @param {AsyncIterable<Buffer>} pieces */
async function wholeOf (pieces) {
  const all = []
  for await (const piece of pieces) all.push(piece)
  return Buffer.concat(all)
}

/** @param {Document} file */
function exportedOf (file) {
  const { author = '', alt = '' } = file.metadata
  return pathsOf(/** @type {any} */ (file)).map((picture) => ({ picture, summary: alt, author, at: file.uploadDate }))
}

/**
 * @param {Db} db @param {string} picture @param {{session: ClientSession, latest: Date}} options
 * @returns {Promise<[by: {author: string, at: Date}, message: string]>}
 */
async function deletionOf (db, picture, { session, latest }) {
  const [name] = /(?<=^files\/)[0-9a-f]{32}/.exec(picture) ?? ['']
  const found = await db.collection('deleted_files').findOne({ _id: /** @type {any} */ (name) }, { session })
  const by = { author: found?.author ?? '', at: found?.deleted_at ?? latest }
  const summary = nameOfAttachment(picture) === undefined ? 'Picture deleted' : 'File deleted'
  return [by, messageOf({ picture, summary, ...by }, picture)]
}
