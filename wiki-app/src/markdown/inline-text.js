/** @import {Token} from 'markdown-it' */

/** @param {Token[]} tokens */
export const inlineText = (tokens) => tokens.map(textOf).join('').trim()

/** @param {Token} token @returns {string} */
function textOf ({ type, content, children }) {
  if (type === 'text' || type === 'code_inline' || type === 'math_inline') return content
  if (type === 'softbreak' || type === 'hardbreak') return ' '
  return type === 'image' ? inlineText(children ?? []) : ''
}
