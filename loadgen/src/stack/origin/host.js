import { sshArguments } from '@stevec/arm-image/board'
import { sshAddress } from '../../remote/ssh-address.js'
import { UsageError } from '../../usage-error.js'
import { createRemoteOrigin, inspectHost } from './remote.js'

const HTTP_PORT = 80
const LOOPBACK = ['127.0.0.1', 'localhost', '[::1]']

/** @typedef {{user: string, host: string, sshPort: number, httpPort: number}} Host */

/**
 * @param {string} text  ssh://[user@]host[:port][?http_port=N]
 * @returns {Host}
 * @throws {UsageError}
 */
export function parseHost (text) {
  const refuse = () => new UsageError(`--origin ${text} is not ssh://[user@]host[:port], with ?http_port=N where nginx does not answer on port ${HTTP_PORT}`)
  const address = sshAddress(text)
  if (address === null) throw refuse()
  const { user, host, port, parameters } = address
  const httpPort = Number(parameters.get('http_port') ?? HTTP_PORT)
  const wrong = [...parameters.keys()].some((name) => name !== 'http_port') ||
    !Number.isInteger(httpPort) ||
    httpPort < 1 ||
    httpPort > 65_535
  if (wrong) throw refuse()
  return { user: user ?? 'root', host, sshPort: port ?? 22, httpPort }
}

/**
 * Opens a real board, or any machine set up as one, over ssh with the user's own keys and settings.
 * @param {Host} host
 * @param {import('./origin.js').OpenOptions} options
 * @returns {Promise<import('./origin.js').Origin>}
 * @throws {UsageError} without a database that it reaches
 * @throws {import('./origin-error.js').OriginError} when it cannot be used
 */
export async function openHost ({ user, host, sshPort, httpPort }, { config, onProgress }) {
  if (config.mongodbUri === undefined || LOOPBACK.includes(new URL(config.mongodbUri).hostname)) {
    throw new UsageError(
      'an origin on another machine needs a database that both machines reach: set MONGODB_URI to its address'
    )
  }
  const ssh = sshArguments({ user, host: host.replace(/^\[|\]$/g, ''), port: sshPort })
  onProgress(`looking at ${user}@${host} …`)
  const { failedUnits, ...found } = await inspectHost(ssh)
  if (failedUnits.length > 0) onProgress(`on ${host} these have failed: ${failedUnits.join(', ')}`)
  return createRemoteOrigin({
    facts: { kind: 'ssh', ...found, image_sha256: null },
    address: `${host}:${httpPort}`,
    ssh,
    seenFromThere: (uri) => uri,
    inherited: config.wikiEnvironment,
    booted: false,
    close: async () => {}
  })
}
