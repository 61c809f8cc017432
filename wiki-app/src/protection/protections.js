import createError from '@fastify/error'
import { driverOf } from '../database/driver.js'
import { createActorOf } from '../people/actor.js'
import { RULES_MAX } from './guard.js'
import { createOutwait } from './outwait.js'
import { PUBLIC } from './scope.js'

/** @import {Models} from '../pages/model.js' */
/** @import {Person} from '../access/access.js' */
/** @import {Audit} from '../people/audit.js' */
/** @import {Guard} from './guard.js' */
/** @import {Rule} from './model.js' */
/** @import {Scope} from './scope.js' */

const NoRule = createError(
  'WIKI_NOT_PROTECTED',
  '“%s” is not in the list of protected pages. A page above it may be, with its subpages.',
  404
)

/** @typedef {Pick<Rule, 'subpages' | 'role' | 'review' | 'reason'>} Protection */

/**
 * What administrators do with rules. Each change, with its line of the audit log, is one transaction.
 * @param {object} parts
 * @param {Pick<Models, 'Pages' | 'Targets'>} parts.models
 * @param {Guard} parts.guard
 * @param {Audit} parts.audit
 * @param {(name: string) => boolean} parts.isInFile  whether USERS_FILE has that person
 * @param {Scope} [parts.scope]
 */
export function createProtections ({ models, guard, audit, isInFile, scope = PUBLIC }) {
  const rules = driverOf(guard.rules)
  const outwait = createOutwait(models)
  const actorOf = createActorOf(isInFile)

  return {
    find: guard.find,

    /** By name. @param {Person} person  an administrator @returns {Promise<Rule[]>} all of them */
    list: async (person) => /** @type {Rule[]} */ (
      await rules.find(scope.of(person), { sort: { _id: 1 }, limit: RULES_MAX }).toArray()),

    /**
     * Once it resolves, no write is committed that the rule forbids. It replaces an earlier rule of the name.
     * @param {Person} person  an administrator @param {string} name  of a page @param {Protection} protection
     * @returns {Promise<{rule: Rule, created: boolean}>} @throws {Error} 403, 409
     */
    async protect (person, name, { subpages, role, review = false, reason }) {
      const rule = { _id: name, subpages, role, review, reason, at: new Date() }
      const line = { did: didOf({ subpages, review }), role, reason }
      const { before } = await audit.during(actorOf(person), line, async (session) => {
        const placed = await scope.enter(name, person, 'admin', session)
        const { _id, ...fields } = rule
        const update = { $set: { ...fields, ...placed } }
        const before = await rules.findOneAndUpdate({ _id }, update, { session, upsert: true })
        await guard.refuseTooMany(placed, session)
        return { name, before }
      })
      await outwait(name, subpages || before?.subpages === true)
      return { rule, created: before === null }
    },

    /**
     * @param {Person} person  an administrator @param {string} name  of a rule
     * @throws {Error} 403, 404, 409
     */
    async unprotect (person, name) {
      const removed = await audit.during(actorOf(person), { did: 'unprotected' }, async (session) => {
        await scope.enter(name, person, 'admin', session)
        const found = await rules.findOneAndDelete({ _id: name }, { session })
        if (found === null) throw new NoRule(name)
        return { name, role: found.role, subpages: found.subpages }
      })
      // Its names may be covered by a rule above now.
      if (removed.role !== 'admin') await outwait(name, removed.subpages)
    }
  }
}

/** @typedef {ReturnType<typeof createProtections>} Protections */

/** For the audit log. @param {{subpages: boolean, review: boolean}} rule */
const didOf = ({ subpages, review }) => `${review ? 'reviewed' : 'protected'}${subpages ? '-below' : ''}`
