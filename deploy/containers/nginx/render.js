// Renders the configuration of this container's nginx from the environment, with the templates that the lab measures.
//   ROLE=origin WIKIS=wiki-1:3000,wiki-2:3000 [REQUESTS_AT_ONCE_MAX=64]
//   ROLE=edge ORIGIN=origin:8080 [PROFILE=cloudflare|rfc9111] [MAX_SIZE_MIB=512]
import { randomBytes } from 'node:crypto'
import { lookup } from 'node:dns/promises'
import { prepareRole } from '@stevec/nginx'

const FOLDER = '/run/stevec'
const CACHE = '/var/cache/stevec'
/** Debian's. */
const PROGRAM = { binary: '/usr/sbin/nginx', modulesDirectory: '/usr/lib/nginx/modules' }
/** Of the purge API, for programs in this container. */
const CONTROL_PORT = 8081
const MIB = 1_048_576

class SettingError extends Error {}

/**
 * @param {string} name
 * @param {string} [otherwise]
 * @returns {string}
 * @throws {SettingError}
 */
function setting (name, otherwise) {
  const value = process.env[name] || otherwise
  if (value === undefined) throw new SettingError(`${name} is missing; see deploy/containers/nginx/render.js`)
  return value
}

/**
 * @param {string} name
 * @param {string} otherwise
 * @param {number} least
 * @param {number} most
 * @throws {SettingError}
 */
function integer (name, otherwise, least, most) {
  const text = setting(name, otherwise)
  if (!/^\d{1,9}$/.test(text) || Number(text) < least || Number(text) > most) {
    throw new SettingError(`${name}=${JSON.stringify(text)} is not allowed: it must be from ${least} to ${most}`)
  }
  return Number(text)
}

/**
 * Looks a name up once: nginx's Lua reads no /etc/hosts, and the addresses of compose.yaml and of a Service stay.
 * @param {string} name  of a setting
 * @param {string} text  host:port
 */
async function addressOf (name, text) {
  const [, host, port] = /^([A-Za-z0-9.-]+):(\d{1,5})$/.exec(text) ?? []
  if (host === undefined) throw new SettingError(`${name} must be host:port, not ${JSON.stringify(text)}`)
  const { address } = await lookup(host, { family: 4 })
  return { host, address, port: Number(port) }
}

/** @returns {Promise<import('@stevec/nginx').OriginRole>} */
async function originRole () {
  const wikis = await Promise.all(setting('WIKIS').split(',').map((text) => addressOf('WIKIS', text)))
  return {
    role: 'origin',
    port: integer('PORT', '8080', 1, 65_535),
    listenAddress: '0.0.0.0',
    wikiAddresses: wikis.map(({ address, port }) => `${address}:${port}`),
    pictureFolder: setting('PICTURE_FOLDER', '') || undefined,
    requestsAtOnceMax: integer('REQUESTS_AT_ONCE_MAX', '0', 0, 10_000)
  }
}

/** @returns {Promise<import('@stevec/nginx').LoneEdgeRole>} */
async function edgeRole () {
  const { host, address, port } = await addressOf('ORIGIN', setting('ORIGIN'))
  const profile = setting('PROFILE', 'cloudflare')
  if (profile !== 'cloudflare' && profile !== 'rfc9111') throw new SettingError('PROFILE is cloudflare or rfc9111')
  return {
    role: 'edge',
    port: integer('PORT', '8080', 1, 65_535),
    listenAddress: '0.0.0.0',
    origin: { addresses: [address], port, host, tls: false },
    profile,
    cacheDirectory: CACHE,
    maxSizeBytes: integer('MAX_SIZE_MIB', '512', 1, 1_000_000) * MIB,
    controlPort: CONTROL_PORT,
    controlToken: randomBytes(16).toString('hex')
  }
}

try {
  const name = setting('ROLE')
  if (name !== 'origin' && name !== 'edge') throw new SettingError(`ROLE is origin or edge, not "${name}"`)
  await prepareRole(await (name === 'origin' ? originRole() : edgeRole()), { directory: FOLDER, ...PROGRAM })
} catch (error) {
  process.stderr.write(`nginx: ${/** @type {Error} */ (error).message}\n`)
  process.exitCode = error instanceof SettingError ? 2 : 1
}
