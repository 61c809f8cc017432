import { createClaims } from './claims.js'
import { createConfirmationWork } from './confirmation-work.js'
import { createDigestWork } from './digest-work.js'
import { createMessages } from './messages.js'
import { defineDigests } from './model.js'
import { createSending } from './sending.js'
import { createSubscriptions } from './subscriptions.js'
import { TIMING } from './timing.js'

/** @import {Connection, Model} from 'mongoose' */
/** @import {Users} from '../access/users.js' */
/** @import {History} from '../history/history.js' */
/** @import {Mailer} from '../mail/mailer.js' */
/** @import {Watching} from '../watching/watching.js' */
/** @import {Claims} from './claims.js' */
/** @import {Job} from './model.js' */
/** @import {Kind, Log, Send} from './sending.js' */
/** @import {Timing} from './timing.js' */

/** @typedef {(send: Send, claimsOf: <J extends Job>(model: Model<J>) => Claims<J>) => Kind[]} KindsOf */

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
 * @param {KindsOf} [parts.kindsOf]  of other mails, which come first
 * @param {Partial<Timing>} [parts.timing]
 */
export function createDigests ({
  connection, users, watching, history, mailer, root, isUnavailable, log, kindsOf = () => [], timing = {}
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
        ...kindsOf(send, (model) => createClaims(model, options)),
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
  return {
    subscriptions,
    added: sending.added,
    open: sending.open,
    close: sending.close,
    state: mailer.state,
    counts: mailer.counts
  }
}

/** @typedef {ReturnType<typeof createDigests>} Digests */
