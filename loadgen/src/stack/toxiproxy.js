import { requireTool } from '../tools/locate.js'
import { startProcess, waitUntil } from './processes.js'

const READY_TIMEOUT_MS = 60_000

/**
 * A link between two hops: what connects to `listen` reaches `upstream` (ports of 127.0.0.1). It carries bytes unchanged until a
 * profile gives it a latency or a bandwidth.
 * @typedef {{name: string, listen: number, upstream: number}} Link
 */

/**
 * Starts toxiproxy with one proxy for each link. https://github.com/Shopify/toxiproxy#http-api
 * @param {object} options
 * @param {Link[]} options.links
 * @param {number} options.port  of its own HTTP API
 * @param {string} options.logFile
 * @param {boolean} options.outlive  see startProcess
 * @param {(identity: import('./processes.js').ProcessIdentity) => void} options.onStart  called before it is ready, so that nothing started is forgotten
 * @throws {Error} when it does not come up, or refuses a link
 */
export async function startToxiproxy ({ links, port, logFile, outlive, onStart }) {
  const tool = requireTool('toxiproxy')
  const toxiproxy = await startProcess({ name: 'toxiproxy', command: tool.path, args: ['-host', '127.0.0.1', '-port', String(port)], logFile, outlive })
  onStart(toxiproxy)
  const api = `http://127.0.0.1:${port}`
  const up = await waitUntil(() => fetch(`${api}/version`).then((response) => response.ok, () => false), READY_TIMEOUT_MS)
  if (!up) throw new Error(`toxiproxy did not answer on port ${port} within ${READY_TIMEOUT_MS / 1000} s; its log is ${logFile}`)
  const response = await fetch(`${api}/populate`, {
    method: 'POST',
    body: JSON.stringify(links.map((link) => ({ name: link.name, listen: `127.0.0.1:${link.listen}`, upstream: `127.0.0.1:${link.upstream}`, enabled: true })))
  })
  if (!response.ok) throw new Error(`toxiproxy refused the links: ${await response.text()}`)
}
