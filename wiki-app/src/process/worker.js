import createError from '@fastify/error'
import { AggregatorRegistry } from 'prom-client'
import { createCount } from '../counter.js'
import { retryAfter } from '../http/retry-after.js'
import { unwrap, wrap } from './messages.js'

/** @import {Counter} from '../counter.js' */

const NotCounted = createError(
  'WIKI_NOT_COUNTED',
  'One of the wiki\'s processes does not say what it has counted. Nothing of it is lost; try again in a moment.',
  503
)

/** @param {import('./messages.js').FromWorker} message @param {() => void} [sent] */
const send = (message, sent) => { process.send?.(wrap(message), undefined, undefined, sent) }

/**
 * `number`: from 1, kept by a replacement; `leave`: hands over the rest, after the last request; `processes`: as the
 * primary said last.
 * @typedef {{number: number, counter: Counter, leave: () => Promise<void>, onStop: (stop: () => void) => void,
 *   processes: () => import('../status/report.js').WikiProcess[]}} Joined
 * @returns {Promise<Joined>}
 */
export async function joinPrimary () {
  const { add, take } = createCount()
  /** @type {Map<number, (reading: import('../counter.js').Reading | null) => void>} */
  const pending = new Map()
  let lastRequest = 0
  /** @type {import('../status/report.js').WikiProcess[]} */
  let processes = []
  /** @type {() => void} */
  let stop = () => { process.exit(0) }

  const number = await new Promise((resolve) => {
    process.on('message', (raw) => {
      /** @type {import('./messages.js').FromPrimary | undefined} */
      const message = unwrap(raw)
      if (message?.kind === 'welcome') resolve(message.number)
      if (message?.kind === 'count') send({ kind: 'counted', reading: message.reading, count: take() })
      if (message?.kind === 'stop') stop()
      if (message?.kind === 'processes') {
        processes = message.processes.map(({ since, ...rest }) => ({ ...rest, since: since ? new Date(since) : null }))
      }
      if (message?.kind === 'reading') {
        pending.get(message.request)?.(message.reading)
        pending.delete(message.request)
      }
    })
    send({ kind: 'join' })
  })

  return {
    number,
    processes: () => processes,
    counter: {
      add,
      async read ({ take }) {
        const request = ++lastRequest
        const reading = await new Promise((resolve) => {
          pending.set(request, resolve)
          send({ kind: 'read', request, take })
        })
        if (reading === null) throw retryAfter(new NotCounted())
        return reading
      }
    },
    leave: () => new Promise((resolve) => send({ kind: 'leave', count: take() }, () => resolve(undefined))),
    onStop: (callback) => { stop = callback }
  }
}

/** @param {string} address  where it accepts requests from now on */
export const reportListening = (address) => send({ kind: 'listening', address })

/**
 * A label per worker: sums would fall when a worker dies.
 * @param {number} number @returns {import('../observe/metrics.js').ShowMetrics}
 */
export const shareMetrics = (number) => ({ registry }) => {
  registry.setDefaultLabels({ worker: String(number) })
  AggregatorRegistry.setRegistries(registry)
  const answering = new AggregatorRegistry()
  return { open: async () => {}, close: async () => { answering.clear() } }
}
