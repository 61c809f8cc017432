import { urlOf } from '../files/store.js'

/** @import {FileStore} from '../files/store.js' */

/**
 * At the paths of their addresses. The oldest first.
 * @param {FileStore} pictures @returns {AsyncGenerator<import('./zip.js').ZipItem>}
 */
export async function * pictureFiles (pictures) {
  for await (const picture of pictures.all()) {
    yield {
      path: urlOf(picture).slice(1),
      modifiedAt: picture.uploadDate,
      isCompressed: true,
      open: () => pictures.read(picture)
    }
  }
}
