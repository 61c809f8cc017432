import { writableName } from '../pages/name.js'
import { isId } from '../short-links/ids.js'
import { SAVE_ID_PATTERN } from './save.js'

/** @import {Link} from '../short-links/store.js' */
/** @import {DeferredSave} from './save.js' */

const SAVE_ID = new RegExp(SAVE_ID_PATTERN)

/**
 * A short address that is answered before it is stored. Plain data.
 * @typedef {Omit<Link, 'created_at'> & {created_at: string, chosen: boolean}} DeferredLink
 */

/** @param {DeferredSave} save @returns {{id: string, page: string, save: string}} as it waits in Redis */
export const saveEntry = (save) => ({ id: save.id, page: save.name, save: JSON.stringify(save) })

/** @param {DeferredLink} link @returns {{short: string, target: string, link: string}} as it waits in Redis */
export const linkEntry = (link) => ({
  short: link.id,
  // A random address is the only one of its target.
  target: link.chosen ? '' : `${link.revision ?? ''} ${link.page}`,
  link: JSON.stringify(link)
})

/** Of a failure. @param {{id: string, page: string}} link */
export const linkNamed = ({ id, page }) => ({ id: `short link ${id}`, name: page })

/**
 * `named`: where a failure is shown; null: nobody has an address for it. Neither save nor link: it cannot be stored.
 * @typedef {{named: {id: string, name: string} | null, save?: DeferredSave, link?: DeferredLink}} Read
 */

/** @param {string[]} fields  of an entry, names and values in turn @returns {Read} */
export function readEntry (fields) {
  const at = (/** @type {string} */ name) => fields[2 * fields.filter((_, index) => index % 2 === 0).indexOf(name) + 1]
  if (at('short') !== undefined) {
    const link = parsedJson(at('link'))
    return isLink(link) && link.id === at('short') ? { named: linkNamed(link), link } : { named: null }
  }
  const { id, page } = { id: at('id'), page: at('page') }
  if (!SAVE_ID.test(id) || !isName(page)) return { named: null }
  const named = { id, name: page }
  const save = parsedJson(at('save'))
  return isSave(save) && save.id === id && save.name === page ? { named, save } : { named }
}

/** @param {string} text */
function parsedJson (text) {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

/** @param {unknown} name */
function isName (name) {
  try {
    return typeof name === 'string' && writableName(name) === name
  } catch {
    return false
  }
}

/** @param {any} save @returns {save is DeferredSave} */
function isSave (save) {
  const { change, rendered, renderer, attribution, condition, representation } = save ?? {}
  return typeof change?.content === 'string' && Number.isInteger(change.contentBytes) &&
    (change.tags === undefined || areStrings(change.tags)) &&
    typeof rendered?.html === 'string' && areStrings(rendered.links) && Number.isInteger(renderer) &&
    typeof attribution === 'object' && attribution !== null &&
    typeof condition?.headers === 'object' && condition.headers !== null &&
    ['document', 'api'].includes(representation)
}

/** @param {any} link @returns {link is DeferredLink} */
function isLink (link) {
  const { id, page, revision, chosen, created_at: createdAt } = link ?? {}
  return typeof id === 'string' && isId(id) && isName(page) && (revision === null || Number.isInteger(revision)) &&
    typeof chosen === 'boolean' && !Number.isNaN(Date.parse(createdAt))
}

/** @param {unknown} list */
const areStrings = (list) => Array.isArray(list) && list.every((each) => typeof each === 'string')
