import { MailFailure } from '../mail/failures.js'
import { asIdsHave } from '../watching/read-marks.js'
import { pauseOf } from './timing.js'

/** @import {Users} from '../access/users.js' */
/** @import {History} from '../history/history.js' */
/** @import {Watching} from '../watching/watching.js' */
/** @import {Claims} from './claims.js' */
/** @import {Send} from './sending.js' */
/** @import {Messages} from './messages.js' */
/** @import {Digest} from './model.js' */
/** @import {Timing} from './timing.js' */

/** The list of what is watched has the others. */
const CHANGES_MAX = 50

/**
 * One mail with what changed since the last one. A range of time ends where each change is seen that began in it, so
 * two ranges that follow each other miss none. The mark moves once the server has the mail: at least once.
 * @param {{claims: Claims<Digest>, watching: Pick<Watching, 'newBetween'>, history: Pick<History, 'bytesBefore'>,
 *   users: Users, messages: Messages, send: Send, times: Timing, log: import('./sending.js').Log}} parts
 */
export function createDigestWork ({ claims, watching, history, users, messages, send, times, log }) {
  /** @param {Digest} digest @param {Date} upTo */
  async function mailOf (digest, upTo) {
    // A removed user may come back.
    const user = await users.find(digest._id)
    if (user === null || upTo <= digest.sent_up_to) return null
    const { items, more, inSpaces } = await watching.newBetween(user.name, {
      from: digest.sent_up_to, to: upTo, limit: CHANGES_MAX
    })
    if (items.length + inSpaces.count === 0) return null
    return messages.digest(digest, upTo, { items, more, inSpaces, bytesBefore: await history.bytesBefore(items) })
  }

  /** @param {Digest} digest @param {MailFailure} failure */
  async function onRefusal (digest, { problem }) {
    const refusals = digest.refusals + 1
    if (refusals < times.refusalsMax) {
      const ms = pauseOf(times.refusedMs, times.refusedMaxMs, refusals)
      await claims.release(digest, ms, { set: { refusals, problem } })
      return
    }
    log.warn({ problem, refusals }, 'a digest by mail ends, as its mailbox refused it too often')
    await claims.end(digest, { refusals, problem, ended_at: new Date() }, { up_to: '' })
  }

  /** @param {Digest} digest  claimed @throws {Error} the database is away, or no mail can be sent now */
  return async function workOn (digest) {
    const upTo = digest.up_to ?? nextMark(digest, new Date(), times.settleMs)
    const mail = await mailOf(digest, upTo)
    if (mail !== null) {
      // Kept for the next attempt, so that it has the same range and id.
      if (!await claims.update(digest, { $set: { up_to: upTo } })) return
      try {
        await send(mail)
      } catch (error) {
        if (error instanceof MailFailure && error.refused) return onRefusal(digest, error)
        throw error
      }
    }
    await claims.release(digest, times.intervalMs[digest.every], {
      set: { sent_up_to: upTo, failures: 0, refusals: mail === null ? digest.refusals : 0 },
      unset: { up_to: '', problem: '' }
    })
  }
}

/**
 * A mark of the future comes from a clock that was wrong; no other goes back.
 * @param {Digest} digest @param {Date} now @param {number} settleMs
 */
function nextMark ({ sent_up_to: mark }, now, settleMs) {
  const settled = asIdsHave(new Date(now.getTime() - settleMs))
  return settled < mark && mark <= now ? mark : settled
}
