import mongoose from 'mongoose'
import { driverOf } from '../database/driver.js'

/** @import {Job} from './model.js' */

/**
 * One process at a time works on a job. That of a dead process is due again after `leaseMs`.
 * @template {Job} J @param {import('mongoose').Model<J>} Model
 * @param {{leaseMs: number, aheadMs: number}} options  nothing is due later than `aheadMs` from now
 */
export function createClaims (Model, { leaseMs, aheadMs }) {
  const jobs = /** @type {import('mongoose').mongo.Collection<any>} */ (driverOf(Model))
  const inMs = (/** @type {number} */ ms) => new Date(Date.now() + ms)

  return {
    /**
     * A date far ahead comes from a clock that was wrong.
     * @returns {Promise<J | null>} the one that is due for the longest time
     */
    claim: () => jobs.findOneAndUpdate(
      { $or: [{ due_at: { $lte: new Date() } }, { due_at: { $gt: inMs(aheadMs) } }] },
      { $set: { claim: new mongoose.Types.ObjectId(), due_at: inMs(leaseMs) } },
      { sort: { due_at: 1 }, returnDocument: 'after' }
    ),

    /**
     * @param {J} job  as claimed @param {object} update
     * @returns {Promise<boolean>} false: it was changed or ended, or another process has it now
     */
    async update ({ _id, claim }, update) {
      const { matchedCount } = await jobs.updateOne({ _id, claim }, update)
      return matchedCount > 0
    },

    /** @param {J} job @param {number} ms  until it is due again @param {{set?: object, unset?: object}} changes */
    release ({ _id, claim }, ms, { set = {}, unset = {} }) {
      const fields = { ...set, claim: null, due_at: inMs(ms) }
      return jobs.updateOne({ _id, claim }, { $set: fields, ...Object.keys(unset).length > 0 && { $unset: unset } })
    },

    /** Nothing is to be done any more. @param {J} job @param {object} set @param {object} [unset] */
    end: ({ _id, claim }, set, unset = {}) =>
      jobs.updateOne({ _id, claim }, { $set: { ...set, claim: null }, $unset: { ...unset, due_at: '' } })
  }
}

/** @template {Job} J @typedef {ReturnType<typeof createClaims<J>>} Claims */
