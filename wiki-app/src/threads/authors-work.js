import { parseFrontMatter } from '../archive/front-matter.js'
import toHtml from '../markdown/html.js'

/**
 * @param {{markdown: string, maxBytes: number} | {yaml: string}} task
 * @returns {ReturnType<typeof toHtml> | {known: import('../archive/front-matter.js').Known | null} | {refusal: string}}
 *   text: errors lose their class between threads
 */
export default function work (task) {
  if ('markdown' in task) return toHtml(task)
  try {
    return { known: parseFrontMatter(task.yaml) }
  } catch (error) {
    return { refusal: /** @type {Error} */ (error).message.split('\n', 1)[0].replace(/[:.]$/, '') }
  }
}
