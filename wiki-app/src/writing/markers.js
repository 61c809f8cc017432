// Apart from merge.js: what the process imports leaves the library of differences to its threads.

/** Words, so that no text about Git's own markers is taken for an open conflict. */
const MINE = '<<<<<<< Your lines'
const THEIRS = '======= The lines of revision'
const END = '>>>>>>> Keep what is right, and delete these three marked lines'

const MARKER = new RegExp(`^(?:${MINE}|${THEIRS} \\d+|${END})$`, 'm')

/** @param {string} text  Markdown @returns {boolean} whether a marker of `merge` is still in it */
export const hasMarkers = (text) => MARKER.test(text)

/**
 * `revision`: of `theirs`.
 * @typedef {{base: string, mine: string, theirs: string, revision: number}} Texts  Markdown
 * @typedef {{content: string, conflicts: number}} Merged  `conflicts`: places with markers
 */

/** @param {Omit<Texts, 'base'>} texts  as a single conflict @returns {Merged} */
export const mergeNothing = ({ mine, theirs, revision }) =>
  ({ content: withMarkers([mine], [theirs], revision).join(''), conflicts: 1 })

/** @param {string[]} mine @param {string[]} theirs @param {number} revision */
export const withMarkers = (mine, theirs, revision) =>
  [`${MINE}\n`, ...closed(mine), `${THEIRS} ${revision}\n`, ...closed(theirs), `${END}\n`]

/** A marker is a line of its own. @param {string[]} lines */
const closed = (lines) => lines.length === 0 || lines[lines.length - 1].endsWith('\n') ? lines : [...lines, '\n']
