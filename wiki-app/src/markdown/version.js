/** Add a hash if the HTML of any text could change; otherwise replace the last one (test/renderer-version.test.js). */
export const SOURCE_HASHES = ['PF7YjH04nlUAu4lF', 'tUIXYmjTM1-twOwp', 'zXqdnFwUuqxspBqs', 'MtQa0kYNv9syddXQ']

/** Numbers grow: two versions side by side do not render each other's pages again and again. */
export const RENDERER_VERSION = SOURCE_HASHES.length
