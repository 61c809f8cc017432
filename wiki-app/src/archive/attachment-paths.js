import { attachmentName } from '../files/attachment-name.js'
import { isPageFile, isPictureFile, unescaped } from './file-names.js'

/** Of an export. */
const EXPORTED = /(?:^|\/)files\/[0-9a-f]{32}\/[^/]+$/
/** Documents, tables, archives. Not what belongs to a program beside the texts: scripts, styles, settings. */
const DOCUMENT = new RegExp(`\\.(?:${[
  'pdf', 'odt', 'ods', 'odp', 'odg', 'docx?', 'xlsx?', 'pptx?', 'rtf', 'epub', 'csv', 'tsv', 'zip', '7z', 'gz', 'xz',
  'mp3', 'ogg', 'opus', 'flac', 'wav', 'm4a', 'mp4', 'webm', 'mov', 'svg', 'tiff?', 'heic', 'avif', 'ics', 'gpx'
].join('|')})$`, 'i')

/**
 * In an archive or a repository. No page has such a path: those of pages end in `.md`, and of these none does.
 * @param {string} hash @param {string} name  of an attachment, without `%`
 */
export const pathOfAttachment = (hash, name) =>
  `files/${hash}/${isPageFile(name) ? name.replace(/\.(?=[^.]*$)/, '%2E') : name}`

/** @param {string} path */
export const isUploadFile = (path) => isPictureFile(path) || nameOfAttachment(path) !== undefined

/** @param {string} path @returns {string | undefined} undefined: it is none, or has to be a picture */
export function nameOfAttachment (path) {
  if (isPageFile(path) || !(EXPORTED.test(path) || DOCUMENT.test(path))) return undefined
  return attachmentName(unescaped(path))
}
