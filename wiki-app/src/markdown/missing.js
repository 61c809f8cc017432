import { viewUrl } from '../pages/name.js'

/** Nothing that an author writes looks like this: the renderer escapes every `<` of a text and every `"` of an attribute. */
const PAGE_LINK = /<a href="(\/wiki\/[^"#?]*)([^"]*)"(?: title="([^"]*)")?/g

const MARK = ' class="missing"'

/**
 * @param {Buffer} html  as `withMissing` makes it
 * @returns {boolean} whether it marks any link
 */
export const hasMissing = (html) => html.includes(MARK)

/**
 * Marks the links to pages that nobody has written. They still lead there, for the page may exist by the time of the click.
 * @param {string} html  of `render`
 * @param {Set<string>} missing  canonical names
 * @returns {Buffer} in UTF-8
 */
export function withMissing (html, missing) {
  if (missing.size === 0) return Buffer.from(html)
  // Of what HTML escapes in an attribute, an address of ours has only this.
  const urls = new Set([...missing].map((name) => viewUrl(name).replaceAll('&', '&amp;')))
  return Buffer.from(html.replace(PAGE_LINK, (link, url, rest, title) => urls.has(url)
    ? `<a href="${url}${rest}"${MARK} title="${title === undefined ? '' : `${title} – `}not written yet"`
    : link))
}
