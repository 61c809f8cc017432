import closeWithGrace from 'close-with-grace'
import { buildApp } from './app.js'
import { ConfigError, readConfig } from './config.js'

const CLOSE_MAX_MS = 10_000

try {
  const config = readConfig()
  const app = await buildApp(config, { purge: await purgeOf(config) })
  closeWithGrace({ delay: CLOSE_MAX_MS, logger: app.log }, async ({ err }) => {
    if (err) app.log.fatal({ err }, 'stopping after an unexpected error')
    await app.close()
  })
  const address = await app.listen({ host: config.HOST, port: config.PORT })
  process.stdout.write(`wiki listening on ${address}\n`)
} catch (error) {
  process.stderr.write(`wiki: ${explain(error)}\n`)
  process.exit(1)
}

/**
 * The way to the caches in front, which the wiki itself knows nothing about.
 * @param {import('./config.js').Config} config
 */
async function purgeOf ({ PURGE_ZONE: zoneId, PURGE_URL: apiUrl, PURGE_TOKEN: token, PUBLIC_URL: publicUrl }) {
  if (zoneId === undefined || token === undefined || publicUrl === undefined) return undefined
  // Loaded only where there is a CDN: the SDK is large.
  const { createPurgeOf } = await import('@stevec/cdn/wiki')
  return createPurgeOf({ zoneId, apiUrl, token, publicUrl })
}

/**
 * One line for what the person who starts the wiki can mend, everything there is to know for what is our own mistake.
 * @param {any} error
 */
function explain (error) {
  if (error instanceof ConfigError) return error.message
  if (error.code === 'EADDRINUSE') return `port ${error.port} on ${error.address} is already in use; free it, or choose another with PORT (0 takes any free one)`
  if (error.syscall === 'listen' || error.syscall === 'getaddrinfo') return `cannot listen: ${error.message}; see HOST and PORT`
  return error.stack
}
