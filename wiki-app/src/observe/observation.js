import fp from 'fastify-plugin'
import { createRequestLog } from './request-log.js'

const LOGS_REQUESTS = new Set(['info', 'debug', 'trace'])

/** @typedef {import('./request-log.js').Note} Note */

/**
 * @param {import('../config.js').Config} config
 * @param {import('fastify').FastifyBaseLogger} log
 * @param {object} options
 * @param {(raw: any) => string} options.requestIds
 * @param {string} options.viewRoute
 * @param {import('./metrics.js').Metrics} [options.metrics]
 * @returns {Note | undefined} records each response in the request log and the metrics; undefined if both are off
 */
export function createObserver (config, log, { requestIds, viewRoute, metrics }) {
  /** @type {Note[]} */
  const notes = []
  if (LOGS_REQUESTS.has(config.LOG_LEVEL)) {
    notes.push(createRequestLog(log, { idOf: requestIds, viewRoute, viewsPerS: config.LOG_VIEWS_PER_S }))
  }
  if (metrics) notes.push(metrics.observe)
  if (notes.length === 0) return undefined
  return (request, route, status, durationMs) => { for (const note of notes) note(request, route, status, durationMs) }
}

/** Observes the responses of the framework, and serves the metrics on a port of their own. */
export const observation = fp(
  /**
   * @type {import('fastify').FastifyPluginAsync<{
   *   observe?: Note,
   *   fastPath: Pick<import('../http/fast-path.js').FastPath<any>, 'leadOf'>,
   *   metrics?: import('./metrics.js').Metrics,
   *   showMetrics?: import('./metrics.js').ShowMetrics,
   *   host: string,
   *   port?: number
   * }>}
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
