import { once } from 'node:events'
import { createServer } from 'node:http'
import { performance } from 'node:perf_hooks'
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client'
import { ConfigError } from '../config-error.js'
import { deferredMetrics } from './deferred-metrics.js'
import { mailMetrics } from './mail-metrics.js'
import { purgeLogMetrics } from './purge-log-metrics.js'
import { purgeMetrics, queueMetrics } from './queue-metrics.js'
import { createRequestDurations } from './request-durations.js'
import { wordsMetrics } from './words-metrics.js'

/** @import {Deferred} from './deferred-metrics.js' */
/** @import {ObservedMail} from './mail-metrics.js' */
/** @import {RenderOptions} from '../markdown/renderer.js' */
/** @import {PageStore} from '../pages/store.js' */
/** @import {Queue} from '../queue/queue.js' */
/** @import {Freshest} from './words-metrics.js' */

/** From a cached page to a database that hardly responds. */
const DURATION_BUCKETS_S = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])
/** The default, a sample every 10 ms, takes 1 % of an idle core, and reports the 10 ms as lag. */
const NEVER_MS = 2 ** 31 - 1
const SAMPLED_LAGS = ['min', 'max', 'mean', 'stddev', 'p50', 'p90', 'p99']
  .map((name) => `nodejs_eventloop_lag_${name}_seconds`)
const CONNECTIONS_MAX = 16
const REQUEST_TIMEOUT_MS = 5_000

/** For parts of the wiki that are made after the metrics. @param {Registry} registry */
function additions (registry) {
  const addAll = (/** @type {import('prom-client').Metric[]} */ metrics) =>
    metrics.forEach((metric) => registry.registerMetric(metric))
  return {
    /** @param {Observed} parts */
    addParts: (parts) => addAll(metricsOf(parts)),
    /** @param {Freshest} words */
    addWords: (words) => addAll(wordsMetrics(words)),
    /** @param {Deferred} deferred */
    addDeferred: (deferred) => addAll(deferredMetrics(deferred)),
    /** @param {() => import('./purge-log-metrics.js').LogTraffic} traffic */
    addPurgeLog: (traffic) => addAll(purgeLogMetrics(traffic))
  }
}

/** Labels have few values, whatever clients send. @param {{ping: () => Promise<void>}} database */
export function createMetrics ({ ping }) {
  const registers = [new Registry()]
  const requests = createRequestDurations({
    name: 'wiki_http_request_duration_seconds', help: 'How long requests took to answer', buckets_s: DURATION_BUCKETS_S
  })
  registers[0].registerMetric(/** @type {import('prom-client').Metric} */ (/** @type {unknown} */ (requests)))
  const renders = new Histogram({
    registers,
    name: 'wiki_render_duration_seconds',
    help: 'How long texts took to become HTML, waiting included',
    buckets: DURATION_BUCKETS_S
  })
  const saves = new Counter({
    registers,
    name: 'wiki_saves_total',
    help: 'Changes of pages that were made',
    labelNames: ['kind']
  })
  const conflicts = new Counter({
    registers,
    name: 'wiki_conflicts_total',
    help: 'Changes of pages that were refused because the page was not as the author expected it'
  })
  registers[0].registerMetric(databaseGauge(ping))
  for (const kind of CHANGES) saves.inc({ kind }, 0)

  return {
    registry: registers[0],

    addProcess () {
      collectDefaultMetrics({ register: registers[0], eventLoopMonitoringPrecision: NEVER_MS })
      for (const name of SAMPLED_LAGS) registers[0].removeSingleMetric(name)
      registers[0].registerMetric(activeLoopCounter())
    },

    ...additions(registers[0]),

    /** @type {import('./request-log.js').Note} */
    observe ({ method = '' }, route, status, durationMs) {
      requests.observe(route ?? 'none', METHODS.has(method) ? method : 'other', status, durationMs / 1000)
    },

    /**
     * @template {{render: (markdown: string, options?: RenderOptions) => Promise<any>}} Renderer
     * @param {Renderer} renderer @returns {Renderer}
     */
    timed: (renderer) => ({
      ...renderer,
      render: async (/** @type {string} */ markdown, /** @type {RenderOptions | undefined} */ options) => {
        const end = renders.startTimer()
        return renderer.render(markdown, options).finally(end)
      }
    }),

    /** @param {PageStore} store @returns {PageStore} */
    counted (store) {
      const counting = CHANGES.map((kind) => [kind, async (/** @type {any[]} */ ...args) => {
        try {
          const result = await /** @type {any} */ (store[kind])(...args)
          saves.inc({ kind })
          return result
        } catch (error) {
          if (isConflict(error)) conflicts.inc()
          throw error
        }
      }])
      return { ...store, ...Object.fromEntries(counting) }
    }
  }
}

/** @typedef {ReturnType<typeof createMetrics>} Metrics */

/** @param {() => Promise<void>} ping */
const databaseGauge = (ping) => new Gauge({
  registers: [],
  name: 'wiki_database_up',
  help: 'Whether the database answers',
  async collect () {
    this.set(await ping().then(() => 1, () => 0))
  }
})

/**
 * @typedef {{redis?: {state: () => {available: boolean}}, queue: Pick<Queue, 'state'>, mail?: ObservedMail,
 *   purges?: Parameters<typeof purgeMetrics>[0]}} Observed
 * @param {Observed} parts
 */
const metricsOf = ({ redis, queue, mail, purges }) => [
  ...queueMetrics(queue),
  ...redis ? [redisGauge(redis)] : [],
  ...mail ? mailMetrics(mail) : [],
  ...purges ? purgeMetrics(purges) : []
]

/** @param {{state: () => {available: boolean}}} redis */
const redisGauge = ({ state }) => new Gauge({
  registers: [],
  name: 'wiki_redis_up',
  help: 'Whether Redis answers; while it does not, limits are those of each process',
  collect () {
    this.set(Number(state().available))
  }
})

const activeLoopCounter = () => new Counter({
  registers: [],
  name: 'nodejs_eventloop_active_seconds_total',
  help: 'How long the event loop was not waiting for anything; near 1 a second it is saturated',
  collect () {
    this.reset()
    this.inc(performance.eventLoopUtilization().active / 1000)
  }
})

const CHANGES = /** @type {const} */ (['save', 'remove', 'rename'])

/** @param {any} error */
const isConflict = ({ statusCode }) => statusCode === 409 || statusCode === 412

/**
 * @typedef {{open: () => Promise<void>, close: () => Promise<void>}} MetricsServer
 * @typedef {(metrics: {registry: Registry}, where: {host: string, port: number}) => MetricsServer} ShowMetrics
 */

/**
 * On an address of its own, so that no door of the wiki leads there.
 * @param {{registry: {contentType: string, metrics: () => Promise<string>}}} metrics
 * @param {{host: string, port: number}} where
 */
export function createMetricsServer ({ registry }, { host, port }) {
  const server = createServer(
    { requestTimeout: REQUEST_TIMEOUT_MS, headersTimeout: REQUEST_TIMEOUT_MS },
    async (request, response) => {
      if (request.method !== 'GET' || request.url !== '/metrics') {
        return response.writeHead(404, { 'content-type': 'text/plain' }).end('There is only GET /metrics here.\n')
      }
      const text = await registry.metrics().catch(() => null)
      // One of several processes did not respond.
      if (text === null) {
        return response.writeHead(503, { 'content-type': 'text/plain' }).end('Not all of the wiki answers.\n')
      }
      response.writeHead(200, { 'content-type': registry.contentType, 'cache-control': 'no-store' }).end(text)
    }
  )
  server.maxConnections = CONNECTIONS_MAX

  return {
    /** @throws {ConfigError} when it cannot listen there */
    async open () {
      try {
        await once(server.listen(port, host), 'listening')
      } catch (error) {
        throw new ConfigError(
          `METRICS_PORT=${port} cannot be used on METRICS_HOST=${host}: ${/** @type {Error} */ (error).message}; free it, or choose another`
        )
      }
    },
    async close () {
      if (!server.listening) return
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    }
  }
}
