import { existsSync } from 'node:fs'
import path from 'node:path'
import { keyedHeaders, SPECIAL, unusualHeaders } from './request-headers.js'
import { structuredName } from './structured-name.js'

/** @import {EdgeRole, LoneEdgeRole} from './role.js' */

const WORKERS_MAX = 64
const MAX_SIZE_DEFAULT_BYTES = 1024 ** 3
/** The trusted certificates of Debian and Alpine, and of Fedora. */
const CERTIFICATES = ['/etc/ssl/certs/ca-certificates.crt', '/etc/pki/tls/certs/ca-bundle.crt']

/**
 * @param {EdgeRole | LoneEdgeRole} role
 * @param {string} directory
 */
export function cacheDirectoryOf (role, directory) {
  return path.join(role.cacheDirectory ?? directory, 'answers')
}

/**
 * Returns the values for the template of the role edge, with every default filled in.
 * @param {EdgeRole | LoneEdgeRole} role
 * @param {string} directory
 */
export function edgeView (role, directory) {
  const lone = 'origin' in role
  const origin = lone ? role.origin : { addresses: ['127.0.0.1'], port: role.originPort, host: '', tls: false }
  const profile = role.profile ?? 'cloudflare'
  const address = (/** @type {string} */ ip) => ip.includes(':') ? `[${ip}]` : ip
  return {
    ...role,
    cachedHost: lone ? '' : role.cachedHost,
    nocacheHost: lone ? '' : role.nocacheHost,
    listen: `${address(lone ? role.listenAddress ?? '127.0.0.1' : '127.0.0.1')}:${role.port}`,
    // Clients may use either port; a purged address without a port means both.
    ports: lone ? [role.port] : [role.port, role.publicPort],
    origin: {
      ...origin,
      addresses: origin.addresses.map(address),
      certificates: origin.certificates ?? CERTIFICATES.find(existsSync) ?? ''
    },
    profile,
    keyedHeaders: keyedHeaders(profile),
    specialHeaders: SPECIAL,
    unusualHeaders: unusualHeaders(profile),
    assumedNoVarySearch: assumedHeader(role.assumedNoVarySearch),
    defaultTtls: role.defaultTtls ?? (lone && profile !== 'rfc9111'),
    collapse: role.collapse ?? true,
    plan: role.plan ?? '',
    place: role.place ?? 'LJU',
    warm: role.warm ?? false,
    workers: workersOf(role.workers),
    compression: role.compression ?? false,
    follow: pathOf(role.follow),
    cacheName: JSON.stringify(structuredName(role.cacheName ?? 'stevec-edge')),
    // Cloudflare's limit. The wiki itself refuses what is too long, with a reason.
    bodyMax: '100m',
    cacheDirectory: cacheDirectoryOf(role, directory),
    maxSizeBytes: role.maxSizeBytes ?? MAX_SIZE_DEFAULT_BYTES
  }
}

/** @param {number} [workers] */
function workersOf (workers = 1) {
  if (Number.isInteger(workers) && workers >= 1 && workers <= WORKERS_MAX) return workers
  throw new Error(`the edge takes 1 to ${WORKERS_MAX} workers, not ${workers}`)
}

/** @param {string} [path] */
function pathOf (path) {
  if (path === undefined || /^\/[\w~./-]*$/.test(path)) return path
  throw new Error(`the path of a purge log begins with / and has letters, digits and ~ . _ - / only, not "${path}"`)
}

/**
 * @param {string} [header]
 * @returns {string} a value of Lua
 */
function assumedHeader (header) {
  if (header === undefined) return 'nil'
  if (!/^[ -~]+$/.test(header)) throw new Error('No-Vary-Search has printable ASCII characters only')
  return JSON.stringify(header)
}
