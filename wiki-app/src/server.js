import cluster from 'node:cluster'
import closeWithGrace from 'close-with-grace'
import { buildApp } from './app.js'
import { ConfigError, readConfig } from './config.js'
import { createReadiness } from './http/readiness.js'
import { keepTickShape } from './process/tick-shape.js'

/** @import {Config} from './settings.js' */

/** Withdrawing takes 3 s, closing 10 s. */
const STOP_MAX_MS = 13_000
/**
 * Connections that the kernel keeps until the wiki accepts them; `net.core.somaxconn` may be less (listen(2)). With
 * Node's 511, the kernel turns some of a thousand visitors at once away, and nginx gives up on them after 5 s.
 */
const LISTEN_BACKLOG = 4096
const STOP_SIGNALS = /** @type {('SIGHUP' | 'SIGINT' | 'SIGQUIT' | 'SIGTERM')[]} */ (
  ['SIGHUP', 'SIGINT', 'SIGQUIT', 'SIGTERM'])

keepTickShape()
try {
  const config = readConfig()
  if (config.WORKERS === 1) printListening(await serve(config))
  else if (cluster.isPrimary) printListening(await (await import('./process/primary.js')).leadWorkers(config))
  else await serveAsWorker(config)
} catch (error) {
  process.stderr.write(`wiki: ${explain(error)}\n`)
  process.exit(1)
}

/** @param {Config} config @returns {Promise<string>} the address */
async function serve (config) {
  const readiness = createReadiness()
  const app = await buildApp(config, { purge: await purgeOf(config) }, { readiness })
  closeWithGrace({ delay: STOP_MAX_MS, logger: app.log }, async ({ err }) => {
    if (err) app.log.fatal({ err }, 'stopping after an unexpected error')
    else await readiness.withdraw(app.server)
    await app.close()
  })
  return app.listen({ host: config.HOST, port: config.PORT, backlog: LISTEN_BACKLOG })
}

/** Stopped by the primary, a signal, or both (Ctrl-C). @param {Config} config */
async function serveAsWorker (config) {
  const { joinPrimary, shareMetrics, reportListening } = await import('./process/worker.js')
  const { number, counter, processes, leave, onStop } = await joinPrimary()
  const readiness = createReadiness({ workers: config.WORKERS })
  const worker = { number, primary: process.ppid }
  const shared = { counter, processes, readiness, showMetrics: shareMetrics(number), worker }
  const app = await buildApp(config, { purge: await purgeOf(config) }, shared)
  const { close } = closeWithGrace({ delay: STOP_MAX_MS, logger: app.log, skip: STOP_SIGNALS }, async ({ err }) => {
    if (err) app.log.fatal({ err }, 'stopping after an unexpected error')
    else await readiness.withdraw(app.server)
    await app.close()
    await leave()
  })
  let stopping = false
  const stop = () => {
    if (!stopping) close()
    stopping = true
  }
  onStop(stop)
  for (const signal of STOP_SIGNALS) process.on(signal, stop)
  reportListening(await app.listen({ host: config.HOST, port: config.PORT, backlog: LISTEN_BACKLOG }))
}

/** @param {string} address */
function printListening (address) {
  process.stdout.write(`wiki listening on ${address}\n`)
}

/** @param {Config} config */
async function purgeOf ({ PURGE_ZONE: zoneId, PURGE_URL: apiUrls, PURGE_TOKEN: token, PUBLIC_URL: publicUrl }) {
  if (zoneId === undefined || token === undefined || publicUrl === undefined) return undefined
  // The SDK is large.
  const { createPurgeOf, parseApiUrl } = await import('@stevec/cdn/wiki')
  // Normalised: wikis whose settings spell it differently share a queue.
  const [first, ...others] = apiUrls?.split(',').map((url) => parseApiUrl(url)) ?? [undefined]
  const purge = (/** @type {string | undefined} */ apiUrl) => createPurgeOf({ zoneId, apiUrl, token, publicUrl })
  if (first === undefined || others.length === 0) return purge(first)
  return Object.fromEntries(await Promise.all([first, ...others].map(async (apiUrl) =>
    [apiUrl, await purge(apiUrl)])))
}

/** One line for what the operator can fix, the stack for a bug. @param {any} error */
function explain (error) {
  if (error instanceof ConfigError) return error.message
  if (error.code === 'EADDRINUSE') {
    return `port ${error.port} on ${error.address} is already in use; free it, or choose another with PORT (0 takes any free one)`
  }
  if (['listen', 'bind', 'getaddrinfo'].includes(error.syscall)) {
    return `cannot listen: ${error.message}; see HOST and PORT`
  }
  return error.stack
}
