import { attachmentName } from '../files/attachment-name.js'
import { folderPath, isPageFile, isPictureFile, unescaped } from './file-names.js'

/** @import {StoredFile} from '../files/model.js' */

/** Of an export. */
const EXPORTED = /(?:^|\/)files\/[0-9a-f]{32}\/[^/]+$/
const EXPORTED_BELOW = /\/[0-9a-f]{32}\/[^/]+$/
/** As in the addresses of the files of private spaces. */
export const OF_SPACES = 'edit/in/files/'
/** Documents, tables, archives. Not what belongs to a program beside the texts: scripts, styles, settings. */
const DOCUMENT = new RegExp(`\\.(?:${[
  'pdf', 'odt', 'ods', 'odp', 'odg', 'docx?', 'xlsx?', 'pptx?', 'rtf', 'epub', 'csv', 'tsv', 'zip', '7z', 'gz', 'xz',
  'mp3', 'ogg', 'opus', 'flac', 'wav', 'm4a', 'mp4', 'webm', 'mov', 'svg', 'tiff?', 'heic', 'avif', 'ics', 'gpx'
].join('|')})$`, 'i')

/**
 * In an archive or a repository: those of their addresses, where links lead. No page has such a path: those of pages
 * end in `.md`, and of these none does.
 * @param {StoredFile} file @returns {string[]} one for each name
 */
export function pathsOf ({ filename, space, metadata: { extension, names } }) {
  const start = `${space === undefined ? 'files/' : `${OF_SPACES}${folderPath(space)}/`}${filename}`
  return names?.map((name) => `${start}/${isPageFile(name) ? name.replace(/\.(?=[^.]*$)/, '%2E') : name}`) ??
    [`${start}.${extension}`]
}

/** @param {string} path */
export const isUploadFile = (path) => isPictureFile(path) || nameOfAttachment(path) !== undefined

/** @param {string} path @returns {string | undefined} undefined: it is none, or has to be a picture */
export function nameOfAttachment (path) {
  const isExported = EXPORTED.test(path) || (path.includes(OF_SPACES) && EXPORTED_BELOW.test(path))
  if (isPageFile(path) || !(isExported || DOCUMENT.test(path))) return undefined
  return attachmentName(unescaped(path))
}
