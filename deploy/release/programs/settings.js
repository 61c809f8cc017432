// The settings of the installed programs: /etc/stevec/*.env and what systemd adds. Nothing else reads the environment.
import { readFileSync } from 'node:fs'
import path from 'node:path'

/** @typedef {Record<string, string | undefined>} Environment */
/** @typedef {import('@stevec/nginx').Tls} Tls */

/** A setting is missing or not allowed; the message names it and what is allowed. */
export class SettingError extends Error {}

const PORT_MAX = 65_535
/** take-certificate copies the files there, readable for nginx. */
const CERTIFICATES = '/run/stevec-tls'
/** Debian's; libnginx-mod-http-lua puts its module there. */
const MODULES = '/usr/lib/nginx/modules'

/**
 * @param {Environment} env
 * @returns {import('@stevec/nginx').OriginRole}
 * @throws {SettingError}
 */
export function originSettings (env) {
  const { address, port } = listenSetting(env)
  const wikiPort = required(env, 'WIKI_PORTS').split(',')
    .map((text) => integer('WIKI_PORTS', text, { least: 1, most: PORT_MAX }))
  const atOnceMax = integer('REQUESTS_AT_ONCE_MAX', env.REQUESTS_AT_ONCE_MAX ?? '0', { least: 0, most: 1_000_000 })
  return {
    role: 'origin',
    listenAddress: address,
    port,
    wikiPort,
    pictureFolder: env.PICTURE_FOLDER || undefined,
    requestsAtOnceMax: atOnceMax,
    ...tlsSetting(env, 'origin')
  }
}

/**
 * @param {Environment} env
 * @returns {import('@stevec/nginx').LoneEdgeRole}
 * @throws {SettingError}
 */
export function edgeSettings (env) {
  const { address, port } = listenSetting(env)
  const profile = env.PROFILE ?? 'cloudflare'
  if (profile !== 'cloudflare' && profile !== 'rfc9111') {
    throw new SettingError(`PROFILE=${profile} is not allowed: it must be cloudflare or rfc9111`)
  }
  const portOf = (/** @type {string} */ name) => integer(name, required(env, name), { least: 1, most: PORT_MAX })
  return {
    role: 'edge',
    listenAddress: address,
    port,
    profile,
    origin: { addresses: ['127.0.0.1'], port: portOf('ORIGIN_PORT'), host: '127.0.0.1', tls: false },
    maxSizeBytes: integer('MAX_SIZE_MIB', env.MAX_SIZE_MIB ?? '1024', { least: 1, most: 1024 ** 2 }) * 1024 ** 2,
    controlPort: portOf('CONTROL_PORT'),
    controlToken: purgeToken(env),
    ...tlsSetting(env, 'edge')
  }
}

/** @param {Environment} env @throws {SettingError} when it is empty: no purge would ever be let in */
function purgeToken (env) {
  const token = readFileSync(path.join(required(env, 'CREDENTIALS_DIRECTORY'), 'purge-token'), 'utf8').trim()
  if (token === '') throw new SettingError('/etc/stevec/purge-token is empty; dpkg-reconfigure stevec makes a new one')
  return token
}

/** @param {Environment} env */
export const nginxPlace = (env) => ({
  directory: required(env, 'CACHE_DIRECTORY'), logs: required(env, 'LOGS_DIRECTORY'), modulesDirectory: MODULES
})

/**
 * @param {Environment} env
 * @returns {{uri: string, folder: string | undefined, keep: number}} `folder`: of scheduled backups, absolute
 * @throws {SettingError} when the URI names no database; the driver would use the database `test`
 */
export function backupSettings (env) {
  const uri = mongodbUri(env)
  if (!/^mongodb(\+srv)?:\/\/[^/]+\/[^/?]+/.test(uri)) {
    throw new SettingError('MONGODB_URI must be mongodb://host[:port]/database, with the name of the wiki\'s database')
  }
  return {
    uri,
    folder: env.STATE_DIRECTORY,
    keep: integer('BACKUP_KEEP', env.BACKUP_KEEP ?? '14', { least: 1, most: 10_000 })
  }
}

/** As the wiki reads it: itself, or from a file. @param {Environment} env @throws {SettingError} */
function mongodbUri ({ MONGODB_URI_FILE: file, ...env }) {
  if (!file) return required(env, 'MONGODB_URI')
  if (env.MONGODB_URI) throw new SettingError('MONGODB_URI and MONGODB_URI_FILE are both set; unset one of them')
  try {
    return readFileSync(file, 'utf8').trim()
  } catch (error) {
    const { code } = /** @type {NodeJS.ErrnoException} */ (error)
    throw new SettingError(`MONGODB_URI_FILE=${JSON.stringify(file)} cannot be read (${code})`)
  }
}

/** @param {Environment} env */
function listenSetting (env) {
  const text = required(env, 'LISTEN')
  const match = /^(\d{1,3}(?:\.\d{1,3}){3}):(\d{1,5})$/.exec(text)
  if (match === null) {
    throw new SettingError(
      `LISTEN=${text} is not allowed: it must be an IPv4 address and a port, such as 0.0.0.0:443`)
  }
  return { address: match[1], port: integer('LISTEN', match[2], { least: 1, most: PORT_MAX }) }
}

/**
 * @param {Environment} env
 * @param {string} role
 * @returns {{tls?: Tls}}
 */
function tlsSetting (env, role) {
  if (!env.TLS_CERTIFICATE) return {}
  const folder = path.join(CERTIFICATES, role)
  return { tls: { certificate: path.join(folder, 'certificate.pem'), key: path.join(folder, 'key.pem') } }
}

/**
 * @param {Environment} env
 * @param {string} name
 * @returns {string}
 */
function required (env, name) {
  const value = env[name]
  if (value === undefined || value === '') throw new SettingError(`${name} is not set; see the files in /etc/stevec`)
  return value
}

/**
 * @param {string} name
 * @param {string} text
 * @param {{least: number, most: number}} range
 * @returns {number}
 */
function integer (name, text, { least, most }) {
  const value = Number(text)
  if (!/^\d{1,9}$/.test(text) || value < least || value > most) {
    throw new SettingError(`${name}: "${text}" is not a whole number from ${least} to ${most}`)
  }
  return value
}
