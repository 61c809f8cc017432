import { viewUrl } from '../pages/name.js'

const PAGES = '/wiki/'
// No author's text contains these: the renderer escapes `<` in texts and `"` in attributes.
const LINK = `<a href="${PAGES}`
const TITLE = ' title="'
// Stored pages contain these marks, which another form would no longer find.
const MARK = ' class="missing"'
const NOTE = 'not written yet'
const NOTE_AFTER_TITLE = ` – ${NOTE}`
const MARK_BYTES_MAX = Buffer.byteLength(`${MARK}${TITLE}${NOTE_AFTER_TITLE}"`)

/**
 * A marked link keeps its address: the page may exist by then.
 * @param {string} html  from the renderer, or from this function @param {Set<string>} missing  canonical names
 * @returns {Buffer} in UTF-8
 */
export function withMissing (html, missing) {
  if (missing.size === 0 && !html.includes(MARK)) return Buffer.from(html)
  // The only character of the wiki's addresses that HTML escapes.
  const ends = new Set([...missing].map((name) => viewUrl(name).slice(PAGES.length).replaceAll('&', '&amp;')))
  const [before, ...links] = html.split(LINK)
  return Buffer.from([before, ...links.map((link) => marked(link, ends))].join(LINK))
}

/** @param {string} html */
export const markBytesMax = (html) => MARK_BYTES_MAX * (html.split(LINK).length - 1)

/** @param {string} link  what follows LINK @param {Set<string>} missing  ends of addresses */
function marked (link, missing) {
  const end = link.indexOf('"') + 1
  const isMissing = missing.has(pathOf(link.slice(0, end - 1)))
  const wasMissing = link.startsWith(MARK, end)
  if (isMissing === wasMissing) return link
  const titleAt = wasMissing ? end + MARK.length : end
  if (!link.startsWith(TITLE, titleAt)) return `${link.slice(0, end)}${MARK}${TITLE}${NOTE}"${link.slice(end)}`
  const titleEnd = link.indexOf('"', titleAt + TITLE.length)
  const title = link.slice(titleAt + TITLE.length, titleEnd)
  const rest = link.slice(titleEnd)
  if (isMissing) return `${link.slice(0, end)}${MARK}${TITLE}${title}${NOTE_AFTER_TITLE}${rest}`
  return title === NOTE
    ? `${link.slice(0, end)}${rest.slice(1)}`
    : `${link.slice(0, end)}${TITLE}${title.slice(0, -NOTE_AFTER_TITLE.length)}${rest}`
}

/** @param {string} address @returns {string} without query and fragment */
function pathOf (address) {
  const path = address.includes('?') ? address.slice(0, address.indexOf('?')) : address
  return path.includes('#') ? path.slice(0, path.indexOf('#')) : path
}
