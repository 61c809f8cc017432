/**
 * What each version of the renderer was made of (test/renderer-version.test.js). Another hash is added at the end when
 * the HTML of any text could change; where it cannot, as with a comment, the last one is replaced.
 */
export const SOURCE_HASHES = ['lkwhyHlrb5t1eBtt']

/**
 * A later version has a larger number, so that of two that run side by side neither renders again what the other did.
 * Before there were numbers a version was a text, older than all of these.
 */
export const RENDERER_VERSION = SOURCE_HASHES.length
