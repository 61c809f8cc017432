/** Add a hash if the HTML of any text could change; otherwise replace the last one (test/renderer-version.test.js). */
export const SOURCE_HASHES = ['PF7YjH04nlUAu4lF', 'tUIXYmjTM1-twOwp', 'zXqdnFwUuqxspBqs', 'hEOGCYcykMV0erQn']

/** Numbers grow: two versions side by side do not render each other's pages again and again. */
export const RENDERER_VERSION = SOURCE_HASHES.length

/**
 * Some texts of the HTML are in the wiki's language. English has whole numbers.
 * @param {number} language  from 0 to 99 @returns {number}
 */
export const versionIn = (language) => RENDERER_VERSION + language / 100

/** Another language of the same version is older, too. @param {unknown} by @param {number} version */
export const isOlder = (by, version) =>
  typeof by !== 'number' || Math.floor(by) < Math.floor(version) || (Math.floor(by) === Math.floor(version) && by !== version)
