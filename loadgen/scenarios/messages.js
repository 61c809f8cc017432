// The requests of a plan. Node and k6 both run this file: no APIs of either.
import { editText, largestOf, pageText, sizeOf } from './content.js'
import { draw, newPageName, pageName } from './plan.js'
import { EMPTY_PATH, recordOf, RECORDS_PATH } from './records.js'
import { linkedPage, linkId, linkPath, newLinkedPage, newLinkId, pagesOfLinks } from './short-links.js'

/**
 * @typedef {object} Request
 * @property {'GET' | 'POST' | 'PUT'} method
 * @property {string} path
 * @property {string | null} body
 * @property {string} [type]  of the body
 * @property {string} [linksTo]  the page of a short link
 */

/** @typedef {import('../src/lab/generator.js').GeneratorSettings} GeneratorSettings */

/** @param {GeneratorSettings} settings @returns {boolean} whether edits need `textOf` */
export const needsText = ({ plan, resource }) =>
  plan.edit_ratio > 0 && (resource === 'page' || resource === 'watched-page')

/** @param {GeneratorSettings} settings @returns {string} from which the texts of all edits are cut */
export const textOf = ({ plan, edit_size_chars: editSize, page_size_chars: pageSize }) =>
  pageText(plan.seed, 0, editSize ?? largestOf(pageSize))

/**
 * @param {GeneratorSettings} settings
 * @param {{paths: string[] | null, base: string}} texts  `paths`: of each page, null: /wiki/page-000001 …; `base`: see
 *   textOf
 */
export function createMessages (settings, { paths, base }) {
  if (settings.resource === 'record') return recordMessages(settings)
  const { plan, mark } = settings
  const picture = settings.picture_markdown ?? ''
  const isOfLinks = settings.resource === 'short-link'

  /** @param {number} page  or short link @returns {Request} */
  function readOf (page) {
    const request = { method: /** @type {const} */ ('GET'), body: null }
    if (isOfLinks) return { ...request, path: linkPath('GET', linkId(page)), linksTo: linkedPage(page) }
    return { ...request, path: paths === null ? `/wiki/${pageName(page)}` : paths[page] }
  }

  /** @param {number} index @param {number} page @returns {string} */
  function bodyOf (index, page) {
    const sizeChars = settings.edit_size_chars ?? sizeOf(plan.seed, page, settings.page_size_chars)
    const begin = [`${mark}x${index}`, linksOf(plan, index, settings.edit_links ?? 0), picture]
    return editText(base, begin.filter((part) => part !== '').map((part, at) => at === 0 ? part : `\n\n${part}\n\n`)
      .join(''), sizeChars)
  }

  return {
    readOf,

    /** @param {number} index @param {number} page  or short link @returns {Request} */
    editOf (index, page) {
      if (isOfLinks) {
        const linksTo = newLinkedPage(mark, index % pagesOfLinks(plan.requests))
        const body = JSON.stringify({ page: linksTo })
        return { method: 'PUT', path: linkPath('PUT', newLinkId(mark, index)), body, type: 'application/json', linksTo }
      }
      const path = settings.edit === 'create-get' ? `/wiki/${newPageName(mark, index)}` : readOf(page).path
      return { method: 'POST', path, body: bodyOf(index, page), type: 'text/markdown' }
    }
  }
}

const LINK_STREAM = 0x3c6ef372

/**
 * @param {import('./plan.js').Plan} plan
 * @param {number} index
 * @param {number} count
 * @returns {string} Markdown of so many links to pages of the plan, others in each edit
 */
const linksOf = ({ seed, stream, pages }, index, count) => Array.from({ length: count }, (_, at) => {
  const name = pageName(Math.floor(draw(seed, stream ^ LINK_STREAM, index * count + at) * pages))
  return `[${name}](/wiki/${name})`
}).join(' ')

/** @param {GeneratorSettings} settings */
function recordMessages ({ plan: { seed }, mark, write_strategy: strategy, page_size_chars: size }) {
  const path = strategy === 'none' ? EMPTY_PATH : RECORDS_PATH
  const sizeChars = /** @type {number} */ (size)
  return {
    /** @param {number} _ @returns {Request} */
    readOf: (_) => ({ method: 'GET', path: EMPTY_PATH, body: null }),

    /** @param {number} index @param {number} _ @returns {Request} */
    editOf: (index, _) =>
      ({
        method: 'POST',
        path,
        body: JSON.stringify(recordOf({ seed, mark, index, sizeChars })),
        type: 'application/json'
      })
  }
}
