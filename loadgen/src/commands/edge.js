import { randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import path from 'node:path'
import { findNginx, prepareRole } from '@stevec/nginx'
import { readConfig } from '../config.js'
import { tryLock } from '@stevec/harness/lock'
import { request } from '@stevec/harness/request'
import { freePorts } from '@stevec/harness/ports'
import { isAlive, logTail, startProcess, stopProcess, waitUntil } from '@stevec/harness/processes'
import { nginxModulesDirectory, requireTool } from '@stevec/harness/tools/locate'
import { EXIT } from '../exit-codes.js'
import { readEdgeOptions } from './edge-options.js'
import { interruptSignal, refuseMore } from './options.js'

const READY_TIMEOUT_MS = 15_000
/** After an edge is killed, its nginx gets a SIGTERM from the kernel and needs this time to end. */
const ENDING_TIMEOUT_MS = 5_000

/** @type {import('../cli.js').Command} */
export const command = {
  summary: 'put the emulated CDN edge in front of any HTTP application',
  help: `Usage: stevec edge --origin URL [options]

Starts a cache in front of any HTTP application. It behaves like Cloudflare's edge (CF-Cache-Status,
Cache-Tag, purge API) with a Cache Rule that makes every GET eligible; with --profile rfc9111 it
follows the HTTP caching standard. Runs until Ctrl-C.

  --origin URL         http or https with host and port only; the addresses of the host are
                       resolved once and tried in turn
  --origin-ca FILE     certificates (PEM) to trust for an https origin, instead of the system's
  --listen HOST:PORT   default 127.0.0.1:8080
  --tls-cert FILE      https for clients, with HTTP/2: the certificate and the intermediate
                       ones (PEM), such as an ACME client's fullchain.pem
  --tls-key FILE       its private key (PEM)
  --no-http2           HTTP/1.1 only
  --profile NAME       cloudflare (default) or rfc9111
  --cache-name NAME    its name in Cache-Status (RFC 9211), which rfc9111 sends; default stevec-edge
  --assume-no-vary-search TEXT
                       of responses without No-Vary-Search: key-order ignores the order of query
                       parameters, params=("utm_source" "gclid") these parameters
  --cache DIR          folder of one running edge, with stored responses (answers/), logs and
                       control.json; default .stevec/edge-PORT
  --cold               begins with an empty cache; by default a start finds what was stored before,
                       unless the machine, the origin, the profile or the edge itself is another one
  --workers N          processes of the edge, 1 to 64, or auto (default): one for each core
  --no-compression     passes responses on as the origin encodes them; by default the edge sends
                       stored text by br, zstd or gzip, and by the client's dictionary (RFC 9842)
  --max-size SIZE      of stored responses, in bytes or with k, m, g: 500m, 2g (default 1g)
  --follow PATH        the purge log of a wiki with CACHE_POLICY=bounded, /purge-log: the edge shows
                       no page that is older than the wiki's bound, also when messages are lost
  --plan free          refuses purge calls beyond the limits of that plan (429)
  --control-port N     of the purge API, on 127.0.0.1 (default a free one)
  --json               addresses and token as one line of JSON

The purge API has the form of Cloudflare's. Its address and token are printed, and stored in
control.json in the folder of --cache. A purge that fails while the edge is down has to be sent
again once it runs, as the wiki does; otherwise start it with --cold.

Simultaneous requests for one URL share a fetch, also in several workers. docs/edge-speed.md says
how fast the edge is. A folder DIR/answers that no edge has made (see its CACHEDIR.TAG) is an
error. After kill -HUP $(cat DIR/nginx.pid) it uses a renewed certificate, and the cache stays.

Exit code: 0 stopped by Ctrl-C, 2 wrong usage, 3 nginx did not start or ended, 130 stopped by
Ctrl-C before it was ready.

Examples:
  stevec edge --origin http://127.0.0.1:3000
  stevec edge --origin https://example.org --listen 127.0.0.1:9000 --profile rfc9111
  stevec edge --origin https://staging.internal:8443 --origin-ca staging-ca.pem --max-size 200m
  stevec edge --origin 'http://[::1]:3000'
  stevec edge --origin http://127.0.0.1:3000 --follow /purge-log
  stevec edge --origin http://127.0.0.1:3000 --listen 0.0.0.0:443 \\
    --tls-cert fullchain.pem --tls-key privkey.pem
  curl -X POST -H "Authorization: Bearer $TOKEN" --data '{"purge_everything":true}' \\
    $CONTROL/client/v4/zones/any/purge_cache`,
  options: {
    origin: { type: 'string' },
    'origin-ca': { type: 'string' },
    listen: { type: 'string' },
    profile: { type: 'string' },
    'cache-name': { type: 'string' },
    'assume-no-vary-search': { type: 'string' },
    cache: { type: 'string' },
    cold: { type: 'boolean' },
    'no-compression': { type: 'boolean' },
    workers: { type: 'string' },
    'max-size': { type: 'string' },
    'tls-cert': { type: 'string' },
    'tls-key': { type: 'string' },
    'no-http2': { type: 'boolean' },
    follow: { type: 'string' },
    plan: { type: 'string' },
    'control-port': { type: 'string' },
    json: { type: 'boolean' }
  },
  async run ({ values, positionals }) {
    refuseMore(positionals, 0)
    const { options, controlPort: wantedPort } = await readEdgeOptions(values)
    const { port, listenAddress: host, profile, tls } = options
    const nginx = requireTool('nginx')
    const signal = interruptSignal()

    const directory = path.resolve(values.cache ?? path.join(readConfig().stateDirectory, `edge-${port}`))
    const release = await takeFolder(directory, signal)
    try {
      const controlPort = wantedPort ?? (await freePorts(1, [port]))[0]
      const control = { url: `http://127.0.0.1:${controlPort}`, token: randomBytes(16).toString('hex') }
      const prepared = await prepareRole(
        { role: 'edge', controlPort, controlToken: control.token, ...options },
        { directory, binary: nginx.path, modulesDirectory: nginxModulesDirectory(nginx.path) ?? '' }
      )
      const url = `${tls ? 'https' : 'http'}://${host.includes(':') ? `[${host}]` : host}:${port}`
      return await serve(prepared, { directory, url, controlPort, signal }, () => {
        const addresses = JSON.stringify({ url, profile, control }, null, 2)
        writeFileSync(path.join(directory, 'control.json'), `${addresses}\n`, { mode: 0o600 })
        process.stdout.write(values.json
          ? `${JSON.stringify({ url, profile, directory, control })}\n`
          : [
              `${url}/ → ${values.origin} (${profile})`,
              `purge: ${control.url}/client/v4/zones/any/purge_cache`,
              `token: ${control.token}`,
              `log:   ${path.join(directory, 'access.log')}\n`
            ].join('\n'))
        if (options.follow !== undefined) warnWithoutLog(new URL(options.follow, values.origin).href, values['origin-ca'])
      })
    } finally {
      release()
    }
  }
}

/**
 * Says that there is no log to follow. The edge goes on asking for one.
 * @param {string} url @param {string} [caFile]
 */
async function warnWithoutLog (url, caFile) {
  const status = await request(url, { caFile }).then((answer) => answer.status, () => 200)
  if (status === 200) return
  process.stderr.write(`warning: ${url} answers ${status}, and a wiki with CACHE_POLICY=bounded has its purge log ` +
    'there; until it has, the edge asks for each of its pages\n')
}

/**
 * Runs the edge until an interrupt.
 * @param {Awaited<ReturnType<typeof prepareRole>>} prepared
 * @param {{directory: string, url: string, controlPort: number, signal: AbortSignal}} edge
 * @param {() => void} onReady
 * @returns {Promise<number>} the exit code of the command
 * @throws {Error} when nginx does not start, or ends by itself
 */
async function serve ({ command: nginx, args }, { directory, url, controlPort, signal }, onReady) {
  const [logFile, errorFile] = ['nginx.log', 'error.log'].map((name) => path.join(directory, name))
  const edge = await startProcess({ name: 'nginx edge', command: nginx, args, logFile })
  try {
    const open = await waitUntil(() => signal.aborted || !isAlive(edge) || accepts(controlPort), READY_TIMEOUT_MS)
    if (signal.aborted) return EXIT.interrupted
    if (!open || !isAlive(edge)) {
      throw new Error(`the edge did not start on ${url}:\n${logTail(errorFile) || logTail(logFile)}`)
    }
    onReady()
    const interrupted = new Promise((resolve) => signal.addEventListener('abort', () => resolve('interrupted')))
    if (await Promise.race([edge.exited, interrupted]) !== 'interrupted') {
      throw new Error(`nginx ended by itself:\n${logTail(errorFile)}`)
    }
    return 0
  } finally {
    await stopProcess(edge)
  }
}

/**
 * Locks a folder for this process: two edges would empty each other's cache.
 * @param {string} directory
 * @param {AbortSignal} signal
 * @returns {Promise<() => void>} releases the lock
 * @throws {Error} when another edge uses the folder
 */
async function takeFolder (directory, signal) {
  const { release, holder } = tryLock(path.join(directory, 'edge.lock'))
  if (release === null) {
    throw new Error(`an edge (process ${holder}) already uses the folder ${directory}: ` +
      `stop it (kill ${holder}), or choose another folder with --cache`)
  }
  // If an old nginx still runs after that, prepareRole refuses the folder.
  await waitUntil(() => signal.aborted || findNginx(directory) === null, ENDING_TIMEOUT_MS)
  return release
}

/** @param {number} port */
function accepts (port) {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1' })
    socket.once('connect', () => { socket.destroy(); resolve(true) })
    socket.once('error', () => resolve(false))
  })
}
