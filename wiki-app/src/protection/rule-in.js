import { readableSummary } from '../pages/visible.js'
import { LINE } from '../writing/change.js'

/** @import {Role} from '../access/roles.js' */
/** @import {Protection} from './protections.js' */
/** @import {Rule} from './model.js' */

/** Readers change nothing anyway; `editor` is for exceptions below a page that is protected with its subpages. */
export const PROTECTED_FOR = /** @type {const} */ (['admin', 'editor'])
export const REASON_SCHEMA = { type: 'string', maxLength: 200, pattern: LINE }

/**
 * @param {unknown} body  checked by a schema: forms tick `subpages`
 * @returns {Protection} @throws {Error} 400
 */
export function ruleIn (body) {
  const { subpages, role = 'admin', reason } =
    /** @type {{subpages?: boolean | 'true', role?: Role, reason?: string}} */ (body ?? {})
  return { subpages: Boolean(subpages), role, reason: readableSummary(reason) ?? '' }
}

/** @param {Rule} rule  for programs */
export const factsOf = ({ _id: name, subpages, role, reason, at }) =>
  ({ name, subpages, role, reason, protected_at: at.toISOString() })
