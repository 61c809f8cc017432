/** @import {Page} from './model.js' */

/** @typedef {Pick<Page, '_id' | keyof typeof HEAD_FIELDS>} Head */

export const HEAD_FIELDS = {
  revision: 1, html_hash: 1, subpages_hash: 1, deleted_at: 1, redirect_to: 1, tags: 1, links: 1, history: 1
}

/** Of a name without a page. What its page said is in the revisions, where it can be erased. */
export const NO_TEXT = { content: '', content_bytes: 0, html: Buffer.alloc(0) }

/** 0: no page, or a deleted or renamed one. @param {Pick<Head, 'revision' | 'deleted_at'> | null} head */
export const currentRevision = (head) => head === null || head.deleted_at != null ? 0 : head.revision

/** @param {Head | null} head @returns {import('./model.js').Target['is']} what exists under the name */
export function kindOf (head) {
  if (head?.redirect_to) return 'redirect'
  return currentRevision(head) === 0 ? null : 'page'
}

/**
 * Without itself; of a former name, the new name.
 * @param {Pick<Head, '_id' | 'links'> & Partial<Head> | null} head
 */
export function linkTargetsOf (head) {
  if (head === null) return []
  if (head.redirect_to) return [head.redirect_to]
  return head.deleted_at == null ? (head.links ?? []).filter((name) => name !== head._id) : []
}
