import cluster from 'node:cluster'
import { once } from 'node:events'
import closeWithGrace from 'close-with-grace'
import pino from 'pino'
import { AggregatorRegistry } from 'prom-client'
import { createMetricsServer } from '../observe/metrics.js'
import { forkWorker } from './fork-worker.js'
import { unwrap, wrap } from './messages.js'
import { createTally } from './tally.js'
import { removeSharedFolder } from '../words/folder.js'

/** Longer than STOP_MAX_MS of server.js. */
const WORKERS_STOP_MAX_MS = 14_000
/** Before a dead worker's restart; doubles with each early death. */
const PAUSE_MIN_MS = 100
const PAUSE_MAX_MS = 10_000
const SETTLED_MS = 60_000

/**
 * `earlyExits`: consecutive workers that died soon after start; `since`: its worker runs, null while none does
 * @typedef {{number: number, earlyExits: number, since: Date | null, restarts: number}} Slot
 */

/**
 * Only hands connections to the workers in turn, so none waits for a busy process.
 * https://nodejs.org/docs/latest-v20.x/api/cluster.html#how-it-works
 * @param {import('../settings.js').Config} config @returns {Promise<string>} the address, once all workers listen
 * @throws {Error} when the metrics cannot be served
 */
export async function leadWorkers ({ WORKERS: count, LOG_LEVEL: level, METRICS_PORT: port, METRICS_HOST: host }) {
  cluster.schedulingPolicy = cluster.SCHED_RR
  const log = pino({ level }, process.stderr)
  const tally = createTally()
  const slots = createSlots(count)
  let stopping = false
  let [firstListens, allListen] = [false, false]

  /**
   * @param {Slot} slot
   * @returns {Promise<string>} resolves with the address once the worker listens; stays pending if it never does
   */
  function start (slot) {
    const worker = forkWorker()
    slot.since = new Date()
    const member = { ask: (/** @type {number} */ reading) => send(worker, { kind: 'count', reading }) }
    /** @type {Promise<string>} */
    const address = new Promise((resolve) => {
      worker.on('message', (raw) => {
        /** @type {import('./messages.js').FromWorker | undefined} */
        const message = unwrap(raw)
        if (message?.kind === 'join') {
          tally.join(member)
          send(worker, { kind: 'welcome', number: slot.number })
          if (stopping) send(worker, { kind: 'stop' })
          tell(slots)
        }
        if (message?.kind === 'listening') {
          if (allListen) log.warn({ worker: slot.number, worker_pid: worker.process.pid }, 'a worker has been replaced')
          resolve(message.address)
        }
        if (message?.kind === 'read') {
          const { request, take } = message
          tally.read({ take }).then((reading) => send(worker, { kind: 'reading', request, reading }))
        }
        if (message?.kind === 'counted') tally.report(member, message.reading, message.count)
        if (message?.kind === 'leave') tally.leave(member, message.count)
      })
    })
    // Not on `exit`: messages may still arrive. Not on `disconnect`: Node omits it when a connection is unacknowledged.
    worker.process.once('close', () => tally.lose(member))
    worker.on('exit', (code, signal) => {
      if (stopping) return
      // The reason is logged, and others would fail as well, as on a taken port.
      if (!firstListens) process.exit(code || 1)
      const pauseMs = noteExit(slot)
      tell(slots)
      log.error(
        { worker: slot.number, worker_pid: worker.process.pid, code, signal },
        `a worker has ended; another one is started in ${pauseMs} ms`
      )
      setTimeout(() => { if (!stopping) start(slot) }, pauseMs)
    })
    return address
  }

  const metrics = port === undefined ? undefined : createAllWorkersMetrics({ host, port })
  await metrics?.open()

  closeWithGrace({ delay: WORKERS_STOP_MAX_MS, logger: log }, async ({ err }) => {
    stopping = true
    if (err) log.fatal({ err }, 'stopping after an unexpected error')
    await metrics?.close()
    await stopWorkers()
  })

  // Alone, because it may upgrade the database.
  const address = await start(slots[0])
  firstListens = true
  await Promise.all(slots.slice(1).map(start))
  allListen = true
  return address
}

/**
 * A dead worker cannot be messaged; its `exit` is handled elsewhere.
 * @param {import('node:cluster').Worker} worker @param {import('./messages.js').FromPrimary} message
 */
const send = (worker, message) => { worker.send(wrap(message), () => {}) }

/** @param {number} count @returns {Slot[]} */
const createSlots = (count) =>
  Array.from({ length: count }, (_, index) => ({ number: index + 1, earlyExits: 0, since: null, restarts: 0 }))

/** @param {Slot} slot @returns {number} milliseconds until the next start */
function noteExit (slot) {
  const isEarly = Date.now() - Number(slot.since) < SETTLED_MS
  slot.earlyExits = isEarly ? slot.earlyExits + 1 : 0
  slot.since = null
  slot.restarts++
  return Math.min(PAUSE_MAX_MS, PAUSE_MIN_MS * 2 ** Math.max(0, slot.earlyExits - 1))
}

/** Any worker may have to answer for all, at /status. @param {Slot[]} slots */
function tell (slots) {
  const processes = slots.map(({ number, since, restarts }) =>
    ({ number, since: since?.toISOString() ?? null, restarts }))
  for (const worker of Object.values(cluster.workers ?? {})) {
    if (worker?.isConnected()) send(worker, { kind: 'processes', processes })
  }
}

async function stopWorkers () {
  const codes = await Promise.all(Object.values(cluster.workers ?? {}).map(async (worker) => {
    // Node may list a dead worker for ever, for the same reason as it gets no `disconnect`.
    if (worker === undefined || worker.isDead()) return 0
    const ended = once(worker, 'exit')
    send(worker, { kind: 'stop' })
    const [code, signal] = await ended
    // SIGTERM kills a worker that handles no signals yet.
    return signal === 'SIGTERM' ? 0 : code
  }))
  removeSharedFolder(process.pid)
  if (codes.some((code) => code !== 0)) throw new Error('not every worker has ended in order')
}

/** @param {{host: string, port: number}} where */
function createAllWorkersMetrics (where) {
  const all = new AggregatorRegistry()
  return createMetricsServer({ registry: { contentType: all.contentType, metrics: () => all.clusterMetrics() } }, where)
}
