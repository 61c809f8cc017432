import path from 'node:path'
import { pick, readConfig as readToolConfig, ROOT } from '@stevec/harness/config'

/** Ports that users see; all other ports are free ones, chosen at each start. */
export const DEFAULT_PORTS = Object.freeze({ edge: 8080, origin: 8081, local: 8082, wiki: 3000, mongod: 27027 })

/** @typedef {keyof typeof DEFAULT_PORTS} PortName */
/** @typedef {Record<PortName, number>} Ports */

/**
 * The wiki's settings (wiki-app/src/settings.js, which set-up cannot load before there are npm packages), and what Node
 * needs to know certificates of a database.
 */
export const WIKI_VARIABLES = Object.freeze([
  'HOST', 'PORT', 'WORKERS', 'MONGODB_URI', 'MONGODB_URI_FILE', 'REDIS_URL', 'REDIS_URL_FILE', 'SHORT_LINK_INDEX',
  'SHORT_LINK_READS', 'CACHE_POLICY', 'CACHE_TTL_S', 'CACHE_STALE_WHILE_REVALIDATE_S', 'CACHE_STALE_IF_ERROR_S',
  'CACHE_CDN_TTL_S', 'CACHE_BOUND_MS', 'CACHE_BEYOND_BOUND_S', 'PAGE_READS_AT_ONCE', 'DATABASE_POOL_MAX',
  'ORIGIN_CACHE_MIB', 'PAGE_MAX_BYTES', 'UPLOAD_MAX_BYTES', 'UPLOADS_MAX_MIB', 'HOME_PAGE', 'ACCESS', 'READ_ACCESS',
  'WIKI_NAME', 'WIKI_DESCRIPTION', 'WIKI_LOGO', 'WIKI_COLOUR', 'WIKI_LANGUAGE', 'OFFLINE_READING', 'USERS_FILE',
  'PUBLIC_URL', 'WRITES_PER_MINUTE', 'QUEUE_WAIT_MAX_MS', 'WATCH_FAN_OUT', 'SMTP_URL', 'SMTP_URL_FILE', 'MAIL_FROM',
  'OIDC_ISSUER', 'OIDC_CLIENT_ID', 'OIDC_CLIENT_SECRET', 'OIDC_CLIENT_SECRET_FILE', 'OIDC_LABEL', 'OIDC_NEW_PEOPLE',
  'TRUSTED_PROXIES', 'PURGE_ZONE', 'PURGE_TOKEN', 'PURGE_TOKEN_FILE', 'PURGE_URL', 'PURGE_REPEAT_AFTER_S',
  'SEARCH_DIRECTORY', 'PICTURE_STORE', 'PICTURE_FOLDER', 'PICTURE_SENDER', 'PICTURE_S3_ENDPOINT', 'PICTURE_S3_BUCKET',
  'PICTURE_S3_REGION', 'PICTURE_S3_KEY_ID', 'PICTURE_S3_KEY_ID_FILE', 'PICTURE_S3_SECRET', 'PICTURE_S3_SECRET_FILE',
  'UNSAFE_RECORDS_MAX', 'UNSAFE_MIB_MAX', 'WRITE_STRATEGY', 'GROUP_COMMIT_MAX', 'GROUP_COMMIT_WAIT_MS',
  'OTEL_EXPORTER_OTLP_ENDPOINT',
  'OTEL_EXPORTER_OTLP_HEADERS', 'OTEL_SERVICE_NAME', 'OTEL_TRACES_SAMPLER', 'OTEL_TRACES_SAMPLER_ARG', 'METRICS_PORT',
  'METRICS_HOST', 'STATUS_FILE', 'LOG_LEVEL', 'LOG_VIEWS_PER_S', 'NODE_EXTRA_CA_CERTS'
])

/** Those that make sense on another machine, too: no path or port of this one. */
const REMOTE_WIKI_VARIABLES = Object.freeze([
  'CACHE_POLICY', 'CACHE_TTL_S', 'CACHE_STALE_WHILE_REVALIDATE_S', 'CACHE_STALE_IF_ERROR_S', 'CACHE_CDN_TTL_S',
  'CACHE_BOUND_MS', 'CACHE_BEYOND_BOUND_S', 'PURGE_ZONE', 'PURGE_URL', 'PURGE_TOKEN', 'PURGE_REPEAT_AFTER_S',
  'PUBLIC_URL', 'PAGE_MAX_BYTES', 'UPLOAD_MAX_BYTES', 'UPLOADS_MAX_MIB', 'PAGE_READS_AT_ONCE', 'DATABASE_POOL_MAX',
  'ORIGIN_CACHE_MIB', 'WRITES_PER_MINUTE', 'ACCESS'
])

/** Of a wiki that another one is moved into: what its pages and its caches depend on. */
const IMPORT_VARIABLES = Object.freeze([
  'PAGE_MAX_BYTES', 'UPLOAD_MAX_BYTES', 'UPLOADS_MAX_MIB', 'HOME_PAGE', 'SHORT_LINK_INDEX', 'CACHE_POLICY',
  'CACHE_BOUND_MS', 'PUBLIC_URL', 'PURGE_ZONE', 'PURGE_TOKEN', 'PURGE_TOKEN_FILE', 'PURGE_URL'
])

/** A setting has a bad value; the message says which setting and what is allowed. */
export class ConfigError extends Error {}

/**
 * Reads the lab's environment variables; no other code does.
 * @param {NodeJS.ProcessEnv} [env]
 * @throws {ConfigError} naming the variable and its bad value
 */
export function readConfig (env = process.env) {
  /** @type {Partial<Ports>} */
  const ports = {}
  for (const name of /** @type {PortName[]} */ (Object.keys(DEFAULT_PORTS))) {
    const value = env[`${name.toUpperCase()}_PORT`]
    if (value) ports[name] = parsePort(value, `${name.toUpperCase()}_PORT`)
  }
  const toolConfig = readToolConfig(env)
  return {
    ...toolConfig,
    /** Only ports set explicitly: a default port may be replaced by a free one, an explicit one may not. */
    ports,
    /** Continuous integration sets CI: its machines are shared, so `verify` does not judge times there. */
    ci: !['', '0', 'false'].includes(env.CI ?? ''),
    /** Shows errors with their stack. */
    debug: Boolean(env.STEVEC_DEBUG),
    /** State of the stacks; each test has its own. */
    stateDirectory: path.resolve(env.STEVEC_STATE || path.join(ROOT, '.stevec')),
    /** Images for boards are built into this folder and started from it. */
    imageDirectory: path.resolve(env.STEVEC_IMAGE || path.join(ROOT, 'arm-image/build')),
    /** Of a variable that an experiment names. @param {string} name */
    uriOf: (name) => env[name] || undefined,
    /** For ssh to the machines of generators, instead of ~/.ssh/config. @type {string | undefined} */
    sshConfig: env.STEVEC_SSH_CONFIG || undefined,
    cloudflare: {
      token: env.CLOUDFLARE_API_TOKEN,
      tokenFile: env.CLOUDFLARE_API_TOKEN_FILE,
      apiUrl: env.CLOUDFLARE_API_URL || undefined
    },
    /** The wiki's settings for pictures, for a backup. @type {Record<string, string | undefined>} */
    pictureEnvironment: Object.fromEntries(Object.entries(env).filter(([name]) => name.startsWith('PICTURE_'))),
    /** The wiki's settings for an import into it. @type {Record<string, string | undefined>} */
    importEnvironment: {
      ...pick(env, IMPORT_VARIABLES),
      ...Object.fromEntries(Object.entries(env).filter(([name]) => name.startsWith('PICTURE_')))
    },
    /** Settings passed on to a wiki on another machine. @type {Record<string, string>} */
    wikiEnvironment: pick(env, REMOTE_WIKI_VARIABLES),
    /** For a wiki on this machine. */
    localWikiEnvironment: { ...toolConfig.systemEnvironment, ...pick(env, WIKI_VARIABLES) }
  }
}

/**
 * @param {string} text
 * @param {string} source  the variable or flag with this value
 * @returns {number} 1…65535
 * @throws {ConfigError}
 */
export function parsePort (text, source) {
  const port = Number(text)
  if (!Number.isInteger(port) || port < 1 || port > 65535) {
    throw new ConfigError(`${source} must be a port from 1 to 65535, not "${text}"`)
  }
  return port
}
