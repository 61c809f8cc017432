import createError from '@fastify/error'
import { readableSummary } from '../pages/visible.js'
import { REASON_SCHEMA } from '../protection/rule-in.js'

const NoReason = createError('WIKI_NO_REASON', 'Nothing was changed: say why, for the author of the proposal.', 400)

/** Of a request that declines a proposal. */
export const DECLINE_PROPERTIES = { reason: { ...REASON_SCHEMA, description: 'Shown to its author.' } }

/** @param {unknown} body  checked against DECLINE_PROPERTIES @returns {string} @throws {Error} 400 */
export function declined (body) {
  const reason = readableSummary(/** @type {{reason: string}} */ (body).reason)
  if (!reason) throw new NoReason()
  return reason
}
