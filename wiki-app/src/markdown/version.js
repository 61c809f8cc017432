/** Add a hash if the HTML of any text could change; otherwise replace the last one (test/renderer-version.test.js). */
export const SOURCE_HASHES = ['PF7YjH04nlUAu4lF', 'yi5qu-2EvCYA2DbJ']

/** Numbers grow: two versions side by side do not render each other's pages again and again. */
export const RENDERER_VERSION = SOURCE_HASHES.length
