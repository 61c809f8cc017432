import { withoutHidden } from '../pages/visible.js'

const NAME_MAX_CHARS = 100
/** As a part of an address each byte takes three characters; file systems take 255 bytes. */
const NAME_MAX_BYTES = 200
const EXTENSION_MAX_CHARS = 20
const NO_NAME = 'file'

/** Windows forbids these; `%` would make escapes in paths ambiguous (archive/file-names.js). */
const NOT_IN_A_NAME = /[<>:"|?*%/\\]/g
const UNSHOWN = /[\p{Cc}\p{Cs}\p{Co}\p{Cn}]/gu
const DEVICE = /^(?:con|prn|aux|nul|com[\d¹²³]|lpt[\d¹²³])(?:\.|$)/i
const EXTENSION = new RegExp(`\\.[^. ]{1,${EXTENSION_MAX_CHARS}}$`, 'u')
/** encodeURIComponent leaves them; Markdown and RFC 8187 §3.2.1 do not. */
const LEFT_OVER = /[!'()*]/g

/**
 * The name of a file that every system can store and that reads as it is.
 * @param {string} given  by a browser or an archive; may be hostile
 * @returns {string} one part of a path: 1 to 100 characters, at most 200 bytes of UTF-8
 */
export function attachmentName (given) {
  const last = given.slice(Math.max(given.lastIndexOf('/'), given.lastIndexOf('\\')) + 1)
  let name = last.slice(0, 10 * NAME_MAX_CHARS)
  // What one step removes may join letters, or show what another one forbids: a name of ours has to stay as it is.
  for (let before = ''; before !== name;) [before, name] = [name, cleaned(name)]
  return name || NO_NAME
}

/** @param {string} given */
function cleaned (given) {
  // Each step may leave something for the one before it: `. .a`.
  const visible = withoutHidden(given.normalize('NFC').replace(UNSHOWN, ''))
    .replace(NOT_IN_A_NAME, '_')
    .replace(/\s+/gu, ' ')
    .replace(/^[. ]+|[. ]+$/g, '')
  const name = shortened(visible)
  return DEVICE.test(name) ? `_${name}` : name
}

/** The end of a name says what it is, so the middle is left out. @param {string} name */
function shortened (name) {
  if (fits(name, '')) return name
  const [extension = ''] = EXTENSION.exec(name) ?? []
  let head = ''
  for (const character of name.slice(0, name.length - extension.length)) {
    if (!fits(head + character, extension)) break
    head += character
  }
  return `${head.replace(/[. ]+$/, '')}${extension}`
}

/** With room for the mark before the name of a device. @param {string} head @param {string} extension */
const fits = (head, extension) =>
  [...head, ...extension].length < NAME_MAX_CHARS && Buffer.byteLength(head + extension) < NAME_MAX_BYTES

/** @param {string} name @returns {string} in an address, a link of Markdown, and a header */
export const encodeAttachmentName = (name) => encodeURIComponent(name)
  .replace(LEFT_OVER, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`)

/**
 * A download, whatever it is (RFC 6266 §4, RFC 8187 §3.2).
 * @param {string} name @returns {string} all ASCII; `filename` is for clients that do not know `filename*`
 */
export function asDownload (name) {
  const plain = name.normalize('NFKD').replace(/\p{M}/gu, '').replace(/[^\w.,@=+() -]/g, '_')
  return `attachment; filename="${plain}"; filename*=UTF-8''${encodeAttachmentName(name)}`
}
