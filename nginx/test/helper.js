import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import http from 'node:http'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { prepareRole } from '@stevec/nginx'
import { freePorts } from '@stevec/harness/ports'
import { startProcess, stopProcess, waitUntil } from '@stevec/harness/processes'
import { request } from '@stevec/harness/request'
import { nginxModulesDirectory, requireTool } from '@stevec/harness/tools/locate'

export const TOKEN = 'a-token-for-this-test'
/** Far longer than any wait here needs, for slow and busy machines. */
export const WAIT_MAX_MS = 60_000

/**
 * Starts a role on a real nginx in front of a scripted origin.
 * @param {'origin' | 'edge' | 'local'} role
 * @param {http.RequestListener} origin
 * @param {{requestsAtOnceMax?: number, others?: number[], tls?: import('@stevec/nginx').Tls}} [options]
 *   requestsAtOnceMax and others, the ports of more wikis: of the role origin
 */
export async function startRole (role, origin, { requestsAtOnceMax, others = [], tls } = {}) {
  const directory = mkdtempSync(path.join(tmpdir(), `stevec-nginx-${role}-`))
  const [port, originPort, controlPort] = await freePorts(3)
  /** @type {http.IncomingMessage[]} */
  const arrived = []
  const server = http.createServer((incoming, response) => {
    arrived.push(incoming)
    origin(incoming, response)
  })
  await new Promise((resolve) => server.listen(originPort, '127.0.0.1', () => resolve(undefined)))

  const common = { port, controlPort, controlToken: TOKEN, tls }
  const parameters = {
    origin: /** @type {const} */ ({
      role: 'origin',
      port,
      wikiPort: /** @type {number[]} */ ([originPort, ...others]),
      requestsAtOnceMax,
      tls
    }),
    edge: /** @type {const} */ ({
      ...common,
      role: 'edge',
      publicPort: port,
      originPort,
      cachedHost: 'wiki.localhost',
      nocacheHost: 'nocache.localhost'
    }),
    local: /** @type {const} */ ({ ...common, role: 'local', sourcePort: originPort, sourceHost: 'source.localhost' })
  }[role]
  const binary = requireTool('nginx').path
  const prepared = await prepareRole(
    parameters,
    { directory, binary, modulesDirectory: nginxModulesDirectory(binary) ?? '' }
  ).catch((error) => {
    server.close()
    rmSync(directory, { recursive: true, force: true })
    throw error
  })
  const nginx = await startProcess({
    name: `nginx ${role}`,
    command: prepared.command,
    args: prepared.args,
    logFile: path.join(directory, 'nginx.log')
  })
  const logFile = path.join(directory, 'access.log')
  const url = (/** @type {string} */ host) => `http://${host}:${port}`
  // A plain request to a door with TLS gets a 400.
  await waitUntil(() => request(`${url('nobody.localhost')}/`).then(() => true, () => false), WAIT_MAX_MS)
  arrived.length = 0

  return {
    arrived,
    url,
    control: { url: `http://127.0.0.1:${controlPort}`, token: TOKEN },
    /**
     * Waits for `count` lines of a path in the access log and returns them: nginx writes a line after it has sent
     * the response.
     * @param {string} path
     * @param {number} count
     */
    async log (path, count) {
      const lines = () => readFileSync(logFile, 'utf8')
        .split('\n')
        .slice(0, -1)
        .map((line) => JSON.parse(line))
        .filter(({ uri }) => uri.startsWith(path))
      await waitUntil(() => lines().length >= count, WAIT_MAX_MS)
      return lines()
    },
    /** nginx's error log. */
    errors: () => readFileSync(path.join(directory, 'error.log'), 'utf8'),
    async stop () {
      await stopProcess(nginx)
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
      rmSync(directory, { recursive: true, force: true })
    }
  }
}

/**
 * @param {string} url
 * @param {Parameters<typeof import('@stevec/harness/request').request>[1]} [options]
 * @returns {Promise<string>} the cache status of the response
 */
export async function cacheStatus (url, options) {
  const { headers } = await request(url, options)
  return String(headers['cf-cache-status'] ?? headers['x-cache-status'] ?? '')
}
