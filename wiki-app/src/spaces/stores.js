import { createHistory } from '../history/history.js'
import { COUNTS } from '../pages/counts.js'
import { createHistories } from '../pages/histories.js'
import { OUTDATED_LINKS } from '../pages/link-targets.js'
import { createPageStore } from '../pages/store.js'
import { createProposing } from '../proposals/saving.js'
import { createMergeSave } from '../writing/merge-save.js'
import { createSections } from '../writing/sections.js'
import { isWithin } from './find-space.js'

/** @import {Renderer} from '../markdown/renderer.js' */
/** @import {Later} from '../queue/queue.js' */
/** @import {Work} from '../queue/worker.js' */
/** @import {Proposals} from '../proposals/proposals.js' */
/** @import {Protections} from '../protection/protections.js' */
/** @import {FindSpace} from './find-space.js' */
/** @import {SpaceModels} from './model.js' */

/** Their collections are others than those of public pages. */
const kindOf = (/** @type {string} */ kind) => `space-${kind}`

/**
 * The pages of all spaces, with their history: a second store, which no public route has. Nothing in it lists names
 * across spaces.
 * @param {Omit<Parameters<typeof createPageStore>[0], 'models' | 'mayTell'> & {models: SpaceModels['inside'],
 *   find: FindSpace['find'], pool: Parameters<typeof createMergeSave>[0]['pool'],
 *   makeOldRevisions: typeof import('../history/old-revisions.js').createOldRevisions, htmlMaxBytes: number,
 *   protections: Protections, proposals: Proposals}} parts
 */
export function createSpaceStores ({
  models, later, find, pool, renderer, makeOldRevisions, htmlMaxBytes, protections, proposals, ...parts
}) {
  /** @type {Later} */
  const laterInside = (tasks, session) =>
    later(tasks.map(({ kind, ...task }) => ({ ...task, kind: kindOf(kind) })), session)
  const stored = createPageStore({
    ...parts,
    models,
    renderer: rendering(renderer),
    later: laterInside,
    // Of other spaces, and of the public wiki, a page says nothing.
    async mayTell (page, session) {
      const space = await find(page, session)
      return (name) => space !== null && isWithin(space._id, name)
    }
  })
  const store = { ...stored, findSimilar: async () => [] }
  const history = createHistory(models, createHistories(models))
  const mergeSave = createMergeSave({ store, history, pool })
  /** @type {Record<string, Work>} */
  const works = Object.fromEntries([COUNTS, OUTDATED_LINKS].map((kind) => [kindOf(kind), stored.works[kind]]))
  return {
    works,
    inside: {
      store,
      history,
      oldRevisions: makeOldRevisions({ history, store, htmlMaxBytes }),
      mergeSave,
      sections: createSections({ store, history, pool }),
      // Templates are public pages.
      search: { below: async () => ({ items: [], more: false }) },
      deferred: undefined,
      protections,
      proposals,
      proposing: createProposing({ store, mergeSave, proposals })
    }
  }
}

/** With pictures of private spaces. @param {Renderer} renderer @returns {Renderer} */
const rendering = (renderer) => ({
  ...renderer,
  render: (markdown, options) => renderer.render(markdown, { ...options, isPrivate: true })
})

/** @typedef {ReturnType<typeof createSpaceStores>['inside']} Inside */
