/**
 * Hash of the sources of each version of the renderer (test/renderer-version.test.js). Add a hash at the end when the
 * HTML of any text could change; otherwise, as with a comment, replace the last one.
 */
export const SOURCE_HASHES = ['Lz7jgyvHZcdHetOY']

/**
 * Later versions have larger numbers, so that two versions side by side do not render each other's pages again and
 * again. Before there were numbers, a version was a text, which is older than all of these.
 */
export const RENDERER_VERSION = SOURCE_HASHES.length
