import { readConfig } from './config.js'
import { requireTool } from './tools/locate.js'
import { startProcess, waitUntil } from './processes.js'

const READY_TIMEOUT_MS = 60_000

/** Long enough: toxiproxy's API is on loopback and waits only for a lock. */
const API_TIMEOUT_MS = 10_000

/**
 * @typedef {object} Toxic  as toxiproxy's HTTP API takes it
 * @property {string} name
 * @property {'latency' | 'handshake' | 'uplink' | 'timeout'} type
 * @property {'upstream' | 'downstream'} stream
 * @property {Record<string, unknown>} attributes
 */

/**
 * A link between two hops: forwards connections to 127.0.0.1:`listen` to `upstream` (host:port). It changes nothing
 * until a profile sets a latency or a bandwidth.
 * @typedef {{name: string, listen: number, upstream: string}} Link
 */

/**
 * Starts toxiproxy (with the toxics of harness/links) and one proxy for each link.
 * https://github.com/Shopify/toxiproxy#http-api
 * @param {object} options
 * @param {Link[]} options.links
 * @param {number} options.port  of its own HTTP API
 * @param {string} options.logFile
 * @param {boolean} options.outlive  see startProcess
 * @param {(identity: import('./processes.js').ProcessIdentity) => void} options.onStart  called before toxiproxy is
 *   ready, so that the caller can record it at once and stop it later
 * @returns {Promise<string>} the base URL of its API
 * @throws {Error} when toxiproxy does not start or refuses a link
 */
export async function startToxiproxy ({ links, port, logFile, outlive, onStart }) {
  const tool = requireTool('toxiproxy')
  const toxiproxy = await startProcess({
    name: 'toxiproxy',
    command: tool.path,
    args: ['-host', '127.0.0.1', '-port', String(port)],
    logFile,
    outlive,
    env: readConfig().systemEnvironment
  })
  onStart(toxiproxy)
  const api = `http://127.0.0.1:${port}`
  const up = await waitUntil(
    () => fetch(`${api}/version`).then((response) => response.ok, () => false),
    READY_TIMEOUT_MS
  )
  if (!up) {
    throw new Error(`toxiproxy did not answer on port ${port} within ${READY_TIMEOUT_MS / 1000} s; its log is ${logFile}`)
  }
  await createLinks(api, links)
  return api
}

/**
 * @param {string} api  of a toxiproxy that knows none of them
 * @param {Link[]} links
 * @throws {Error} when toxiproxy refuses a link
 */
export async function createLinks (api, links) {
  const response = await fetch(`${api}/populate`, {
    method: 'POST',
    body: JSON.stringify(links.map((link) => ({
      name: link.name,
      listen: `127.0.0.1:${link.listen}`,
      upstream: link.upstream,
      enabled: true
    })))
  })
  if (!response.ok) throw new Error(`toxiproxy refused the links: ${await response.text()}`)
}

/**
 * Removes all toxics of all links, then adds these in their order.
 * @param {string} api  as startToxiproxy returned it
 * @param {Partial<Record<string, Toxic[]>>} toxics  by link
 * @throws {Error} when toxiproxy refuses one
 */
export async function replaceToxics (api, toxics) {
  await call(api, 'POST', '/reset', {})
  for (const [link, list] of Object.entries(toxics)) {
    for (const toxic of list ?? []) await addToxic(api, link, toxic)
  }
}

/**
 * Adds a toxic to those of a link, for connections that are open, too.
 * @param {string} api  as startToxiproxy returned it
 * @param {string} link
 * @param {Toxic} toxic
 * @throws {Error} when toxiproxy refuses it
 */
export const addToxic = (api, link, toxic) =>
  call(api, 'POST', `/proxies/${link}/toxics`, { ...toxic, toxicity: 1 })

/**
 * @param {string} api  as startToxiproxy returned it
 * @param {string} link
 * @param {string} name  of the toxic
 * @throws {Error} when the link has no such toxic
 */
export const removeToxic = (api, link, name) => call(api, 'DELETE', `/proxies/${link}/toxics/${name}`)

/**
 * @param {string} api
 * @param {'POST' | 'DELETE'} method
 * @param {string} path
 * @param {unknown} [body]
 */
async function call (api, method, path, body) {
  const response = await fetch(`${api}${path}`, {
    method,
    body: body === undefined ? undefined : JSON.stringify(body),
    signal: AbortSignal.timeout(API_TIMEOUT_MS)
  })
  if (!response.ok) throw new Error(`toxiproxy refused ${path}: ${await response.text()}`)
}
