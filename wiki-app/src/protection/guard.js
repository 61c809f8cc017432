import createError from '@fastify/error'
import { suffices } from '../access/roles.js'
import { driverOf } from '../database/driver.js'
import { namesAbove } from '../pages/name.js'

/** @import {ClientSession} from 'mongoose' */
/** @import {Role} from '../access/roles.js' */
/** @import {Rule, Rules} from './model.js' */
/** @import {InScope} from './scope.js' */

export const RULES_MAX = 200

const PageProtected = createError(
  'WIKI_PAGE_PROTECTED',
  'Nothing was changed: “%s” is protected, and only administrators change it. Propose the change on a talk page.',
  403
)
const PageProtectedBecause = createError(
  'WIKI_PAGE_PROTECTED',
  'Nothing was changed: “%s” is protected (%s), and only administrators change it. ' +
    'Propose the change on a talk page.',
  403
)
/** A text that is saved becomes a proposal instead (proposals/saving.js). `baseRevision`: of the page at that time. */
export const PageReviewed = createError(
  'WIKI_PAGE_REVIEWED',
  'Nothing was changed: changes of “%s” wait for a review, and only administrators do this. ' +
    'Edit its text instead: that becomes a proposal, which an administrator publishes.',
  403
)
export const TooManyRules = createError(
  'WIKI_TOO_MANY_PROTECTIONS',
  `There are ${RULES_MAX} protected pages already. Remove some from the list, or protect a page with its subpages.`,
  409
)

/** A writer without a role writes as an editor: all routes that write demand that one. @type {Role} */
const LEAST_ROLE = 'editor'

/** @typedef {{name: string, role?: Role}} Write  `name`: of a page that changes, comes or goes; `role`: the writer's */

/**
 * What every write of pages asks within its transaction. Rules are looked up by name, those for subpages also by the
 * names above; the nearest one counts.
 * @param {Rules} model
 */
export function createGuard (model) {
  const rules = driverOf(model)

  /**
   * @param {string[]} names  canonical @param {ClientSession} [session]
   * @returns {Promise<(name: string) => Rule | null>} the rule that counts; null: none
   */
  async function rulesOf (names, session) {
    const asked = [...new Set(names.flatMap((name) => [name, ...namesAbove(name)]))]
    const found = await rules.find({ _id: { $in: asked } }, { session, batchSize: asked.length + 1 }).toArray()
    const byName = new Map(found.map((rule) => [rule._id, /** @type {Rule} */ (rule)]))
    return (name) => {
      const above = namesAbove(name).reverse().map((each) => byName.get(each)).find((rule) => rule?.subpages)
      return byName.get(name) ?? above ?? null
    }
  }

  return {
    rules: model,

    /** @param {string} name  canonical @returns {Promise<Rule | null>} the rule that counts for it */
    find: async (name) => (await rulesOf([name]))(name),

    /**
     * A rule that is made at the same time is seen, or makes the transaction begin again: see protections.js.
     * @param {Write[]} writes @param {ClientSession} session  of the transaction that writes
     * @returns {Promise<Map<string, Error>>} by the names that may not be written: 403
     */
    async refusals (writes, session) {
      const limited = writes.filter(({ role = LEAST_ROLE }) => role !== 'admin')
      if (limited.length === 0) return new Map()
      const ruleOf = await rulesOf(limited.map(({ name }) => name), session)
      return new Map(limited.flatMap(({ name, role = LEAST_ROLE }) => {
        const rule = ruleOf(name)
        return rule === null || suffices(role, rule.role)
          ? []
          : /** @type {[string, Error][]} */ ([[name, refusal(name, rule)]])
      }))
    },

    /**
     * A renamed page stays protected, and so does its former name, which leads to it. Exceptions for editors stay where
     * they are. No renaming leaves a private space.
     * @param {{from: string, to: string}[]} moves @param {ClientSession} session
     * @throws {Error} 409
     */
    async follow (moves, session) {
      const own = { _id: { $in: moves.map(({ from }) => from) }, role: /** @type {const} */ ('admin') }
      const found = await rules.find(own, { session }).toArray()
      for (const { _id: from, ...rule } of found) {
        const { to } = /** @type {{to: string}} */ (moves.find((move) => move.from === from))
        await rules.updateOne({ _id: to }, { $setOnInsert: rule }, { session, upsert: true })
      }
      if (found.length > 0) await refuseTooMany(inScope(found[0]), session)
    },

    refuseTooMany
  }

  /** After rules were added. @param {InScope} scope @param {ClientSession} session @throws {Error} 409 */
  async function refuseTooMany (scope, session) {
    if (await rules.countDocuments(scope, { session, limit: RULES_MAX + 1 }) > RULES_MAX) throw new TooManyRules()
  }
}

/** @param {{space?: string}} rule @returns {InScope} */
const inScope = ({ space }) => space === undefined ? {} : { space }

/** @typedef {ReturnType<typeof createGuard>} Guard */
/** @typedef {Pick<Guard, 'refusals' | 'follow'>} Protection */
/**
 * `refuseMove`: before anything is looked up under the new name, which may be nothing for this person.
 * @typedef {Protection & {refuseMove: (from: string, to: string, session: ClientSession) => Promise<void>}} WriteGuard
 */

/** For a wiki that knows nobody by name. @type {WriteGuard} */
export const NO_GUARD = { refusals: async () => new Map(), refuseMove: async () => {}, follow: async () => {} }

/** @param {string} name @param {Rule} rule @returns {Error} */
function refusal (name, { reason, review }) {
  if (review) return new PageReviewed(name)
  return reason ? new PageProtectedBecause(name, reason) : new PageProtected(name)
}
