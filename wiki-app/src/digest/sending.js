import { setTimeout as sleep } from 'node:timers/promises'
import { createAwayPause } from '../mail/away.js'
import { createPace } from '../mail/pace.js'
import { createWaker } from '../queue/waker.js'
import { createWorker } from './outcomes.js'
import { pauseOf } from './timing.js'

/** @import {Mail, Mailer} from '../mail/mailer.js' */
/** @import {Claims} from './claims.js' */
/** @import {Job} from './model.js' */
/** @import {Timing} from './timing.js' */

/** @typedef {Pick<import('fastify').FastifyBaseLogger, 'warn' | 'error'>} Log */
/** @typedef {(mail: Mail) => Promise<void>} Send  @throws {MailFailure} */

/**
 * @template {Job} [J=any]
 * @typedef {{claims: Claims<J>, workOn: (job: J) => Promise<unknown>}} Kind
 */

/** A mail that is under way then may be sent again by another process, with the same id. */
const CLOSE_MAX_MS = 3_000

/**
 * Sends what is due, some mails at a time. All of it is behind the requests: no edit and no page waits for a mail.
 * @param {object} parts
 * @param {Mailer} parts.mailer
 * @param {(send: Send) => Kind[]} parts.kindsOf  those of the first kind come first
 * @param {(error: unknown) => boolean} parts.isUnavailable  the database is away: no failure of the job
 * @param {Log} parts.log
 * @param {Timing} parts.times
 */
export function createSending ({ mailer, kindsOf, isUnavailable, log, times }) {
  const closing = new AbortController()
  const { signal } = closing
  const waker = createWaker({ signal, gatherMs: 0 })
  const pace = createPace(times.perMinute)
  /** @type {Set<Promise<void>>} */
  const underWay = new Set()
  const pause = createAwayPause({ pauseMs: (awayTimes) => pauseOf(times.awayMs, times.awayMaxMs, awayTimes) })
  let unreadable = false
  /** @type {Promise<void>} */
  let running = Promise.resolve()

  const kinds = kindsOf(async (mail) => {
    pace.take()
    await mailer.send(mail)
    pause.back()
  })

  const work = createWorker({ isUnavailable, onAway: pause.away, times, log })

  /** @param {unknown} error */
  function onUnreadable (error) {
    if (!unreadable && !signal.aborted) {
      log.warn(`digests by mail stand still: ${/** @type {Error} */ (error).message}`)
    }
    unreadable = true
  }

  /** @returns {Promise<boolean>} whether there was something to do */
  async function startNext () {
    for (const kind of kinds) {
      const job = await kind.claims.claim()
      unreadable = false
      if (job === null) continue
      // After a failure to write its result, the job is due again when its lease ends.
      const working = work(kind, job).catch(onUnreadable).finally(() => { underWay.delete(working) })
      underWay.add(working)
      return true
    }
    return false
  }

  async function run () {
    while (!signal.aborted) {
      const waitMs = Math.max(pause.waitMs(), pace.waitMs())
      if (underWay.size >= times.atOnce) await Promise.race(underWay)
      else if (waitMs > 0) await waker.pause(waitMs)
      else await next()
    }
  }

  async function next () {
    try {
      // Random, so that processes do not look together.
      if (!await startNext()) await waker.idle(times.checkMs * (1 + Math.random() / 2))
    } catch (error) {
      onUnreadable(error)
      await waker.pause(times.awayMs)
    }
  }

  return {
    /** Something is due. */
    added: waker.wakeUp,
    async open () { running = run() },
    async close () {
      closing.abort()
      await Promise.race([
        Promise.all([running, ...underWay]), sleep(CLOSE_MAX_MS, undefined, { ref: false })
      ])
    }
  }
}
