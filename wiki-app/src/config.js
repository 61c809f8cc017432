import { readFileSync } from 'node:fs'
import { customCleanEnv, makeExactValidator } from 'envalid'
import { readToken } from '@stevec/cdn/wiki'
import { isFollowed, needsPurges } from './caching/cache-policy.js'
import { ConfigError } from './config-error.js'
import { WRITE_BEHIND } from './deferred/strategy-names.js'
import { checkOidc } from './oidc/settings.js'
import { WRITE_STRATEGIES } from './pages/commit.js'
import { SETTINGS } from './settings.js'

/** @import {Config, Setting} from './settings.js' */
/** @import {SettingSpec} from './setting-readers.js' */

export { ConfigError }

const NAMES = /** @type {Setting[]} */ (Object.keys(SETTINGS))
/** Settings that a file may hold, which no listing of processes and no crash report shows. */
const IN_FILES = /** @type {const} */ (
  ['MONGODB_URI', 'REDIS_URL', 'PICTURE_S3_KEY_ID', 'PICTURE_S3_SECRET', 'SMTP_URL', 'OIDC_CLIENT_SECRET'])
const HIDDEN = '(not shown, it may hold a password)'

/**
 * Nothing else reads the environment.
 * @param {Record<string, string | undefined>} [env] @returns {Config}
 * @throws {ConfigError} naming each bad variable, its value and what is allowed
 */
export function readConfig (env = process.env) {
  return check({ ...env, ...fromFiles(env) })
}

/** @param {Record<string, string | undefined>} env @returns {Record<string, string>} @throws {ConfigError} */
function fromFiles (env) {
  const given = IN_FILES.filter((name) => env[`${name}_FILE`])
  return Object.fromEntries(given.map((name) => {
    const file = `${name}_FILE`
    if (env[name]) throw new ConfigError(`${name} and ${file} are both set; unset one of them`)
    try {
      return [name, readFileSync(/** @type {string} */ (env[file]), 'utf8').trim()]
    } catch (error) {
      const { code } = /** @type {NodeJS.ErrnoException} */ (error)
      throw new ConfigError(`${file}=${JSON.stringify(env[file])} cannot be read (${code})`)
    }
  }))
}

/** @param {Record<string, string | undefined>} env @returns {Config} @throws {ConfigError} */
function check (env) {
  const validators = Object.fromEntries(NAMES.map((name) => {
    const { read, default: value } = /** @type {SettingSpec<any>} */ (SETTINGS[name])
    return [name, makeExactValidator(read)({ default: value })]
  }))
  const config = withoutCopies(customCleanEnv(env, validators, (values) => /** @type {Config} */ (
    Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined))
  ), {
    reporter ({ errors }) {
      const bad = NAMES.filter((name) => name in errors)
      if (bad.length > 0) throw new ConfigError(bad.map((name) => complaint(name, env[name])).join('; '))
    }
  }))
  if (config.ACCESS !== 'users' && config.USERS_FILE !== undefined) {
    const { allowed } = SETTINGS.USERS_FILE
    throw new ConfigError(`ACCESS=${config.ACCESS} is not allowed with USERS_FILE: ${allowed}`)
  }
  if (config.WATCH_FAN_OUT !== 'on-read' && config.ACCESS !== 'users') {
    throw new ConfigError(`WATCH_FAN_OUT=${config.WATCH_FAN_OUT} is not allowed with ACCESS=${config.ACCESS}: only ` +
      'signed-in people (ACCESS=users) watch pages, so there is nobody to write to')
  }
  if (config.SHORT_LINK_READS === 'redis' && config.REDIS_URL === undefined) {
    throw new ConfigError('SHORT_LINK_READS=redis is not allowed without REDIS_URL, where the copies are kept')
  }
  if (config.WRITE_STRATEGY === WRITE_BEHIND && config.REDIS_URL === undefined) {
    throw new ConfigError(`WRITE_STRATEGY=${WRITE_BEHIND} is not allowed without REDIS_URL, where saves wait until ` +
      'they are stored: set it, or choose another WRITE_STRATEGY')
  }
  if (needsPurges(config.CACHE_POLICY) && config.PURGE_ZONE === undefined) {
    throw new ConfigError(`CACHE_POLICY=${config.CACHE_POLICY} is not allowed without PURGE_ZONE, PUBLIC_URL and ` +
      'PURGE_TOKEN or PURGE_TOKEN_FILE: no edit would purge the CDN, which would serve old pages for ' +
      `${config.CACHE_CDN_TTL_S} s`)
  }
  if (isFollowed(config.CACHE_POLICY)) checkBound(config)
  checkPictures(config)
  checkMail(config)
  checkOidc(config)
  return config.PURGE_ZONE === undefined ? config : withPurgeToken(config)
}

/**
 * Where only members read, nothing is kept, so nothing is purged. These settings are replaced rather than refused: a
 * stack sets them for all its wikis.
 * @param {Config} config @returns {Config} @throws {ConfigError}
 */
function withoutCopies (config) {
  if (config.READ_ACCESS !== 'members') return config
  if (config.ACCESS !== 'users') {
    throw new ConfigError(`READ_ACCESS=members is not allowed with ACCESS=${config.ACCESS}: the wiki knows nobody by ` +
      'name then, so nobody could read; set ACCESS=users, or READ_ACCESS=everyone')
  }
  if (readsElsewhere(config.MONGODB_URI)) {
    throw new ConfigError('READ_ACCESS=members is not allowed with a readPreference in MONGODB_URI: another server ' +
      'than the primary may not know yet that somebody is blocked; take it out, or set READ_ACCESS=everyone')
  }
  return { ...config, CACHE_POLICY: 'no-store', ORIGIN_CACHE_MIB: 0, PURGE_ZONE: undefined }
}

/** @param {string} uri  of MongoDB */
const readsElsewhere = (uri) => /[?&]readPreference=(?!primary(&|$))/i.test(uri)

/** @param {Config} config @throws {ConfigError} */
function checkBound ({ MONGODB_URI: uri, ORIGIN_CACHE_MIB: originCacheMib, WRITE_STRATEGY: strategy }) {
  if (!WRITE_STRATEGIES.some((name) => name === strategy)) {
    throw new ConfigError(`CACHE_POLICY=bounded is not allowed with WRITE_STRATEGY=${strategy}: the bound counts from ` +
      `when a text is in the database, and that comes after the answer; choose ${WRITE_STRATEGIES.join(' or ')}`)
  }
  if (originCacheMib > 0) {
    throw new ConfigError(`CACHE_POLICY=bounded is not allowed with ORIGIN_CACHE_MIB=${originCacheMib}: that cache ` +
      'does not follow the purge log; set it to 0')
  }
  if (readsElsewhere(uri)) {
    throw new ConfigError('CACHE_POLICY=bounded is not allowed with a readPreference in MONGODB_URI: another server ' +
      'than the primary may have older texts')
  }
}

const OF_S3 = /** @type {const} */ (
  ['PICTURE_S3_ENDPOINT', 'PICTURE_S3_BUCKET', 'PICTURE_S3_KEY_ID', 'PICTURE_S3_SECRET'])

/** @param {Config} config @throws {ConfigError} */
function checkPictures (config) {
  const { PICTURE_STORE: store, PICTURE_FOLDER: folder } = config
  if (store === 'disk' && folder === undefined) {
    const { allowed } = SETTINGS.PICTURE_FOLDER
    throw new ConfigError(`PICTURE_STORE=disk is not allowed without PICTURE_FOLDER: ${allowed}`)
  }
  if (config.PICTURE_SENDER === 'nginx' && folder === undefined) {
    throw new ConfigError('PICTURE_SENDER=nginx is not allowed without PICTURE_FOLDER, from which nginx sends pictures')
  }
  const missing = OF_S3.filter((name) => config[name] === undefined)
  if (missing.length > 0 && (store === 's3' || missing.length < OF_S3.length)) {
    throw new ConfigError(`an S3 store for pictures also needs ${missing.join(', ')}`)
  }
}

/** @param {Config} config @throws {ConfigError} */
function checkMail ({ SMTP_URL: url, MAIL_FROM: from, ACCESS: access, PUBLIC_URL: publicUrl }) {
  if (url === undefined && from === undefined) return
  if (url === undefined) {
    throw new ConfigError('MAIL_FROM is not allowed without SMTP_URL, the server that sends the mail: set SMTP_URL ' +
      'or SMTP_URL_FILE, or unset MAIL_FROM')
  }
  if (from === undefined) {
    throw new ConfigError(`SMTP_URL is not allowed without MAIL_FROM: set it to ${SETTINGS.MAIL_FROM.allowed}`)
  }
  if (access !== 'users') {
    throw new ConfigError(`SMTP_URL is not allowed with ACCESS=${access}, as only people whom the wiki knows by name ` +
      'get mail: set ACCESS=users, or unset SMTP_URL')
  }
  if (publicUrl === undefined) {
    throw new ConfigError(`SMTP_URL is not allowed without PUBLIC_URL, to which the links in mails lead: set it to ${
      SETTINGS.PUBLIC_URL.allowed}`)
  }
}

/** @param {Config} config @returns {Config} @throws {ConfigError} */
function withPurgeToken (config) {
  const { PURGE_TOKEN: token, PURGE_TOKEN_FILE: file } = config
  if (config.PUBLIC_URL === undefined) {
    throw new ConfigError('PURGE_ZONE is not allowed without PUBLIC_URL, under which caches know the pages: it must be ' +
      SETTINGS.PUBLIC_URL.allowed)
  }
  try {
    const names = { variable: 'PURGE_TOKEN', fileVariable: 'PURGE_TOKEN_FILE' }
    return { ...config, PURGE_TOKEN: readToken({ token, file, ...names }) }
  } catch (error) {
    throw new ConfigError(/** @type {Error} */ (error).message)
  }
}

/** @param {Setting} name @param {string | undefined} given */
function complaint (name, given) {
  const { allowed, secret } = /** @type {SettingSpec<unknown>} */ (SETTINGS[name])
  return `${name}=${secret ? HIDDEN : JSON.stringify(given)} is not allowed: it must be ${allowed}`
}
