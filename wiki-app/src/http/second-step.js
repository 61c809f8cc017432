import createError from '@fastify/error'
import { wantsHtml } from '../views.js'

const NotSure = createError(
  'WIKI_NOT_SURE', 'Nothing was changed. Go back, and tick “I am sure”: this cannot be undone.', 400
)

/** A field of forms whose work cannot be undone, see views/sure.eta. */
export const SURE = { sure: { type: 'string', maxLength: 10 } }

/**
 * People press a button by mistake, programs do not. Browsers ask for the tick before they send the form.
 * @param {import('fastify').FastifyRequest} request @throws {Error} 400 without the tick
 */
export function refuseUnsure (request) {
  const { sure } = /** @type {{sure?: string}} */ (request.body ?? {})
  if (wantsHtml(request) && sure !== 'yes') throw new NotSure()
}
