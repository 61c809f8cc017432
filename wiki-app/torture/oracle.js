/**
 * What a client knows of one request that was to change a page. Moments are numbers that only grow, given by the one process that
 * all clients run in, so `ended < started` of another means that the other began when this was over.
 * @typedef {object} Edit
 * @property {string} id  in the summary of its revision, and in the text unless it is a deletion
 * @property {string} page
 * @property {'save' | 'delete'} kind
 * @property {number | null} base  the revision that it was to replace, 0 for none; null: whatever is there
 * @property {number} started
 * @property {number} ended  Infinity while there is no answer
 * @property {'acknowledged' | 'refused' | 'unknown'} outcome  unknown: the answer did not come, or was 503
 * @property {number | null} revision  as acknowledged
 */

/**
 * @typedef {object} Read  an answer with a page
 * @property {string} page
 * @property {number} started
 * @property {number} revision
 */

/**
 * What the database holds, of one moment.
 * @typedef {object} Stored
 * @property {{page: string, revision: number, follows: number | null, content: string, summary: string, deleted: boolean}[]} revisions
 * @property {{_id: string, revision: number, content?: string, tags?: string[], links?: string[], deleted_at: Date | null, redirect_to?: string | null}[]} pages
 * @property {{_id: string, is: string | null, sources: number}[]} targets
 * @property {{_id: string, pages: number}[]} tags
 */

/**
 * Ways in which a promise is broken, each with how often it was. All are 0 where the promises hold, but for `seen_and_gone`, which nothing promises.
 * @typedef {object} Findings
 * @property {number} lost  acknowledged, and not in the history as acknowledged
 * @property {number} duplicated  more than one revision of one edit
 * @property {number} invented  revisions that nobody sent, or that were refused
 * @property {number} gaps  revisions of a page are not 1, 2, 3 …, each following the one before
 * @property {number} overwritten  an edit that was to replace one revision replaced another
 * @property {number} out_of_order  an edit that began after another was acknowledged has the smaller number
 * @property {number} stale_reads  a read that began after an edit was acknowledged shows what was before it
 * @property {number} torn_pages  the newest state is not that of the newest revision
 * @property {number} torn_counts  what is counted of tags and links is not what the pages have
 * @property {number} seen_and_gone  reads of a revision that was never acknowledged and is not in the history
 */

/**
 * Judges what clients saw against what is stored: every acknowledged edit is in the history, and the revisions are a line.
 * @param {Edit[]} edits
 * @param {Read[]} reads
 * @param {Stored} stored
 * @returns {Findings}
 */
export function judge (edits, reads, { revisions, pages, targets, tags }) {
  const sent = new Map(edits.map((edit) => [edit.id, edit]))
  const kept = groupBy(revisions, ({ summary }) => summary)
  const histories = groupBy(revisions, ({ page }) => page)
  for (const history of histories.values()) history.sort((a, b) => a.revision - b.revision)
  const newest = new Map([...histories].map(([page, history]) => [page, history[history.length - 1]]))

  const isKept = (/** @type {Edit} */ { id, page, kind, revision }) => (kept.get(id) ?? []).some((found) => found.page === page &&
    found.revision === revision && found.deleted === (kind === 'delete') && (found.deleted || found.content.includes(id)))
  const acknowledged = edits.filter(({ outcome }) => outcome === 'acknowledged')

  return {
    lost: acknowledged.filter((edit) => !isKept(edit)).length,
    duplicated: [...kept.values()].filter((found) => found.length > 1).length,
    invented: revisions.filter(({ summary }) => (sent.get(summary)?.outcome ?? 'refused') === 'refused').length,
    gaps: count([...histories.values()], (history) => history.filter(({ revision, follows }, index) => revision !== index + 1 || follows !== (index === 0 ? null : index)).length),
    overwritten: revisions.filter((revision) => !isBasedRight(revision, sent.get(revision.summary)?.base ?? null, histories.get(revision.page) ?? [])).length,
    out_of_order: count([...groupBy(acknowledged, ({ page }) => page).values()], outOfOrder),
    stale_reads: staleReads(acknowledged, reads),
    torn_pages: torn(pages, newest),
    torn_counts: tornCounts(pages, targets, tags),
    seen_and_gone: reads.filter(({ page, revision }) => revision > (newest.get(page)?.revision ?? 0)).length
  }
}

/**
 * @param {Findings} findings
 * @returns {boolean} whether all that is promised was kept
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
 * @param {Edit[]} edits  acknowledged ones of one page
 * @returns {number} of edits that have a smaller number than one that was over before they began
 */
function outOfOrder (edits) {
  const ends = [...edits].sort((a, b) => a.ended - b.ended)
  let [over, highest, found] = [0, 0, 0]
  for (const { started, revision } of [...edits].sort((a, b) => a.started - b.started)) {
    for (; over < ends.length && ends[over].ended < started; over++) highest = Math.max(highest, ends[over].revision ?? 0)
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
  return reads.filter(({ page, started, revision }) => (byPage.get(page) ?? []).some((edit) => edit.ended < started && (edit.revision ?? 0) > revision)).length
}

/**
 * @param {Stored['pages']} pages
 * @param {Map<string, Stored['revisions'][number]>} newest  revision of each page
 */
function torn (pages, newest) {
  const wrong = pages.filter(({ _id, revision, content, deleted_at: deletedAt, redirect_to: redirect }) => {
    const last = newest.get(_id)
    // Whose revisions went with the page.
    if (redirect) return last !== undefined
    return last === undefined || last.revision !== revision || last.deleted !== (deletedAt !== null) || (!last.deleted && last.content !== content)
  })
  const known = new Set(pages.map(({ _id }) => _id))
  return wrong.length + [...newest.keys()].filter((page) => !known.has(page)).length
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
  const linked = tally([...live.flatMap(({ _id, links = [] }) => links.filter((link) => link !== _id)), ...moved.map((page) => String(page.redirect_to))])
  const what = new Map([...live.map(({ _id }) => /** @type {const} */ ([_id, 'page'])), ...moved.map(({ _id }) => /** @type {const} */ ([_id, 'redirect']))])
  return tags.filter(({ _id, pages: number }) => number !== (tagged.get(_id) ?? 0)).length +
    targets.filter(({ _id, is, sources }) => sources !== (linked.get(_id) ?? 0) || is !== (what.get(_id) ?? null)).length +
    missing([...tagged.keys()], tags) + missing([...linked.keys(), ...what.keys()], targets)
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
