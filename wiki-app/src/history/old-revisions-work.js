import { deserialize } from 'bson'
import toHtml from '../markdown/html.js'
import difference from './difference.js'

const encoder = new TextEncoder()

/** @typedef {string | Uint8Array} Text  Markdown, or a BSON document with Markdown as `content` */

/**
 * Bytes cost the main thread least.
 * @param {{markdown: Text, htmlMaxBytes: number} | {before: Text, after: Text}} task
 * @returns {{html: Uint8Array | null} | import('./difference.js').Difference} null when the HTML would be too long
 */
export default function work (task) {
  if (!('markdown' in task)) return difference({ before: textOf(task.before), after: textOf(task.after) })
  const { html, bytes } = toHtml({ markdown: textOf(task.markdown), maxBytes: task.htmlMaxBytes })
  return { html: bytes > task.htmlMaxBytes ? null : encoder.encode(html) }
}

/** @param {Text} text @returns {string} */
const textOf = (text) => typeof text === 'string' ? text : deserialize(text).content
