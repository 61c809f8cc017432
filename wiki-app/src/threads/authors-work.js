import { parseFrontMatter } from '../archive/front-matter.js'
import toHtml from '../markdown/html.js'
import { merge } from '../writing/merge.js'
import { sectionWork } from '../writing/section-work.js'

/**
 * @typedef {import('../archive/link-places.js').Place} Place
 * @typedef {import('../archive/front-matter.js').Known} Known
 * @typedef {import('../writing/markers.js').Texts} Texts
 * @typedef {import('../writing/markers.js').Merged} Merged
 * @typedef {import('../writing/section-work.js').OfSection} OfSection
 * @typedef {Parameters<typeof toHtml>[0] | {yaml: string} | {linksOf: string, placesMax: number}} OfText
 * @typedef {{known: Known | null} | {refusal: string}} FrontMatter
 * @param {OfText | Texts | OfSection} task
 * @returns {ReturnType<typeof toHtml> | FrontMatter | Merged | ReturnType<typeof sectionWork> |
 *   Promise<{places: Place[] | null}>} a refusal is text: errors lose their class between threads
 */
export default function work (task) {
  if ('markdown' in task) return toHtml(task)
  if ('mine' in task) return merge(task)
  if ('section' in task) return sectionWork(task)
  if ('linksOf' in task) return placesIn(task)
  try {
    return { known: parseFrontMatter(task.yaml) }
  } catch (error) {
    return { refusal: /** @type {Error} */ (error).message.split('\n', 1)[0].replace(/[:.]$/, '') }
  }
}

/**
 * Loaded on first use: few wikis import, and the parser would delay the thread's start.
 * @param {{linksOf: string, placesMax: number}} task @returns {Promise<{places: Place[] | null}>} null: too many
 */
async function placesIn ({ linksOf, placesMax }) {
  const { linkPlaces } = await import('../archive/link-places.js')
  const places = linkPlaces(linksOf)
  return { places: places.length <= placesMax ? places : null }
}
