import { ALT_SCHEMA, AUTHOR_SCHEMA } from '../writing/change.js'
import { readableAlt, visibleAuthor } from '../pages/visible.js'
import { nameOfAttachment, pathsOf } from './attachment-paths.js'
import { acceptedLine } from './accepted-line.js'
import { unescaped } from './file-names.js'

/** @import {FileStore} from '../files/store.js' */

/** The name of a picture in an export says nothing; an attachment has its own. */
const EXPORTED = /(?:^|\/)[0-9a-f]{32}\.\w+$/

/** What a picture shows, and who uploaded it: both may be ''. @typedef {{alt: string, author: string}} About */

/**
 * At the paths of their addresses, the oldest first. What is known about a picture is its comment in the zip.
 * @param {FileStore} pictures @returns {AsyncGenerator<import('./zip.js').ZipItem>}
 */
export async function * pictureFiles (pictures) {
  for await (const picture of pictures.all()) {
    const { alt = '', author } = picture.metadata
    for (const path of pathsOf(picture)) {
      yield {
        path,
        modifiedAt: picture.uploadDate,
        // Only pictures certainly are.
        isCompressed: picture.metadata.names === undefined,
        comment: JSON.stringify({ alt, author }),
        open: () => pictures.read(picture)
      }
    }
  }
}

/** @param {import('./unzip.js').ArchiveFile} file  may be hostile @returns {About} */
export function aboutPicture ({ path, comment = '' }) {
  const { alt, author } = fieldsIn(comment)
  const name = unescaped(path.slice(path.lastIndexOf('/') + 1, path.lastIndexOf('.')))
  const isNamed = EXPORTED.test(path) || nameOfAttachment(path) !== undefined
  return {
    alt: acceptedLine(alt ?? (isNamed ? '' : name), ALT_SCHEMA, readableAlt),
    author: acceptedLine(author, AUTHOR_SCHEMA, visibleAuthor)
  }
}

/** @param {string} comment @returns {Record<string, unknown>} */
function fieldsIn (comment) {
  if (!comment.startsWith('{')) return {}
  try {
    return JSON.parse(comment)
  } catch {
    return {}
  }
}
