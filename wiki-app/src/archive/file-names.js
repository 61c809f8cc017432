import { hashOf } from '../http/hash.js'

/** The limit of most file systems. */
const PART_MAX_BYTES = 255
const EXTENSION = '.md'
const PICTURE = /\.(?:png|jpe?g|webp|gif)$/i

/** Windows forbids these; `%` would make our escapes ambiguous. */
const NOT_IN_A_NAME = /[<>:"|?*\\%\p{Cc}]/gu
/** Folders of attachments, see attachment-paths.js. A page below `files/HASH/a.pdf` would make a folder of the file. */
const OF_ATTACHMENTS = /^files\/[0-9a-f]{32}$/
const DEVICE = /^(?:con|prn|aux|nul|com[\d¹²³]|lpt[\d¹²³])(?:\.|$)/i

/**
 * The paths can stand side by side in every file system.
 * @param {Iterable<string>} [present]  paths that are there already
 * @returns {(name: string) => string} the same names in the same order give the same paths
 */
export function createFileNames (present = []) {
  const taken = new Set([...present].map(folded))
  return (name) => {
    let path = pathOf(name)
    while (taken.has(folded(path))) path = pathOf(name, `~${hashOf(path)}`)
    taken.add(folded(path))
    return path
  }
}

/** The folder of the pages below it. @param {string} name  of a page @returns {string} */
export const folderPath = (name) => name.split('/').map((part) => fitted(folder(escape(part)), '')).join('/')

/** @param {string} path */
export const nameOfFile = (path) => unescaped(withoutExtension(path))

/** @param {string} path */
export const unescaped = (path) => path.split('/').map(unescape).join('/')

/** @param {string} path  of a page */
export const withoutExtension = (path) => path.slice(0, -EXTENSION.length)

/** @param {string} path */
export const isPageFile = (path) => path.toLowerCase().endsWith(EXTENSION)

/** @param {string} path */
export const isPictureFile = (path) => PICTURE.test(path)

/** @param {string} name @param {string} [suffix] */
function pathOf (name, suffix = '') {
  const parts = name.split('/')
  const last = parts.length - 1
  const isBelowAttachment = last > 2 && OF_ATTACHMENTS.test(folded(`${parts[0]}/${parts[1]}`))
  return parts
    .map((part, index) => index === last
      ? fitted(escape(part), suffix + EXTENSION)
      : fitted(folder(index === 1 && isBelowAttachment ? withoutFirst(part) : escape(part)), ''))
    .join('/')
}

/** @param {string} part */
function escape (part) {
  const allowed = part.replace(NOT_IN_A_NAME, percent)
    // A leading dot hides a file; Windows drops trailing dots and spaces.
    .replace(/^\.|[. ]$/g, percent)
  return DEVICE.test(allowed) ? percent(allowed[0]) + allowed.slice(1) : allowed
}

/** It must not be the name of a file beside it. @param {string} part */
const folder = (part) => isPageFile(part) || isPictureFile(part) ? part.replace(/\.(?=[^.]*$)/, '%2E') : part

/** @param {string} part @param {string} ending */
function fitted (part, ending) {
  const whole = part + ending
  if (Buffer.byteLength(whole) <= PART_MAX_BYTES) return whole
  const mark = `~${hashOf(part)}${ending}`
  let [head, room] = ['', PART_MAX_BYTES - Buffer.byteLength(mark)]
  for (const character of part) {
    room -= Buffer.byteLength(character)
    if (room < 0) break
    head += character
  }
  return head + mark
}

/** @param {string} character */
const percent = (character) => [...Buffer.from(character)]
  .map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`)
  .join('')

/** Another folder than that of the file with this hash, which may have any name. @param {string} part */
function withoutFirst (part) {
  const [first, ...others] = part
  return percent(first) + escape(others.join(''))
}

/** @param {string} part */
function unescape (part) {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

/** For file systems that do not distinguish such names. @param {string} path */
const folded = (path) => path.normalize('NFKD').toUpperCase().toLowerCase().normalize('NFKD')
