import { parseFrontMatter } from './front-matter.js'

/**
 * What the thread for imports does.
 * @param {string} yaml
 * @returns {{known: import('./front-matter.js').Known | null} | {refusal: string}} a refusal is text: errors lose
 *   their class between threads
 */
export default function work (yaml) {
  try {
    return { known: parseFrontMatter(yaml) }
  } catch (error) {
    return { refusal: /** @type {Error} */ (error).message.split('\n', 1)[0].replace(/[:.]$/, '') }
  }
}
