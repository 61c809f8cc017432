import { deserialize } from 'bson'
import toHtml from '../markdown/html.js'
import { authorship } from './authorship.js'
import difference from './difference.js'

const encoder = new TextEncoder()

/** @import {Drawings} from '../markdown/diagrams.js' */
/** @import {Difference} from './difference.js' */
/** @typedef {string | Uint8Array} Text  Markdown, or a BSON document with Markdown as `content` */
/** @typedef {{markdown: Text, htmlMaxBytes: number, drawings?: Drawings}} OldText */

/** @typedef {{versions: {revision: number, text: Text}[]}} Versions  of one page, the oldest first */

/**
 * Bytes cost the main thread least.
 * @param {OldText | {before: Text, after: Text} | Versions} task
 * @returns {{html: Uint8Array | null, diagrams: string[]} | Difference | Uint8Array} null when the HTML would be too
 *   long; with `diagrams` the next call needs `drawings`; of versions, JSON of their authorship
 */
export default function work (task) {
  if ('versions' in task) {
    const versions = task.versions.map(({ revision, text }) => ({ revision, text: textOf(text) }))
    return encoder.encode(JSON.stringify(authorship(versions)))
  }
  if (!('markdown' in task)) return difference({ before: textOf(task.before), after: textOf(task.after) })
  const { markdown, htmlMaxBytes, drawings } = task
  const { html, bytes, diagrams } = toHtml({ markdown: textOf(markdown), maxBytes: htmlMaxBytes, drawings })
  return { html: bytes > htmlMaxBytes ? null : encoder.encode(html), diagrams }
}

/** @param {Text} text @returns {string} */
const textOf = (text) => typeof text === 'string' ? text : deserialize(text).content
