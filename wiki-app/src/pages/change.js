import { personIn } from '../access/access.js'
import { basePrecondition, headerPrecondition } from './preconditions.js'
import { readableSummary, visibleAuthor } from './visible.js'

/** A pattern for text on one line: no control characters, no half of a surrogate pair, nothing that XML forbids (XML 1.0 §2.2). */
export const LINE = '^[^\\p{Cc}\\p{Cs}\\uFFFE\\uFFFF]*$'

/** A revision's number: forms send digits, programs send numbers. */
export const REVISION_SCHEMA = { anyOf: [{ type: 'integer', minimum: 0, maximum: 999_999_999 }, { type: 'string', pattern: '^\\d{1,9}$' }] }
export const AUTHOR_SCHEMA = { type: 'string', maxLength: 80, pattern: LINE }

/** What every write may say besides what it writes. */
export const CHANGE_PROPERTIES = {
  author: AUTHOR_SCHEMA,
  summary: { type: 'string', maxLength: 200, pattern: LINE },
  base_revision: REVISION_SCHEMA
}

/** @typedef {{author?: string, summary?: string, base_revision?: string | number}} Change  by CHANGE_PROPERTIES */

/**
 * Who changes a page and why. Where writers sign in, they cannot say that they are somebody else.
 * @param {import('fastify').FastifyRequest} request
 * @param {unknown} [said]  checked by CHANGE_PROPERTIES
 * @returns {import('./commit.js').Attribution}
 * @throws {Error} 400 when the name or the summary cannot be read as it stands
 */
export function changeIn (request, said = request.body) {
  const { author, summary } = /** @type {Change} */ (said ?? {})
  return { author: personIn(request)?.name ?? visibleAuthor(author), summary: readableSummary(summary) }
}

/**
 * What the request demands of the page that it changes, by its headers and by the form that it comes from.
 * @param {Pick<import('fastify').FastifyRequest, 'headers' | 'body'>} request
 * @param {import('./preconditions.js').TagOf} [tagOf]  see headerPrecondition
 * @returns {import('./commit.js').Precondition}
 */
export function preconditionOf ({ headers, body }, tagOf) {
  const { base_revision: base } = /** @type {Change} */ (body ?? {})
  const [byHeaders, byForm] = [headerPrecondition(headers, tagOf), basePrecondition(base === undefined ? undefined : Number(base))]
  return (head) => {
    byHeaders(head)
    byForm(head)
  }
}
