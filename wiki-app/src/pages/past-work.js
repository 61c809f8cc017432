import toHtml from '../markdown/html.js'
import difference from './difference.js'

/**
 * What the threads for readers do.
 * @param {{markdown: string, maxBytes: number} | {before: string, after: string}} task
 */
export default (task) => 'markdown' in task ? toHtml(task) : difference(task)
