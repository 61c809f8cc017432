import createError from '@fastify/error'
import { readableSummary } from '../pages/visible.js'
import { LINE } from '../writing/change.js'

/** @import {Role} from '../access/roles.js' */
/** @import {Protection} from './protections.js' */
/** @import {Rule} from './model.js' */
/** @typedef {boolean | 'true'} Ticked */

/** Readers change nothing anyway; `editor` is for exceptions below a page that is protected with its subpages. */
export const PROTECTED_FOR = /** @type {const} */ (['admin', 'editor'])
export const REASON_SCHEMA = { type: 'string', maxLength: 200, pattern: LINE }

const ReviewByEditors = createError(
  'WIKI_REVIEW_BY_EDITORS',
  'Only administrators review changes: leave “review” out, or let only administrators change the page.',
  400
)

/**
 * @param {unknown} body  checked by a schema: forms tick `subpages` and `review`
 * @returns {Protection} @throws {Error} 400
 */
export function ruleIn (body) {
  const { subpages, role = 'admin', review, reason } =
    /** @type {{subpages?: Ticked, role?: Role, review?: Ticked, reason?: string}} */ (body ?? {})
  if (review && role !== 'admin') throw new ReviewByEditors()
  return { subpages: Boolean(subpages), role, review: Boolean(review), reason: readableSummary(reason) ?? '' }
}

/** @param {Rule} rule  for programs */
export const factsOf = ({ _id: name, subpages, role, review = false, reason, at }) =>
  ({ name, subpages, role, review, reason, protected_at: at.toISOString() })
