import createError from '@fastify/error'
import { currentRevision } from '../pages/head.js'
import { hasMarkers, mergeNothing } from './markers.js'
import { basePrecondition, StaleEdit } from '../pages/preconditions.js'
import { TAGS_MAX } from '../pages/tags.js'

/** @import {Attribution, Precondition} from '../pages/commit.js' */
/** @import {History} from '../history/history.js' */
/** @import {Revision} from '../pages/model.js' */
/** @import {PageSource} from '../pages/read-pages.js' */
/** @import {PageStore} from '../pages/store.js' */

/** Others may save while two texts are merged. */
const ATTEMPTS_MAX = 3

const MarkersLeft = createError(
  'WIKI_MARKERS_LEFT',
  'The text still has marked lines (<<<<<<<, =======, >>>>>>>), where you and someone else changed the same lines. ' +
    'Keep what is right at each place, delete the marked lines, then save.',
  422
)

/**
 * What the author has to decide.
 * @typedef {object} Conflict
 * @property {string} content  with markers where both changed the same lines; the author's own when the page is gone
 * @property {string[] | undefined} tags
 * @property {PageSource | null} newest  null: the page was deleted or renamed
 * @property {Revision | null} base  the text that the author began with; null: not known, erased, or there was none
 */
/** @typedef {{revision: number, merged: number | null}} Saved  `merged`: the other's revision that is merged in */
/** What waits for a review. @typedef {{proposal: import('../proposals/model.js').Proposal}} Proposed */

/**
 * `typed`: what the author saw of the text; without, all of it. `save`: instead of the store's.
 * @typedef {(name: string, text: {content: string, tags?: string[]}, attribution: Attribution,
 *   precondition: Precondition) => Promise<{revision: number} | Proposed>} Save
 * @typedef {{attribution: Attribution, precondition: Precondition, baseRevision?: number, typed?: string, save?: Save}}
 *   Edit
 */

/**
 * @typedef {{run: (task: any, options: {bytes: number, yields: boolean}) => Promise<any>}} Pool
 * @param {{store: Pick<PageStore, 'save' | 'findSource'>, history: Pick<History, 'findBase'>, pool: Pool}} parts
 */
export function createMergeSave ({ store, history, pool }) {
  /**
   * Saves; when someone else has saved since, merges both changes. Saves nothing when the page has them already.
   * @param {string} name @param {{content: string, tags?: string[]}} text  Markdown
   * @param {Edit} edit
   * @returns {Promise<Saved | (Proposed & {merged: number | null}) | {conflict: Conflict}>} a conflict: nothing is
   *   saved
   * @throws {Error} 422 when markers of an earlier conflict are left in what was typed; as `store.save`, except
   *   StaleEdit
   */
  async function mergeSave (name, text, edit) {
    const { attribution, precondition, baseRevision = 0, typed = text.content, save = store.save } = edit
    if (hasMarkers(typed)) throw new MarkersLeft()
    const saved = await unlessStale(save(name, text, attribution, precondition))
    if (saved !== null) return { ...saved, merged: null }
    const found = baseRevision === 0 ? null : await history.findBase(name, baseRevision)
    const base = found === null || found.deleted ? null : found
    for (let attempt = 1; ; attempt++) {
      const newest = await store.findSource(name)
      if (newest === null) return { conflict: { content: text.content, tags: text.tags, newest, base } }
      const tags = text.tags && mergeTags(base?.tags ?? [], text.tags, newest.tags ?? [])
      const { content, conflicts } = await mergeTexts(base, text.content, newest)
      const merged = currentRevision(newest)
      // A form that arrives twice, for one.
      if (content === newest.content && isSame(tags, newest.tags)) return { revision: merged, merged: null }
      if (conflicts > 0 || attempt > ATTEMPTS_MAX || (tags?.length ?? 0) > TAGS_MAX) {
        return { conflict: { content, tags, newest, base } }
      }
      const again = await unlessStale(save(name, { content, tags }, attribution, basePrecondition(merged)))
      if (again !== null) return { ...again, merged }
    }
  }

  /** @param {Revision | null} base @param {string} mine @param {PageSource} newest */
  function mergeTexts (base, mine, { content: theirs, revision }) {
    const texts = { base: base?.content ?? '', mine, theirs, revision }
    const bytes = texts.base.length + mine.length + theirs.length
    // Too costly, or too much to do: the author decides about everything.
    return pool.run(texts, { bytes, yields: true }).catch(() => mergeNothing(texts))
  }

  return mergeSave
}

/** @typedef {ReturnType<typeof createMergeSave>} MergeSave */

/** @template T @param {Promise<T>} saving @returns {Promise<T | null>} */
const unlessStale = (saving) => saving.catch((error) => {
  if (error instanceof StaleEdit) return null
  throw error
})

/** @param {string[] | undefined} tags  undefined: as they are @param {string[] | undefined} others */
const isSame = (tags, others = []) => tags === undefined || tags.join() === others.join()

/**
 * As sets: what either side added or removed.
 * @param {string[]} base @param {string[]} mine @param {string[]} theirs
 */
export const mergeTags = (base, mine, theirs) => [...new Set([...mine, ...theirs])]
  .filter((tag) => base.includes(tag) ? mine.includes(tag) && theirs.includes(tag) : true)
  .sort()
