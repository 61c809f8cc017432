import { canonicalName, editUrl } from '../pages/name.js'
import { isWithin } from '../spaces/find-space.js'

/** @import {PageSource} from '../pages/read-pages.js' */
/** @import {PageStore} from '../pages/store.js' */
/** @import {Search} from '../search/search.js' */

/** Pages below this one are offered where a page is created. */
export const TEMPLATES = 'Template'
const OFFERED_MAX = 20
/** The text grows by so many names and dates at most. */
const FILLED_MAX = 100

/** Of the query of the editor's address. */
export const TEMPLATE_QUERY = { template: { type: 'string', maxLength: 1_000 } }

/** @param {{store: Pick<PageStore, 'findSource'>, search: Pick<Search, 'below'>}} parts */
export const createPageTemplates = ({ store, search }) => ({
  /**
   * @param {string} name  of the page that is created
   * @returns {Promise<{name: string, url: string}[]>} the names without what all begin with
   */
  async offered (name) {
    const { items } = await search.below({ name: TEMPLATES, limit: OFFERED_MAX })
    return items.map(({ _id: template }) => ({
      name: template.slice(TEMPLATES.length + 1),
      url: `${editUrl(name)}?${new URLSearchParams({ template })}`
    }))
  },

  /**
   * @param {string} asked  the name of any page @param {string} name  of the page that is created
   * @param {string} [space]  that has it: then a page of another space is as none
   * @returns {Promise<Pick<PageSource, 'content' | 'tags'> | null>} null: there is no such page
   * @throws {Error} 400 for what can be no name
   */
  async begin (asked, name, space) {
    const template = canonicalName(asked)
    // The store has the pages of all spaces, and the person a role in this one.
    const page = space === undefined || isWithin(space, template) ? await store.findSource(template) : null
    return page && { content: fill(page.content, name), tags: page.tags }
  }
})

/** @param {string} content @param {string} name */
function fill (content, name) {
  let filled = 0
  const values = /** @type {Record<string, string>} */ ({ name, date: new Date().toISOString().slice(0, 10) })
  return content.replace(/\{\{(name|date)\}\}/g, (marked, field) => filled++ < FILLED_MAX ? values[field] : marked)
}
