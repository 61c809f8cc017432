import { MailFailure } from '../mail/failures.js'
import { pauseOf } from './timing.js'

/** @import {Claims} from './claims.js' */
/** @import {Job} from './model.js' */
/** @import {Timing} from './timing.js' */

/**
 * Works on a job, which is due again after a failure.
 * @param {{isUnavailable: (error: unknown) => boolean, onAway: () => void, times: Timing,
 *   log: import('./sending.js').Log}} parts
 */
export const createWorker = ({ isUnavailable, onAway, times, log }) =>
  /**
   * @template {Job} J @param {import('./sending.js').Kind<J>} kind @param {J} job  claimed
   * @throws {Error} the database is away: the job is due again when its lease ends
   */
  async function work ({ claims, workOn }, job) {
    try {
      await workOn(job)
    } catch (error) {
      if (isUnavailable(error)) throw error
      const failures = job.failures + 1
      const isOfMail = error instanceof MailFailure
      if (isOfMail && error.away) onAway()
      if (!isOfMail && failures === 1) log.error({ err: error }, 'a digest by mail has failed, and is tried again')
      const problem = isOfMail ? error.problem : 'an error of the wiki'
      await claims.release(job, pauseOf(times.retryMs, times.retryMaxMs, failures), { set: { failures, problem } })
    }
  }
