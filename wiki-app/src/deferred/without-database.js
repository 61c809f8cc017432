import { hiddenIn } from '../pages/visible.js'
import { wantsHtml } from '../views.js'

/** @import {WithoutDatabase} from '../http/limit-handlers.js' */
/** @import {DeferredSaves} from './deferred-saves.js' */

/**
 * Whether a save can be acknowledged while the database is away: a form is stored before its answer, and a name that
 * no new page may have is looked for in the database.
 * @type {WithoutDatabase}
 */
const isAcceptable = (request) => {
  const { '*': rest, name = rest } = /** @type {Record<string, string>} */ (request.params)
  return !wantsHtml(request) && hiddenIn(name) === null
}

/**
 * Part of a route's `config`, where saves wait in Redis.
 * @param {Pick<DeferredSaves, 'isShared'> | undefined} deferred @param {WithoutDatabase} [isOne]
 * @returns {{withoutDatabase?: WithoutDatabase}}
 */
export const withoutDatabase = (deferred, isOne = isAcceptable) =>
  deferred?.isShared ? { withoutDatabase: isOne } : {}
