import fp from 'fastify-plugin'
import { createRequestLog } from './request-log.js'

/** @import {FastifyBaseLogger, FastifyPluginAsync} from 'fastify' */
/** @import {FastPath} from '../http/fast-path.js' */
/** @import {Metrics, ShowMetrics} from './metrics.js' */
/** @import {Note} from './request-log.js' */
/** @import {Tracing} from '../tracing/tracing.js' */

const LOGS_REQUESTS = new Set(['info', 'debug', 'trace'])

/**
 * @param {import('../settings.js').Config} config @param {FastifyBaseLogger} log
 * @param {{requestIds: (raw: any) => string, viewRoutes: string[], metrics?: Metrics, tracing?: Tracing}} options
 * @returns {Note | undefined} undefined: log, metrics and traces are off
 */
export function createObserver (config, log, { requestIds, viewRoutes, metrics, tracing }) {
  /** @type {Note[]} */
  const notes = []
  if (LOGS_REQUESTS.has(config.LOG_LEVEL)) {
    notes.push(createRequestLog(log, { idOf: requestIds, viewRoutes, viewsPerS: config.LOG_VIEWS_PER_S }))
  }
  if (metrics) notes.push(metrics.observe)
  if (tracing) notes.push(tracing.observe)
  if (notes.length === 0) return undefined
  return (request, route, status, durationMs) => { for (const note of notes) note(request, route, status, durationMs) }
}

export const observation = fp(
  /**
   * @typedef {{observe?: Note, fastPath: Pick<FastPath<any>, 'leadOf'>, metrics?: Metrics, showMetrics?: ShowMetrics}}
   *   Observers
   * @type {FastifyPluginAsync<Observers & {host: string, port?: number}>}
   */
  async function observation (app, { observe, fastPath, metrics, showMetrics, host, port }) {
    if (metrics && showMetrics && port !== undefined) {
      metrics.addProcess()
      const server = showMetrics(metrics, { host, port })
      app.addHook('onReady', server.open)
      app.addHook('onClose', server.close)
    }
    if (!observe) return
    app.addHook('onResponse', (request, reply, done) => {
      const durationMs = fastPath.leadOf(request.raw) + reply.elapsedTime
      observe(request, request.routeOptions.url ?? null, reply.statusCode, durationMs)
      done()
    })
  }
)
