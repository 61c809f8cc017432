/** Add a hash if the HTML of any text could change; otherwise replace the last one (test/renderer-version.test.js). */
export const SOURCE_HASHES = [
  'PF7YjH04nlUAu4lF', 'tUIXYmjTM1-twOwp', 'zXqdnFwUuqxspBqs', 'NpOYuKM7V71kEUtD', 'vSAcU8MCRhmJZlTx'
]

/** Numbers grow: two versions side by side do not render each other's pages again and again. */
export const RENDERER_VERSION = SOURCE_HASHES.length

/**
 * Some texts of the HTML are in the wiki's language. English has whole numbers.
 * @param {number} language  from 0 to 99 @returns {number}
 */
export const versionIn = (language) => RENDERER_VERSION + language / 100

/** Another language of the same version is older, too. @param {unknown} by @param {number} version */
export function isOlder (by, version) {
  if (typeof by !== 'number') return true
  const [theirs, ours] = [by, version].map(Math.floor)
  return theirs < ours || (theirs === ours && by !== version)
}
