import { deserialize } from 'bson'
import toHtml from '../markdown/html.js'
import difference from './difference.js'

const encoder = new TextEncoder()

/** @import {Drawings} from '../markdown/diagrams.js' */
/** @typedef {string | Uint8Array} Text  Markdown, or a BSON document with Markdown as `content` */
/** @typedef {{markdown: Text, htmlMaxBytes: number, drawings?: Drawings}} OldText */

/**
 * Bytes cost the main thread least.
 * @param {OldText | {before: Text, after: Text}} task
 * @returns {{html: Uint8Array | null, diagrams: string[]} | import('./difference.js').Difference} null when the HTML
 *   would be too long; with `diagrams` the next call needs `drawings`
 */
export default function work (task) {
  if (!('markdown' in task)) return difference({ before: textOf(task.before), after: textOf(task.after) })
  const { markdown, htmlMaxBytes, drawings } = task
  const { html, bytes, diagrams } = toHtml({ markdown: textOf(markdown), maxBytes: htmlMaxBytes, drawings })
  return { html: bytes > htmlMaxBytes ? null : encoder.encode(html), diagrams }
}

/** @param {Text} text @returns {string} */
const textOf = (text) => typeof text === 'string' ? text : deserialize(text).content
