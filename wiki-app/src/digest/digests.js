import { createClaims } from './claims.js'
import { createConfirmationWork } from './confirmation-work.js'
import { createDigestWork } from './digest-work.js'
import { createMessages } from './messages.js'
import { defineDigests } from './model.js'
import { createSending } from './sending.js'
import { createSubscriptions } from './subscriptions.js'
import { TIMING } from './timing.js'

/** @import {Connection} from 'mongoose' */
/** @import {Users} from '../access/users.js' */
/** @import {History} from '../history/history.js' */
/** @import {Mailer} from '../mail/mailer.js' */
/** @import {Watching} from '../watching/watching.js' */
/** @import {Log} from './sending.js' */
/** @import {Timing} from './timing.js' */

/**
 * What changed in what people watch, by mail (docs/decisions/0061).
 * @param {object} parts
 * @param {Connection} parts.connection
 * @param {Users} parts.users
 * @param {Pick<Watching, 'newBetween'>} parts.watching
 * @param {Pick<History, 'bytesBefore'>} parts.history
 * @param {Mailer} parts.mailer
 * @param {string} parts.root  scheme and host of the wiki
 * @param {(error: unknown) => boolean} parts.isUnavailable
 * @param {Log} parts.log
 * @param {Partial<Timing>} [parts.timing]
 */
export function createDigests ({
  connection, users, watching, history, mailer, root, isUnavailable, log, timing = {}
}) {
  const times = { ...TIMING, ...timing }
  const models = defineDigests(connection)
  const messages = createMessages({ root })
  const longestMs = Math.max(...Object.values(times.intervalMs), times.retryMaxMs, times.refusedMaxMs, times.leaseMs)
  const options = { leaseMs: times.leaseMs, aheadMs: 2 * longestMs }
  const sending = createSending({
    mailer,
    kindsOf (send) {
      const claims = createClaims(models.Digests, options)
      const toConfirm = createClaims(models.Confirmations, options)
      return [
        { claims: toConfirm, workOn: createConfirmationWork({ claims: toConfirm, users, messages, send }) },
        { claims, workOn: createDigestWork({ claims, watching, history, users, messages, send, times, log }) }
      ]
    },
    isUnavailable,
    log,
    times
  })
  const subscriptions = createSubscriptions({
    connection, models, users, intervalMs: times.intervalMs, added: sending.added
  })
  return { subscriptions, open: sending.open, close: sending.close, state: mailer.state, counts: mailer.counts }
}

/** @typedef {ReturnType<typeof createDigests>} Digests */
