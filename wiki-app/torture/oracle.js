import { COUNTS } from '../src/pages/counts.js'

/**
 * What a client knows about one request to change a page. Moments are increasing numbers, given by the one process that
 * runs all clients: when `ended` of one edit is less than `started` of another, the other started after it was over.
 * @typedef {object} Edit
 * @property {string} id  in the summary of its revision, and in the text unless it is a deletion
 * @property {string} page
 * @property {'save' | 'delete'} kind
 * @property {number | null} base  the revision that it was to replace, 0 for none; null for any
 * @property {number} started
 * @property {number} ended  Infinity while there is no response
 * @property {'acknowledged' | 'refused' | 'unknown'} outcome  unknown: there was no response, or it was 503
 * @property {number | null} revision  as acknowledged
 */

/**
 * @typedef {object} Read  a response with a page
 * @property {string} page
 * @property {number} started
 * @property {number} revision
 */

/**
 * A snapshot of the database.
 * @typedef {object} Stored
 * @property {{
 *   page: string,
 *   revision: number,
 *   follows: number | null,
 *   content: string,
 *   summary: string,
 *   deleted: boolean
 * }[]} revisions
 * @property {{
 *   _id: string,
 *   history?: string,
 *   revision: number,
 *   content?: string,
 *   tags?: string[],
 *   links?: string[],
 *   deleted_at: Date | null,
 *   redirect_to?: string | null
 * }[]} pages
 * @property {{_id: string, is: string | null, sources: number}[]} targets
 * @property {{_id: string, pages: number}[]} tags
 * @property {{kind: string, content?: import('../src/pages/counts.js').Content, set_aside_at?: Date}[]} [queue]
 */

/**
 * How often each promise was broken. All are 0 where the promises hold, except `seen_and_gone`, which nothing promises.
 * @typedef {object} Findings
 * @property {number} lost  edits that were acknowledged, and are not in the history as acknowledged
 * @property {number} duplicated  edits with more than one revision
 * @property {number} invented  revisions that no client sent, or that were refused
 * @property {number} gaps  revisions of a page that are not 1, 2, 3 …, each following the one before
 * @property {number} overwritten  edits that were to replace one revision and replaced another
 * @property {number} out_of_order  edits that started after another was acknowledged and have the smaller number
 * @property {number} stale_reads  reads that started after an edit was acknowledged and show an older revision
 * @property {number} torn_pages  pages whose state is not that of their newest revision
 * @property {number} torn_counts  counts of tags and links that do not match the pages
 * @property {number} seen_and_gone  reads of a revision that was never acknowledged and is not in the history
 */

/**
 * Compares what clients saw with what is stored: every acknowledged edit must be in the history, and the revisions of a
 * page must form one sequence.
 * @param {Edit[]} edits
 * @param {Read[]} reads
 * @param {Stored} stored
 * @returns {Findings}
 */
export function judge (edits, reads, { revisions, pages, targets, tags, queue = [] }) {
  const sent = new Map(edits.map((edit) => [edit.id, edit]))
  const kept = groupBy(revisions, ({ summary }) => summary)
  const histories = groupBy(revisions, ({ page }) => page)
  for (const history of histories.values()) history.sort((a, b) => a.revision - b.revision)
  const newest = new Map([...histories].map(([page, history]) => [page, history[history.length - 1]]))

  const isKept = (/** @type {Edit} */ { id, page, kind, revision }) => (kept.get(id) ?? []).some((found) =>
    found.page === page &&
    found.revision === revision &&
    found.deleted === (kind === 'delete') &&
    (found.deleted || found.content.includes(id)))
  const acknowledged = edits.filter(({ outcome }) => outcome === 'acknowledged')

  return {
    lost: acknowledged.filter((edit) => !isKept(edit)).length,
    duplicated: [...kept.values()].filter((found) => found.length > 1).length,
    invented: revisions.filter(({ summary }) => (sent.get(summary)?.outcome ?? 'refused') === 'refused').length,
    gaps: count([...histories.values()], (history) => history.filter(({ revision, follows }, index) =>
      revision !== index + 1 || follows !== (index === 0 ? null : index)).length),
    overwritten: revisions.filter((revision) => !isBasedRight(
      revision,
      sent.get(revision.summary)?.base ?? null,
      histories.get(revision.page) ?? []
    )).length,
    out_of_order: count([...groupBy(acknowledged, ({ page }) => page).values()], outOfOrder),
    stale_reads: staleReads(acknowledged, reads),
    torn_pages: torn(pages, newest),
    torn_counts: tornCounts(pages, ...withUncounted(targets, tags, queue)),
    seen_and_gone: reads.filter(({ page, revision }) => revision > (newest.get(page)?.revision ?? 0)).length
  }
}

/**
 * @param {Findings} findings
 * @returns {boolean} whether every promise was kept
 */
export const holds = ({ seen_and_gone: _, ...broken }) => Object.values(broken).every((times) => times === 0)

/**
 * @param {Stored['revisions'][number]} revision
 * @param {number | null} base
 * @param {Stored['revisions']} history  of its page, in order
 */
function isBasedRight ({ revision }, base, history) {
  if (base === null) return true
  const before = history.find((other) => other.revision === revision - 1)
  return base === 0 ? before === undefined || before.deleted : before?.revision === base && !before.deleted
}

/**
 * @param {Edit[]} edits  acknowledged edits of one page
 * @returns {number} count of edits with a smaller number than one that was over before they started
 */
function outOfOrder (edits) {
  const ends = [...edits].sort((a, b) => a.ended - b.ended)
  let [over, highest, found] = [0, 0, 0]
  for (const { started, revision } of [...edits].sort((a, b) => a.started - b.started)) {
    for (; over < ends.length && ends[over].ended < started; over++) {
      highest = Math.max(highest, ends[over].revision ?? 0)
    }
    if ((revision ?? 0) <= highest) found++
  }
  return found
}

/**
 * @param {Edit[]} acknowledged
 * @param {Read[]} reads
 */
function staleReads (acknowledged, reads) {
  const byPage = groupBy(acknowledged, ({ page }) => page)
  return reads.filter(({ page, started, revision }) =>
    (byPage.get(page) ?? []).some((edit) => edit.ended < started && (edit.revision ?? 0) > revision)).length
}

/**
 * @param {Stored['pages']} pages
 * @param {Map<string, Stored['revisions'][number]>} newest  revision of each page
 */
function torn (pages, newest) {
  // A former name has no revisions.
  const own = pages.filter(({ redirect_to: redirect }) => !redirect)
  const wrong = own.filter(({ _id, history, revision, content, deleted_at: deletedAt }) => {
    const last = newest.get(history ?? _id)
    return last === undefined ||
      last.revision !== revision ||
      last.deleted !== (deletedAt !== null) ||
      (!last.deleted && last.content !== content)
  })
  const known = new Set(own.map(({ _id, history }) => history ?? _id))
  return wrong.length + [...newest.keys()].filter((page) => !known.has(page)).length
}

/**
 * What edits have left to be counted is in the queue, in the same snapshot.
 * @param {Stored['targets']} targets @param {Stored['tags']} tags @param {NonNullable<Stored['queue']>} queue
 * @returns {[Stored['targets'], Stored['tags']]} as they are once that is done
 */
function withUncounted (targets, tags, queue) {
  // What was given up is not counted any more.
  const counts = queue.flatMap(({ kind, content, set_aside_at: givenUp }) =>
    kind === COUNTS && content && !givenUp ? [content] : [])
  return [
    added(targets, 'sources', counts.flatMap(({ links }) => links), (_id) => ({ _id, is: null, sources: 0 })),
    added(tags, 'pages', counts.flatMap((each) => each.tags), (_id) => ({ _id, pages: 0 }))
  ]
}

/**
 * @template {{_id: string}} T
 * @param {T[]} documents @param {keyof T} field @param {[string, number][]} steps @param {(id: string) => T} fresh
 */
function added (documents, field, steps, fresh) {
  const all = new Map(documents.map((document) => [document._id, { ...document }]))
  for (const [name, by] of steps) {
    const document = all.get(name) ?? fresh(name)
    all.set(name, { ...document, [field]: Number(document[field]) + by })
  }
  return [...all.values()]
}

/**
 * @param {Stored['pages']} pages
 * @param {Stored['targets']} targets
 * @param {Stored['tags']} tags
 */
function tornCounts (pages, targets, tags) {
  const live = pages.filter(({ deleted_at: deletedAt }) => deletedAt === null)
  const tagged = tally(live.flatMap((page) => page.tags ?? []))
  const moved = pages.filter((page) => page.redirect_to)
  const linked = tally([
    ...live.flatMap(({ _id, links = [] }) => links.filter((link) => link !== _id)),
    ...moved.map((page) => String(page.redirect_to))
  ])
  const what = new Map([
    ...live.map(({ _id }) => /** @type {const} */ ([_id, 'page'])),
    ...moved.map(({ _id }) => /** @type {const} */ ([_id, 'redirect']))
  ])
  return tags.filter(({ _id, pages: number }) => number !== (tagged.get(_id) ?? 0)).length +
    targets.filter(({ _id, is, sources }) =>
      sources !== (linked.get(_id) ?? 0) || is !== (what.get(_id) ?? null)).length +
    missing([...tagged.keys()], tags) +
    missing([...linked.keys(), ...what.keys()], targets)
}

/**
 * @param {string[]} names
 * @param {{_id: string}[]} stored
 */
function missing (names, stored) {
  const there = new Set(stored.map(({ _id }) => _id))
  return [...new Set(names)].filter((name) => !there.has(name)).length
}

/** @param {string[]} names */
function tally (names) {
  const counts = new Map()
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1)
  return counts
}

/**
 * @template T
 * @param {T[]} items
 * @param {(item: T) => string} key
 * @returns {Map<string, T[]>}
 */
function groupBy (items, key) {
  const groups = new Map()
  for (const item of items) {
    const group = groups.get(key(item))
    if (group) group.push(item)
    else groups.set(key(item), [item])
  }
  return groups
}

/**
 * @template T
 * @param {T[]} items
 * @param {(item: T) => number} times
 */
const count = (items, times) => items.reduce((sum, item) => sum + times(item), 0)
