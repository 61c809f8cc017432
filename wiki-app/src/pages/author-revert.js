import mongoose from 'mongoose'
import { PageMissing } from './page-errors.js'
import { StaleEdit } from './preconditions.js'

export const PAGES_MAX = 1_000
/** Less than the time that proxies wait for a response. */
const WORK_MAX_MS = 20_000

/**
 * @typedef {object} Plan  how one page is reverted
 * @property {string} name
 * @property {number} newest  the current revision of the page, which is the author's
 * @property {number | null} target  the revision to restore; null: the page is deleted
 * @property {string | null} unneeded  why there is nothing to do; null when there is
 */

/**
 * @typedef {object} Outcome
 * @property {string} name
 * @property {'reverted' | 'deleted' | 'skipped'} outcome
 * @property {number} [revision]  the new one
 * @property {number | null} [target]
 * @property {string} [reason]  why it was skipped
 */

/**
 * Reverts the changes of one author, page by page, where the author's revision is still the newest. Nothing is lost:
 * each revert is a new revision.
 * @param {object} options
 * @param {ReturnType<typeof import('./model.js').defineModels>} options.models
 * @param {import('./store.js').PageStore} options.store
 * @param {import('./history.js').History} options.history
 */
export function createAuthorRevert ({ models: { Pages, Revisions }, store, history }) {
  /**
   * @param {object} options
   * @param {string} options.author  '' for changes without a name
   * @param {Date} [options.since]  earlier changes stay
   * @param {string} [options.after]  only pages whose names come after this one
   * @param {number} options.limit  of pages
   * @returns {Promise<{plans: Plan[], next: string | null}>} in the order of page names; `next`: the value of `after`
   *   for the remaining pages, null when there are none
   */
  async function plan ({ author, since, after, limit }) {
    const theirs = {
      author,
      ...(since && { created_at: { $gte: since } }),
      ...(after !== undefined && { page: { $gt: after } })
    }
    /** @type {{_id: string, newest: number}[]} */
    const found = await Revisions.aggregate([
      { $match: theirs },
      { $group: { _id: '$page', newest: { $max: '$revision' } } },
      {
        $lookup: {
          from: Pages.collection.name,
          localField: '_id',
          foreignField: '_id',
          let: { newest: '$newest' },
          pipeline: [
            { $match: { $expr: { $eq: ['$revision', '$$newest'] }, redirect_to: null } },
            { $project: { _id: 1 } }
          ],
          as: 'heads'
        }
      },
      { $match: { 'heads.0': { $exists: true } } },
      { $sort: { _id: 1 } },
      { $limit: limit + 1 },
      { $project: { newest: 1 } }
    ]).allowDiskUse(true).exec()
    const plans = []
    for (const { _id: name, newest } of found.slice(0, limit)) plans.push(await planOf(name, newest, author, since))
    return { plans, next: found.length > limit ? plans[plans.length - 1].name : null }
  }

  /**
   * @param {string} name
   * @param {number} newest
   * @param {string} author
   * @param {Date} [since]
   * @returns {Promise<Plan>}
   */
  async function planOf (name, newest, author, since) {
    const others = [
      { author: mongoose.trusted({ $ne: author }) },
      ...(since ? [{ created_at: mongoose.trusted({ $lt: since }) }] : [])
    ]
    const [now, before] = await Promise.all([
      Revisions.findOne({ page: name, revision: newest }, { deleted: 1 }).lean().exec(),
      Revisions
        .findOne({ page: name, revision: mongoose.trusted({ $lt: newest }), $or: others }, { revision: 1, deleted: 1 })
        .sort({ revision: -1 })
        .lean()
        .exec()
    ])
    const target = before === null || before.deleted ? null : before.revision
    return {
      name,
      newest,
      target,
      unneeded: target === null && now?.deleted ? 'it is deleted, as it was before' : null
    }
  }

  /**
   * @param {Plan} plan
   * @param {import('./commit.js').Attribution} attribution
   * @returns {Promise<Outcome>}
   */
  async function carryOut ({ name, newest, target, unneeded }, attribution) {
    if (unneeded !== null) return { name, outcome: 'skipped', reason: unneeded }
    /** @type {import('./commit.js').Precondition} */
    const unchanged = (head) => { if (head?.revision !== newest || head.redirect_to) throw new StaleEdit() }
    try {
      if (target === null) {
        return { name, outcome: 'deleted', revision: await store.remove(name, attribution, unchanged) }
      }
      const old = await history.find(name, target)
      if (old === null) throw new StaleEdit()
      const { revision } = await store.save(name, old, attribution, unchanged)
      return { name, outcome: 'reverted', revision, target }
    } catch (error) {
      if (error instanceof StaleEdit || error instanceof PageMissing) {
        return { name, outcome: 'skipped', reason: 'someone changed it in the meantime' }
      }
      const { statusCode, message } = /** @type {{statusCode?: number, message: string}} */ (error)
      // A text that was accepted once may exceed the limits of today.
      if (statusCode !== undefined && statusCode < 500) return { name, outcome: 'skipped', reason: message }
      throw error
    }
  }

  return {
    plan,

    /**
     * @param {Parameters<typeof plan>[0]} options
     * @param {string} by  author of the reverts
     * @returns {Promise<{outcomes: Outcome[], next: string | null}>} `next` as above
     */
    async revert (options, by) {
      const deadline = performance.now() + WORK_MAX_MS
      const { plans, next } = await plan(options)
      /** @type {Outcome[]} */
      const outcomes = []
      for (const each of plans) {
        const last = outcomes.at(-1)
        if (last !== undefined && performance.now() > deadline) return { outcomes, next: last.name }
        const summary = `Took back what ${
          options.author === '' ? 'was done without a name' : `“${options.author}” did`
        }${each.target === null ? '' : `: to revision ${each.target}`}`
        outcomes.push(await carryOut(each, { author: by, summary }))
      }
      return { outcomes, next }
    }
  }
}

/** @typedef {ReturnType<typeof createAuthorRevert>} AuthorRevert */
