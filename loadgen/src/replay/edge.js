import { randomBytes } from 'node:crypto'
import path from 'node:path'
import { prepareRole } from '@stevec/nginx'
import { isAlive, logTail, startProcess, stopProcess, waitUntil } from '@stevec/harness/processes'
import { request } from '@stevec/harness/request'
import { nginxModulesDirectory, requireTool } from '@stevec/harness/tools/locate'

const READY_TIMEOUT_MS = 60_000

/**
 * Starts an edge with an empty cache on 127.0.0.1, and waits until it answers.
 * @param {object} options
 * @param {string} options.directory  an empty folder of its own
 * @param {{port: number, controlPort: number, originPort: number}} options.ports
 * @param {string} options.readyPath  that the origin answers
 * @param {string} [options.follow]  path of the purge log
 * @param {AbortSignal} options.signal
 * @returns {Promise<{control: {url: string, token: string}, stop: () => Promise<void>}>}
 * @throws {Error} when nginx is missing or does not start, or the reason of the signal
 */
export async function startEdge ({ directory, ports, readyPath, follow, signal }) {
  const nginx = requireTool('nginx').path
  const control = { url: `http://127.0.0.1:${ports.controlPort}`, token: randomBytes(16).toString('hex') }
  const prepared = await prepareRole({
    role: 'edge',
    profile: 'rfc9111',
    port: ports.port,
    origin: { addresses: ['127.0.0.1'], port: ports.originPort, host: '127.0.0.1', tls: false },
    controlPort: ports.controlPort,
    controlToken: control.token,
    follow
  }, { directory, binary: nginx, modulesDirectory: nginxModulesDirectory(nginx) ?? '' })
  const [logFile, errorFile] = ['nginx.log', 'error.log'].map((name) => path.join(directory, name))
  const edge = await startProcess({ name: 'nginx edge', command: prepared.command, args: prepared.args, logFile })
  const answers = () => request(`http://127.0.0.1:${ports.port}${readyPath}`).then(({ status }) => status === 200,
    () => false)
  const ended = () => signal.aborted || !isAlive(edge)
  const up = await waitUntil(async () => ended() || await answers(), READY_TIMEOUT_MS)
  if (!up || ended()) {
    await stopProcess(edge)
    signal.throwIfAborted()
    throw new Error(`the edge did not start:\n${logTail(errorFile) || logTail(logFile)}`)
  }
  return { control, stop: () => stopProcess(edge) }
}
