const LF = 10
const CR = 13
/** What may stand before a box: quotes, list markers, the label of a note. */
const BOX = /^(?:[ \t\v\f>]|[-+*](?=[ \t])|\d{1,9}[.)](?=[ \t])|\[\^[^\s[\]]{1,64}\]:)*\[([ xX])\](?=[ \t\u00A0])/

/**
 * A box of a task list, as markdown/task-lists.js numbers them. Only the one line is looked at, not the whole Markdown:
 * that takes a thread.
 * @typedef {object} Task
 * @property {number} at  of the character between the brackets
 * @property {boolean} checked
 * @property {string} label  its line with an empty box
 */

/** @param {string} content  Markdown @param {number} number  of the line, from 1 @returns {Task | null} */
export function taskAt (content, number) {
  const start = lineStart(content, number)
  if (start === -1) return null
  const line = /[^\r\n]*/y
  line.lastIndex = start
  const text = /** @type {RegExpExecArray} */ (line.exec(content))[0]
  const [upToBox, mark] = BOX.exec(text) ?? []
  if (upToBox === undefined) return null
  const inLine = upToBox.length - 2
  return { at: start + inLine, checked: mark !== ' ', label: `${text.slice(0, inLine)} ${text.slice(inLine + 1)}` }
}

/** @param {string} content @param {Task} task @param {boolean} checked */
export const withTask = (content, { at }, checked) =>
  `${content.slice(0, at)}${checked ? 'x' : ' '}${content.slice(at + 1)}`

/** Lines end as in CommonMark. @param {string} content @param {number} number @returns {number} -1 for no such line */
function lineStart (content, number) {
  let line = 1
  for (let at = 0; at < content.length && line < number; at++) {
    const code = content.charCodeAt(at)
    if (code !== LF && (code !== CR || content.charCodeAt(at + 1) === LF)) continue
    if (++line === number) return at + 1
  }
  return number === 1 ? 0 : -1
}
