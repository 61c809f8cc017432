import createError from '@fastify/error'
import { currentRevision } from './head.js'

/** @import {Precondition} from './commit.js' */
/** @import {Head} from './head.js' */

/** @typedef {(head: Pick<Head, '_id' | 'revision' | 'html_hash' | 'subpages_hash'>) => string} TagOf */

const PreconditionFailed = createError(
  'WIKI_PRECONDITION_FAILED', 'The page is not as you expect it: %s. Nothing was changed.', 412
)

export const StaleEdit = createError(
  'WIKI_STALE_EDIT',
  'Someone changed the page in the meantime. Nothing of yours was saved; ' +
    'look at the newest text, then try again.',
  412
)

/**
 * RFC 9110 §13.1.1, §13.1.2, §13.2.2
 * @param {import('node:http').IncomingHttpHeaders} headers
 * @param {TagOf} tagOf  of the requested representation
 * @returns {Precondition}  throws 412
 */
export function headerPrecondition ({ 'if-match': ifMatch, 'if-none-match': ifNoneMatch }, tagOf) {
  return (head) => {
    const revision = currentRevision(head)
    const now = revision === 0 ? 'it does not exist' : `it is at revision ${revision}`
    // Strong: a weak tag does not identify the exact text to replace.
    const refused = (ifMatch !== undefined && !matches(ifMatch, head, tagOf, (tag, current) => tag === current)) ||
      (ifNoneMatch !== undefined &&
        matches(ifNoneMatch, head, tagOf, (tag, current) => tag.replace(/^W\//, '') === current))
    if (refused) throw Object.assign(new PreconditionFailed(now), { currentRevision: revision })
  }
}

/**
 * @param {number | undefined} baseRevision  0: there was no page; undefined: no condition
 * @returns {Precondition}  throws StaleEdit
 */
export function basePrecondition (baseRevision) {
  return (head) => {
    const revision = currentRevision(head)
    if (baseRevision !== undefined && baseRevision !== revision) {
      throw Object.assign(new StaleEdit(), { currentRevision: revision })
    }
  }
}

/**
 * @param {string} header  `*` or a list of entity tags @param {Head | null} head @param {TagOf} tagOf
 * @param {(tag: string, current: string) => boolean} same
 */
function matches (header, head, tagOf, same) {
  if (currentRevision(head) === 0) return false
  if (header.trim() === '*') return true
  const current = tagOf(/** @type {Head} */ (head))
  return (header.match(/(?:W\/)?"[^"]*"/g) ?? []).some((tag) => same(tag, current))
}
