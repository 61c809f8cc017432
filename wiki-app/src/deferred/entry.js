import { writableName } from '../pages/name.js'
import { SAVE_ID_PATTERN } from './save.js'

/** @import {DeferredSave} from './save.js' */

const SAVE_ID = new RegExp(SAVE_ID_PATTERN)

/** @param {DeferredSave} save @returns {{id: string, page: string, save: string}} as it waits in Redis */
export const entryOf = (save) => ({ id: save.id, page: save.name, save: JSON.stringify(save) })

/**
 * @param {string[]} fields  of an entry, names and values in turn
 * @returns {{named: {id: string, name: string} | null, save: DeferredSave | null}} `save` null: it cannot be stored;
 *   `named` null: nobody has its status address either
 */
export function readEntry (fields) {
  const at = (/** @type {string} */ name) => fields[2 * fields.filter((_, index) => index % 2 === 0).indexOf(name) + 1]
  const { id, page, save } = { id: at('id'), page: at('page'), save: at('save') }
  if (!SAVE_ID.test(id) || !isName(page)) return { named: null, save: null }
  const parsed = parsedJson(save)
  return { named: { id, name: page }, save: isSave(parsed) && parsed.id === id && parsed.name === page ? parsed : null }
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

/** @param {unknown} list */
const areStrings = (list) => Array.isArray(list) && list.every((each) => typeof each === 'string')
