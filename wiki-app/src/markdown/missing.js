import { viewUrl } from '../pages/name.js'

const PAGES = '/wiki/'
/** A missing page's link leads there: to an editor, or to the page when it has been written meanwhile. */
export const NEW_PAGES = '/edit/new/'
// No author's text contains these: the renderer escapes `<` in texts and `"` in attributes.
const LINK = new RegExp(`<a href="(?=${PAGES}|${NEW_PAGES})`)
const TITLE = ' title="'
// Stored pages contain these marks, which another form would no longer find.
const CLASS = ' class="missing"'
const NO_FOLLOW = ' rel="nofollow"'
const NOTE = 'not written yet'
const NOTE_AFTER_TITLE = ` – ${NOTE}`
const MARK_BYTES_MAX = NEW_PAGES.length - PAGES.length +
  Buffer.byteLength(`${CLASS}${NO_FOLLOW}${TITLE}${NOTE_AFTER_TITLE}"`)

/**
 * Only the beginning of a marked link's address differs, so the mark can be taken back.
 * @param {string} html  from the renderer, or from this function @param {Set<string>} missing  canonical names
 * @returns {Buffer} in UTF-8
 */
export function withMissing (html, missing) {
  if (missing.size === 0 && !html.includes(CLASS)) return Buffer.from(html)
  // The only character of the wiki's addresses that HTML escapes.
  const ends = new Set([...missing].map((name) => viewUrl(name).slice(PAGES.length).replaceAll('&', '&amp;')))
  const [before, ...links] = html.split(LINK)
  return Buffer.from([before, ...links.map((link) => marked(link, ends))].join('<a href="'))
}

/** @param {string} html */
export const markBytesMax = (html) => MARK_BYTES_MAX * (html.split(LINK).length - 1)

/** @param {string} link  what follows LINK @param {Set<string>} missing  ends of addresses */
function marked (link, missing) {
  const end = link.indexOf('"') + 1
  const wasMissing = link.startsWith(CLASS, end)
  // An author's own link.
  if (!wasMissing && link.startsWith(NEW_PAGES)) return link
  const path = link.slice(link.startsWith(PAGES) ? PAGES.length : NEW_PAGES.length, end)
  const isMissing = missing.has(pathOf(path.slice(0, -1)))
  if (!isMissing && !wasMissing) return link
  const plain = wasMissing ? unmarked(link.slice(end + CLASS.length)) : link.slice(end)
  return isMissing ? `${NEW_PAGES}${path}${CLASS}${NO_FOLLOW}${withNote(plain)}` : `${PAGES}${path}${plain}`
}

/** @param {string} rest  of a link after its mark; earlier versions had no NO_FOLLOW */
function unmarked (rest) {
  const from = rest.startsWith(NO_FOLLOW) ? NO_FOLLOW.length : 0
  const titleEnd = rest.indexOf('"', from + TITLE.length)
  const title = rest.slice(from + TITLE.length, titleEnd)
  return title === NOTE
    ? rest.slice(titleEnd + 1)
    : `${TITLE}${title.slice(0, -NOTE_AFTER_TITLE.length)}${rest.slice(titleEnd)}`
}

/** @param {string} rest  of a link after its address */
function withNote (rest) {
  if (!rest.startsWith(TITLE)) return `${TITLE}${NOTE}"${rest}`
  const titleEnd = rest.indexOf('"', TITLE.length)
  return `${rest.slice(0, titleEnd)}${NOTE_AFTER_TITLE}${rest.slice(titleEnd)}`
}

/** @param {string} address @returns {string} without query and fragment */
function pathOf (address) {
  const path = address.includes('?') ? address.slice(0, address.indexOf('?')) : address
  return path.includes('#') ? path.slice(0, path.indexOf('#')) : path
}
