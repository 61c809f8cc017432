import { basePrecondition } from '../pages/preconditions.js'
import { PageReviewed } from '../protection/guard.js'
import { proposalsUrl } from './addresses.js'
import { ProposalClosed, ProposalElsewhere } from './errors.js'

/** @import {Person} from '../access/access.js' */
/** @import {Attribution} from '../pages/commit.js' */
/** @import {PageStore} from '../pages/store.js' */
/** @import {MergeSave, Save} from '../writing/merge-save.js' */
/** @import {Proposal} from './model.js' */
/** @import {Proposals} from './proposals.js' */

/**
 * Where a text that waits for a review becomes a proposal, and a proposal a revision. `proposals` null: the wiki knows
 * nobody by name, and reviews nothing.
 * @param {{store: Pick<PageStore, 'save' | 'findRedirect'>, mergeSave: MergeSave, proposals: Proposals | null}} parts
 */
export function createProposing ({ store, mergeSave, proposals }) {
  /**
   * @param {Proposal} proposal @param {Person} person  who ends it by a save @param {{changed: boolean}} how
   * @returns {{save: (...edit: Parameters<Save>) => Promise<{revision: number}>,
   *   settle: (name: string, revision: number) => Promise<void>}} `settle`: after a save that the page did not need
   */
  function ending ({ _id: id }, person, how) {
    const { endPublished, endAsSaved } = /** @type {Proposals} */ (proposals)
    let isEnded = false
    return {
      async save (...edit) {
        const saved = await store.save(...edit, {
          along: (session, written) => endPublished(String(id), person, how, written, session)
        })
        isEnded = true
        return saved
      },
      settle: async (name, revision) => {
        if (!isEnded) await endAsSaved(String(id), person, { name, revision })
      }
    }
  }

  /**
   * A save that proposes where the page is reviewed.
   * @template T @param {(...edit: Parameters<Save>) => Promise<T>} save
   * @param {string} [replaced]  id of the proposal that it replaces
   */
  const orPropose = (save, replaced) =>
    /** @param {Parameters<Save>} edit @returns {Promise<T | {proposal: Proposal}>} */
    async (...[name, text, attribution, precondition]) => {
      try {
        return await save(name, text, attribution, precondition)
      } catch (error) {
        if (!(error instanceof PageReviewed) || proposals === null) throw error
        const { author = '', summary = '' } = attribution
        const { baseRevision } = /** @type {{baseRevision: number}} */ (/** @type {unknown} */ (error))
        const proposed = { name, base_revision: baseRevision, content: text.content, tags: text.tags ?? null, summary }
        return { proposal: await proposals.add(author, proposed, replaced) }
      }
    }

  return {
    save: orPropose(store.save),

    /**
     * A save of the form that shows a proposal: an administrator's publishes it, its author's replaces it.
     * @param {string} name  of the page that is saved
     * @param {string} id @param {Person} person @param {Attribution} attribution  of the person
     * @returns {Promise<{attribution: Attribution, save: Save, settle: (name: string, revision: number) =>
     *   Promise<void>}>} `settle`: after a save that the page did not need @throws {Error} 404, 409
     */
    async begin (name, id, person, attribution) {
      const found = await /** @type {Proposals} */ (proposals).find(id, person)
      if (found.name !== name && !await isSamePage(store, found.name, name)) {
        throw new ProposalElsewhere(found.name, proposalsUrl(found.space))
      }
      const isAdmin = person.role === 'admin'
      if (found.state === 'open') {
        const { save, settle } = ending(found, person, { changed: true })
        const by = isAdmin ? { ...attribution, author: found.author } : attribution
        return { attribution: by, save: orPropose(save, id), settle }
      }
      if (isAdmin) throw new ProposalClosed(found.state)
      return { attribution, save: orPropose(store.save), settle: async () => {} }
    },

    /**
     * Merges with what others have saved since, as any save. The revision is by the proposal's author.
     * @param {Proposal} proposal @param {Person} person  an administrator
     * @returns {ReturnType<MergeSave>} a conflict: nothing is published @throws {Error} 403, 404, 409; as `mergeSave`
     */
    async publish (proposal, person) {
      if (proposal.state !== 'open') throw new ProposalClosed(proposal.state)
      const { name, content, tags, base_revision: baseRevision, author, summary } = proposal
      const { save, settle } = ending(proposal, person, { changed: false })
      const result = await mergeSave(name, { content, tags: tags ?? undefined }, {
        attribution: { author, summary, role: person.role },
        precondition: basePrecondition(baseRevision),
        baseRevision,
        save
      })
      if ('revision' in result) await settle(name, result.revision)
      return result
    }
  }
}

/**
 * A renamed page keeps its proposals.
 * @param {Pick<PageStore, 'findRedirect'>} store @param {string} name @param {string} other
 */
async function isSamePage (store, name, other) {
  const [now, otherNow] = await Promise.all([name, other].map(async (each) => await store.findRedirect(each) ?? each))
  return now === otherNow
}

/** @typedef {ReturnType<typeof createProposing>} Proposing */
