import { pageName } from '../../scenarios/plan.js'
import { linkId, linkPath, newLinkedPage, newLinkId, pagesOfLinks } from '../../scenarios/short-links.js'
import { linkTo } from './links.js'

/**
 * A request of a warm-up, and the statuses that its response may have.
 * @typedef {object} Message
 * @property {string} path
 * @property {number[]} statuses
 * @property {string} [method]
 * @property {Record<string, string>} [headers]
 * @property {string} [body]
 */

/**
 * @typedef {object} Messages
 * @property {(index: number) => Message} read
 * @property {(() => Message) | null} edit  null: no edits
 */

/**
 * @param {object} options
 * @param {number} options.pages  of trials, to read
 * @param {() => {name: string, text: string}} [options.nextEdit]  default: no edits
 * @returns {Messages}
 */
export const pageMessages = ({ pages, nextEdit }) => ({
  read: (index) => ({ path: `/wiki/${pageName(index % pages)}`, statuses: [200] }),
  edit: nextEdit === undefined
    ? null
    : () => {
        const { name, text } = nextEdit()
        const headers = { 'content-type': 'text/markdown' }
        return { path: `/wiki/${name}`, statuses: [200, 201], method: 'POST', headers, body: text }
      }
})

/**
 * Reads the trial's short links, and makes new ones to pages of its own.
 * @param {object} options
 * @param {number} options.links  of trials, to read
 * @param {string} options.mark  of this warm-up, as that of a trial
 * @param {number} options.most  new links: the pages for so many exist
 * @returns {Messages}
 */
export function linkMessages ({ links, mark, most }) {
  let made = 0
  return {
    read: (index) => ({ path: linkPath('GET', linkId(index % links)), statuses: [301, 302] }),
    edit () {
      const index = made++
      const page = newLinkedPage(mark, index % pagesOfLinks(most))
      return { path: linkPath('PUT', newLinkId(mark, index)), statuses: [201], ...linkTo(page) }
    }
  }
}
