import { modeOf, personIn } from '../access/access.js'
import { entityTag } from '../reading/document.js'
import { basePrecondition, headerPrecondition } from '../pages/preconditions.js'
import { readableSummary, visibleAuthor } from '../pages/visible.js'

/** @import {FastifyRequest} from 'fastify' */
/** @import {Attribution, Precondition} from '../pages/commit.js' */
/** @import {TagOf} from '../pages/preconditions.js' */

/** One line, without what XML forbids (XML 1.0 §2.2). */
export const LINE = '^[^\\p{Cc}\\p{Cs}\\uFFFE\\uFFFF]*$'

/** Forms send digits, programs a number. */
export const REVISION_SCHEMA = {
  anyOf: [{ type: 'integer', minimum: 0, maximum: 999_999_999 }, { type: 'string', pattern: '^\\d{1,9}$' }]
}
export const AUTHOR_SCHEMA = { type: 'string', maxLength: 80, pattern: LINE }
/** What a picture shows, for those who do not see it. */
export const ALT_SCHEMA = { type: 'string', maxLength: 200, pattern: LINE }

/** @param {string} line @param {{maxLength: number, pattern: string}} schema  such as AUTHOR_SCHEMA */
export const fits = (line, { maxLength, pattern }) =>
  [...line].length <= maxLength && new RegExp(pattern, 'u').test(line)

export const CHANGE_PROPERTIES = {
  author: AUTHOR_SCHEMA,
  summary: { type: 'string', maxLength: 200, pattern: LINE },
  base_revision: REVISION_SCHEMA
}

/** @typedef {{author?: string, summary?: string, base_revision?: string | number}} Change  see CHANGE_PROPERTIES */

/**
 * A signed-in user cannot claim another name.
 * @param {FastifyRequest} request @param {unknown} [given]  checked against CHANGE_PROPERTIES @returns {Attribution}
 * @throws {Error} 400 for characters that hide, or change how a text reads
 */
export function changeIn (request, given = request.body) {
  const { author, summary } = /** @type {Change} */ (given ?? {})
  const person = personIn(request)
  return { author: person?.name ?? visibleAuthor(author), summary: readableSummary(summary), role: person?.role }
}

/**
 * What a request expects of the page, as plain data: it may be checked later, by another process.
 * @typedef {{headers: {'if-match'?: string, 'if-none-match'?: string}, base?: number}} Condition
 */

/** @param {Pick<FastifyRequest, 'headers' | 'body'>} request @returns {Condition} */
export function conditionOf ({ headers: { 'if-match': ifMatch, 'if-none-match': ifNoneMatch }, body }) {
  const { base_revision: base } = /** @type {Change} */ (body ?? {})
  return {
    headers: { 'if-match': ifMatch, 'if-none-match': ifNoneMatch }, ...base !== undefined && { base: Number(base) }
  }
}

/** @param {Condition} condition @param {TagOf} tagOf  of the requested representation @returns {Precondition} */
export function checkOf ({ headers, base }, tagOf) {
  const [byHeaders, byForm] = [headerPrecondition(headers, tagOf), basePrecondition(base)]
  return (head) => {
    byHeaders(head)
    byForm(head)
  }
}

/**
 * @param {Pick<FastifyRequest, 'headers' | 'body' | 'server'>} request
 * @param {TagOf} [tagOf]  of the requested representation: by default the page's document
 * @returns {Precondition}
 */
export const preconditionOf = (request, tagOf = (head) => entityTag(head, modeOf(request.server))) =>
  checkOf(conditionOf(request), tagOf)
