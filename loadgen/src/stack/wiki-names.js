/**
 * @param {number} index  0…
 * @returns {string} of the process: `wiki`, `wiki 2`, `wiki 3` …
 */
export const wikiName = (index) => index === 0 ? 'wiki' : `wiki ${index + 1}`

/** @param {string} name  of a process */
export const isWiki = (name) => /^wiki( \d+)?$/.test(name)
