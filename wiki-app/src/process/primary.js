import cluster from 'node:cluster'
import { once } from 'node:events'
import closeWithGrace from 'close-with-grace'
import pino from 'pino'
import { AggregatorRegistry } from 'prom-client'
import { createMetricsServer } from '../observe/metrics.js'
import { unwrap, wrap } from './messages.js'
import { createTally } from './tally.js'

/** Longer than CLOSE_MAX_MS of server.js, after which a worker exits anyway. */
const STOP_MAX_MS = 12_000
/** Delay before the restart of a dead worker; doubles with each one that dies soon after its start. */
const PAUSE_MIN_MS = 100
const PAUSE_MAX_MS = 10_000
const SETTLED_MS = 60_000

/** @typedef {import('node:cluster').Worker} Worker */
/** @typedef {{number: number, early: number}} Place  early: consecutive workers that died soon after start */

/**
 * Accepts the connections and hands each to one of the workers (this same program) in turn. It does nothing else, so no
 * connection waits for a process that is busy with a page. When it stops, it stops its workers in order; when it dies,
 * they end too.
 * https://nodejs.org/docs/latest-v20.x/api/cluster.html#how-it-works
 * @param {import('../config.js').Config} config
 * @returns {Promise<string>} the address, once all workers listen
 * @throws {Error} when the metrics cannot be served
 */
export async function leadWorkers ({
  WORKERS: count,
  LOG_LEVEL: level,
  METRICS_PORT: metricsPort,
  METRICS_HOST: metricsHost
}) {
  cluster.schedulingPolicy = cluster.SCHED_RR
  const log = pino({ level }, process.stderr)
  const tally = createTally()
  let stopping = false
  /** Whether the first worker listens, and whether all do. */
  let [begun, complete] = [false, false]

  /**
   * A dead worker cannot be messaged, so errors are ignored; its `exit` event is handled elsewhere.
   * @param {Worker} worker
   * @param {import('./messages.js').FromPrimary} message
   */
  const tell = (worker, message) => { worker.send(wrap(message), () => {}) }

  /**
   * @param {Place} place
   * @returns {Promise<string>} resolves with the address once the worker listens; stays pending if it never does
   */
  function start (place) {
    const worker = cluster.fork()
    const startedAt = performance.now()
    const member = { ask: (/** @type {number} */ reading) => tell(worker, { kind: 'count', reading }) }
    /** @type {Promise<string>} */
    const address = new Promise((resolve) => {
      worker.on('message', (raw) => {
        /** @type {import('./messages.js').FromWorker | undefined} */
        const message = unwrap(raw)
        if (message?.kind === 'join') {
          tally.join(member)
          tell(worker, { kind: 'welcome', number: place.number })
          if (stopping) tell(worker, { kind: 'stop' })
        }
        if (message?.kind === 'listening') {
          if (complete) log.warn({ worker: place.number, worker_pid: worker.process.pid }, 'a worker is in its place')
          resolve(message.address)
        }
        if (message?.kind === 'read') {
          const { request, take } = message
          tally.read({ take }).then((reading) => tell(worker, { kind: 'reading', request, reading }))
        }
        if (message?.kind === 'counted') tally.hear(member, message.reading, message.count)
        if (message?.kind === 'leave') tally.leave(member, message.count)
      })
    })
    // Not on `exit`: messages that are already sent arrive until the channel ends.
    worker.on('disconnect', () => tally.lose(member))
    worker.on('exit', (code, signal) => {
      if (stopping) return
      // The first worker has logged the reason, and all others would fail as well, for example on a port that is taken.
      if (!begun) process.exit(code || 1)
      place.early = performance.now() - startedAt < SETTLED_MS ? place.early + 1 : 0
      const pauseMs = Math.min(PAUSE_MAX_MS, PAUSE_MIN_MS * 2 ** Math.max(0, place.early - 1))
      log.error(
        { worker: place.number, worker_pid: worker.process.pid, code, signal },
        `a worker has ended; another one is started in ${pauseMs} ms`
      )
      setTimeout(() => { if (!stopping) start(place) }, pauseMs)
    })
    return address
  }

  const metrics = metricsPort === undefined
    ? undefined
    : createMetricsServer({ registry: allWorkersMetrics() }, { host: metricsHost, port: metricsPort })
  await metrics?.open()

  closeWithGrace({ delay: STOP_MAX_MS, logger: log }, async ({ err }) => {
    stopping = true
    if (err) log.fatal({ err }, 'stopping after an unexpected error')
    await metrics?.close()
    const codes = await Promise.all(Object.values(cluster.workers ?? {}).map(async (worker) => {
      if (worker === undefined) return 0
      const ended = once(worker, 'exit')
      tell(worker, { kind: 'stop' })
      const [code, signal] = await ended
      // SIGTERM kills a worker that has only just started and handles no signals yet.
      return signal === 'SIGTERM' ? 0 : code
    }))
    if (codes.some((code) => code !== 0)) throw new Error('not every worker has ended in order')
  })

  const places = Array.from({ length: count }, (_, index) => ({ number: index + 1, early: 0 }))
  // The first one starts alone, because it may upgrade the database.
  const address = await start(places[0])
  begun = true
  await Promise.all(places.slice(1).map(start))
  complete = true
  return address
}

function allWorkersMetrics () {
  const all = new AggregatorRegistry()
  return { contentType: all.contentType, metrics: () => all.clusterMetrics() }
}
