import { randomBytes } from 'node:crypto'
import { lookup } from 'node:dns/promises'
import { existsSync, writeFileSync } from 'node:fs'
import { connect, isIP } from 'node:net'
import { availableParallelism } from 'node:os'
import path from 'node:path'
import { findNginx, prepareRole } from '@stevec/nginx'
import { parsePort, readConfig } from '../config.js'
import { tryLock } from '@stevec/harness/lock'
import { freePorts } from '@stevec/harness/ports'
import { isAlive, logTail, startProcess, stopProcess, waitUntil } from '@stevec/harness/processes'
import { nginxModulesDirectory, requireTool } from '@stevec/harness/tools/locate'
import { EXIT } from '../exit-codes.js'
import { UsageError } from '../usage-error.js'
import { integerOption, interruptSignal, refuseMore, siteOption } from './options.js'

const READY_TIMEOUT_MS = 15_000
/** After an edge is killed, its nginx gets a SIGTERM from the kernel and needs this time to end. */
const ENDING_TIMEOUT_MS = 5_000
const SIZE_LEAST_BYTES = 1024 ** 2
const UNITS = Object.freeze({ '': 1, k: 1024, m: 1024 ** 2, g: 1024 ** 3, t: 1024 ** 4 })

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
    plan: { type: 'string' },
    'control-port': { type: 'string' },
    json: { type: 'boolean' }
  },
  async run ({ values, positionals }) {
    refuseMore(positionals, 0)
    const { host, port } = parseListen(values.listen ?? '127.0.0.1:8080')
    const profile = values.profile ?? 'cloudflare'
    if (profile !== 'cloudflare' && profile !== 'rfc9111') {
      throw new UsageError(`--profile is cloudflare or rfc9111, not "${profile}"`)
    }
    if (values.plan !== undefined && values.plan !== 'free') {
      throw new UsageError(`--plan can only be free, not "${values.plan}"`)
    }
    const maxSizeBytes = values['max-size'] === undefined ? undefined : parseSize(values['max-size'])
    const tls = parseTls(values['tls-cert'], values['tls-key'], values['no-http2'] ?? false)
    const requestedControlPort = integerOption(values['control-port'], '--control-port', { least: 1, most: 65535 })
    if (values.origin === undefined) {
      throw new UsageError('--origin is missing: the address of the application, such as http://127.0.0.1:3000')
    }
    const origin = await parseOrigin(values.origin, values['origin-ca'])
    const nginx = requireTool('nginx')
    const signal = interruptSignal()

    const directory = path.resolve(values.cache ?? path.join(readConfig().stateDirectory, `edge-${port}`))
    const warm = !values.cold
    const options = {
      port,
      listenAddress: host,
      origin,
      profile,
      plan: values.plan,
      cacheName: values['cache-name'],
      assumedNoVarySearch: values['assume-no-vary-search'],
      maxSizeBytes,
      tls,
      warm,
      compression: !values['no-compression'],
      workers: workersOf(values.workers)
    }
    const release = await takeFolder(directory, signal)
    try {
      const controlPort = requestedControlPort ?? (await freePorts(1, [port]))[0]
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
      })
    } finally {
      release()
    }
  }
}

const WORKERS_MAX = 64

/**
 * @param {string} [text]  --workers
 * @throws {UsageError}
 */
function workersOf (text = 'auto') {
  if (text === 'auto') return Math.min(availableParallelism(), WORKERS_MAX)
  return integerOption(text, '--workers', { least: 1, most: WORKERS_MAX })
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

/**
 * @param {string} text
 * @throws {UsageError}
 */
function parseListen (text) {
  const match = /^(?:(\[[0-9a-f:.]+\]|[^:[\]]+):)?(\d+)$/i.exec(text)
  const host = match?.[1]?.replace(/^\[|\]$/g, '') ?? '127.0.0.1'
  if (match === null || (isIP(host) === 0 && host !== 'localhost')) {
    throw new UsageError(`--listen is an IP address and a port, such as 127.0.0.1:8080, not "${text}"`)
  }
  return { host: host === 'localhost' ? '127.0.0.1' : host, port: parsePort(match[2], '--listen') }
}

/**
 * @param {string} text
 * @returns {number} bytes
 * @throws {UsageError}
 */
function parseSize (text) {
  const match = /^(\d+)([kmgt]?)(?:i?b)?$/i.exec(text)
  const bytes = match ? Number(match[1]) * UNITS[/** @type {keyof typeof UNITS} */ (match[2].toLowerCase())] : NaN
  if (!Number.isSafeInteger(bytes) || bytes < SIZE_LEAST_BYTES) {
    throw new UsageError(`--max-size is a number of bytes with k, m or g, at least 1m, not "${text}"`)
  }
  return bytes
}

/**
 * @param {string | undefined} certificate  file
 * @param {string | undefined} key  file
 * @param {boolean} withoutHttp2
 * @returns {import('@stevec/nginx').Tls | undefined}
 * @throws {UsageError}
 */
function parseTls (certificate, key, withoutHttp2) {
  if (certificate === undefined && key === undefined) {
    if (withoutHttp2) throw new UsageError('--no-http2 is for clients by https: add --tls-cert and --tls-key')
    return undefined
  }
  if (certificate === undefined || key === undefined) {
    throw new UsageError('--tls-cert and --tls-key belong together: add the missing one')
  }
  for (const [option, file] of [['--tls-cert', certificate], ['--tls-key', key]]) {
    if (!existsSync(file)) throw new UsageError(`${option}: there is no file ${file}`)
  }
  return { certificate: path.resolve(certificate), key: path.resolve(key), http2: !withoutHttp2 }
}

/**
 * Looks the host up once, at the start: nginx's resolver does not read /etc/hosts.
 * @param {string} text
 * @param {string} [ca]  file
 * @returns {Promise<import('@stevec/nginx').Origin>}
 * @throws {UsageError}
 */
async function parseOrigin (text, ca) {
  const url = siteOption(text, '--origin', 'http://127.0.0.1:3000')
  const tls = url.protocol === 'https:'
  const host = url.hostname.replace(/^\[|\]$/g, '')
  if (ca !== undefined && !tls) throw new UsageError('--origin-ca is for an https origin')
  if (ca !== undefined && !existsSync(ca)) throw new UsageError(`--origin-ca: there is no file ${ca}`)
  // nginx's Lua module compares a certificate only with host names, not with addresses.
  if (tls && isIP(host) !== 0) {
    throw new UsageError(`--origin: an https origin needs the host name of its certificate, not the address ${host}`)
  }
  const found = await lookup(host, { all: true })
    .catch((error) => { throw new UsageError(`--origin: ${host} cannot be resolved (${error.code})`) })
  return {
    addresses: [...new Set(found.map(({ address }) => address))],
    host,
    tls,
    port: url.port === '' ? (tls ? 443 : 80) : Number(url.port),
    certificates: ca && path.resolve(ca)
  }
}

/** @param {number} port */
function accepts (port) {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1' })
    socket.once('connect', () => { socket.destroy(); resolve(true) })
    socket.once('error', () => resolve(false))
  })
}
