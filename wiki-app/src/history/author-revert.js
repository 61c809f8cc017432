import mongoose from 'mongoose'
import { t } from '../language.js'
import { PageMissing } from '../pages/page-errors.js'
import { StaleEdit } from '../pages/preconditions.js'
import { createBringBack } from './bring-back.js'
import { RevisionMissing } from './history.js'

/** @import {Models} from '../pages/model.js' */

export const PAGES_MAX = 1_000
/** Less than the time that proxies wait. */
const WORK_MAX_MS = 20_000

/**
 * `target` null: delete the page; `unneeded`: why there is nothing to do.
 * @typedef {{name: string, newest: number, target: number | null, unneeded: string | null}} Plan
 */

/**
 * @typedef {'reverted' | 'deleted' | 'skipped'} Result
 * @typedef {{name: string, outcome: Result, revision?: number, target?: number | null, reason?: string}} Outcome
 */

/**
 * Author '': without a name; `since`: earlier changes stay; `after`: only later page names.
 * @typedef {{author: string, since?: Date, after?: string, limit: number}} Selection
 */

/**
 * Only where the author's revision is the newest. Each revert is a new revision.
 * @param {object} parts
 * @param {Models} parts.models
 * @param {import('../pages/store.js').PageStore} parts.store
 * @param {import('./history.js').History} parts.history
 */
export function createAuthorRevert ({ models: { Pages, Revisions }, store, history }) {
  const bringBack = createBringBack({ store, history })

  /**
   * @param {Selection} selection
   * @returns {Promise<{plans: Plan[], next: string | null}>} by page name; `next`: `after` for the rest
   */
  async function plan (selection) {
    const { author, since, limit } = selection
    /** @type {{_id: string, name: string, newest: number}[]} */
    const found = await Revisions.aggregate(newestRevisions(selection, Pages.collection.name)).allowDiskUse(true).exec()
    const plans = []
    for (const { _id: history, name, newest } of found.slice(0, limit)) {
      plans.push(await planOf(Revisions, { history, name, newest, author, since }))
    }
    return { plans, next: found.length > limit ? plans[plans.length - 1].name : null }
  }

  /** @param {Plan} plan @param {import('../pages/commit.js').Attribution} attribution @returns {Promise<Outcome>} */
  async function carryOut ({ name, newest, target, unneeded }, attribution) {
    if (unneeded !== null) return { name, outcome: 'skipped', reason: unneeded }
    /** @type {import('../pages/commit.js').Precondition} */
    const unchanged = (head) => { if (head?.revision !== newest || head.redirect_to) throw new StaleEdit() }
    try {
      if (target === null) {
        return { name, outcome: 'deleted', revision: await store.remove(name, attribution, unchanged) }
      }
      const { revision } = await bringBack({ name, revision: target }, attribution, unchanged)
      return { name, outcome: 'reverted', revision, target }
    } catch (error) {
      if ([StaleEdit, PageMissing, RevisionMissing].some((each) => error instanceof each)) {
        return { name, outcome: 'skipped', reason: t('someone changed it in the meantime') }
      }
      const { statusCode, message } = /** @type {{statusCode?: number, message: string}} */ (error)
      // An old text may exceed the limits of today.
      if (statusCode !== undefined && statusCode < 500) return { name, outcome: 'skipped', reason: message }
      throw error
    }
  }

  return {
    plan,

    /**
     * @param {Selection} selection @param {Pick<import('../pages/commit.js').Attribution, 'author' | 'role'>} by
     * @returns {Promise<{outcomes: Outcome[], next: string | null}>} `next` as above
     */
    async revert (selection, by) {
      const deadline = performance.now() + WORK_MAX_MS
      const { plans, next } = await plan(selection)
      /** @type {Outcome[]} */
      const outcomes = []
      for (const each of plans) {
        const last = outcomes.at(-1)
        if (last !== undefined && performance.now() > deadline) return { outcomes, next: last.name }
        const summary = `Took back what ${
          selection.author === '' ? 'was done without a name' : `“${selection.author}” did`
        }${each.target === null ? '' : `: to revision ${each.target}`}`
        outcomes.push(await carryOut(each, { ...by, summary }))
      }
      return { outcomes, next }
    }
  }
}

/** @typedef {ReturnType<typeof createAuthorRevert>} AuthorRevert */

/**
 * Pages whose newest revision is the author's.
 * @param {Selection} selection @param {string} pages  name of the collection
 * @returns {import('mongoose').PipelineStage[]}
 */
function newestRevisions ({ author, since, after, limit }, pages) {
  const theirs = {
    author,
    ...(since && { created_at: { $gte: since } })
  }
  /**
   * Pages whose revisions have this key, see pages/histories.js.
   * @param {'_id' | 'history'} field @param {string} as @param {object} others
   */
  const headsBy = (field, as, others) => ({
    $lookup: {
      from: pages,
      localField: '_id',
      foreignField: field,
      let: { newest: '$newest' },
      pipeline: [
        { $match: { $expr: { $eq: ['$revision', '$$newest'] }, redirect_to: null, ...others } },
        { $project: { _id: 1 } }
      ],
      as
    }
  })
  return [
    { $match: theirs },
    { $group: { _id: '$page', newest: { $max: '$revision' } } },
    headsBy('history', 'renamed', {}),
    headsBy('_id', 'others', { history: null }),
    { $set: { heads: { $concatArrays: ['$renamed', '$others'] } } },
    { $unwind: '$heads' },
    { $project: { newest: 1, name: '$heads._id' } },
    ...after === undefined ? [] : [{ $match: { name: { $gt: after } } }],
    { $sort: { name: 1 } },
    { $limit: limit + 1 }
  ]
}

const BEFORE_FIELDS = { revision: 1, deleted: 1, erased_at: 1 }

/**
 * @param {Models['Revisions']} Revisions
 * @param {{history: string, name: string, newest: number, author: string, since?: Date}} change
 * @returns {Promise<Plan>}
 */
async function planOf (Revisions, { history, name, newest, author, since }) {
  const others = [
    { author: mongoose.trusted({ $ne: author }) },
    ...(since ? [{ created_at: mongoose.trusted({ $lt: since }) }] : [])
  ]
  const [now, before] = await Promise.all([
    Revisions.findOne({ page: history, revision: newest }, { deleted: 1 }).lean().exec(),
    Revisions
      .findOne({ page: history, revision: mongoose.trusted({ $lt: newest }), $or: others }, BEFORE_FIELDS)
      .sort({ revision: -1 })
      .lean()
      .exec()
  ])
  const target = before === null || before.deleted ? null : before.revision
  const noChange = target === null && now?.deleted ? t('it is deleted, as it was before') : null
  return {
    name,
    newest,
    target,
    unneeded: before?.erased_at
      ? t('the text before it, revision {{revision}}, was erased', { revision: before.revision })
      : noChange
  }
}
