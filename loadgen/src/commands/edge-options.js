import { lookup } from 'node:dns/promises'
import { existsSync } from 'node:fs'
import { isIP } from 'node:net'
import { availableParallelism } from 'node:os'
import path from 'node:path'
import { parsePort } from '../config.js'
import { UsageError } from '../usage-error.js'
import { integerOption, siteOption } from './options.js'

const SIZE_LEAST_BYTES = 1024 ** 2
const UNITS = Object.freeze({ '': 1, k: 1024, m: 1024 ** 2, g: 1024 ** 3, t: 1024 ** 4 })
const WORKERS_MAX = 64

/**
 * @param {Record<string, any>} values  of the command's options
 * @returns {Promise<{options: Omit<import('@stevec/nginx').LoneEdgeRole, 'role' | 'controlPort' | 'controlToken'> &
 *   {listenAddress: string}, controlPort: number | undefined}>} of the role, see role.js
 * @throws {UsageError}
 */
export async function readEdgeOptions (values) {
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
  const controlPort = integerOption(values['control-port'], '--control-port', { least: 1, most: 65535 })
  const [workers, follow] = [workersOf(values.workers), followOption(values.follow)]
  if (values.origin === undefined) {
    throw new UsageError('--origin is missing: the address of the application, such as http://127.0.0.1:3000')
  }
  const options = {
    port,
    listenAddress: host,
    origin: await parseOrigin(values.origin, values['origin-ca']),
    profile,
    plan: values.plan,
    cacheName: values['cache-name'],
    assumedNoVarySearch: values['assume-no-vary-search'],
    maxSizeBytes,
    tls,
    warm: !values.cold,
    compression: !values['no-compression'],
    follow,
    workers
  }
  return { options, controlPort }
}

/**
 * @param {string} [path]  --follow
 * @throws {UsageError}
 */
function followOption (path) {
  if (path === undefined || /^\/[\w~./-]*$/.test(path)) return path
  throw new UsageError(`--follow is a path such as /purge-log, not "${path}"`)
}

/**
 * @param {string} [text]  --workers
 * @throws {UsageError}
 */
function workersOf (text = 'auto') {
  if (text === 'auto') return Math.min(availableParallelism(), WORKERS_MAX)
  return integerOption(text, '--workers', { least: 1, most: WORKERS_MAX })
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
