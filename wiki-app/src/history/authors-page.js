import { t } from '../language.js'
import { historyUrl, revisionUrl, viewUrl } from '../pages/name.js'
import { HTML, renderFor } from '../views.js'
import { changeItem } from './change-item.js'
import { PAST_CONTROL } from './history.js'

/** @import {FastifyReply, FastifyRequest} from 'fastify' */
/** @import {Services} from '../services.js' */
/** @import {Run} from './authorship.js' */
/** @import {RevisionItem} from './history.js' */

/** Earlier ones are not looked at: what they brought counts as the oldest one's. */
const REVISIONS_MAX = 100
const BYTES_MAX = 4 * 1_048_576

/**
 * The text of a revision, and which revision brought which of its words. It never changes, as long as no revision is
 * erased.
 * @param {FastifyRequest} request @param {FastifyReply} reply
 * @param {Pick<Services, 'history' | 'oldRevisions'>} services @param {RevisionItem} last
 */
export async function sendAuthors (request, reply, { history, oldRevisions }, last) {
  const { page: name, revision } = last
  const { items, more } = await history.ofPage({ page: name, before: revision + 1, limit: REVISIONS_MAX })
  const kept = items.filter(({ erased_at: erasedAt }) => !erasedAt)
  const versions = kept.slice(0, countWithin(kept)).reverse()
  const lines = await oldRevisions.authorship(versions)
  const shares = sharesOf(lines)
  return reply.headers({ 'cache-control': PAST_CONTROL, 'page-revision': revision }).type(HTML).send(
    renderFor(request, 'authors', {
      title: t('Authors of “{{name}}”', { name }),
      revision,
      revisionUrl: revisionUrl(name, revision),
      viewUrl: viewUrl(name),
      historyUrl: historyUrl(name),
      oldest: more || versions.length < kept.length ? versions[0].revision : null,
      authors: versions.filter((item) => shares.has(item.revision)).reverse()
        .map((item) => ({ ...changeItem(item), percent: percentOf(shares.get(item.revision) ?? 0) })),
      lines: lines.map(marked)
    })
  )
}

/** @param {RevisionItem[]} items  the newest first @returns {number} how many of them, at least one */
function countWithin (items) {
  let [count, bytes] = [1, items[0].content_bytes]
  while (count < items.length && bytes + items[count].content_bytes <= BYTES_MAX) bytes += items[count++].content_bytes
  return count
}

/** @param {Run[][]} lines @returns {Map<number, number>} the part of the text, without white space, of each revision */
function sharesOf (lines) {
  /** @type {Map<number, number>} */
  const chars = new Map()
  let all = 0
  for (const { text, revision } of lines.flat()) {
    const count = text.replace(/\s+/g, '').length
    if (count > 0) chars.set(revision, (chars.get(revision) ?? 0) + count)
    all += count
  }
  return new Map([...chars].map(([revision, count]) => [revision, count / all]))
}

/** @param {number} share */
const percentOf = (share) => share < 0.01 ? '< 1' : String(Math.round(100 * share))

/** The number stands where another revision's words begin. @param {Run[]} runs */
const marked = (runs) => runs.filter(({ text }) => text !== '').map(({ text, revision }) => ({ text, revision }))
