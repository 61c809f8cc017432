import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { userInfo } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { Eta } from 'eta'
import { cacheDirectoryOf, edgeView } from './edge-view.js'
import { openCache, refuseForeign, refuseInUse } from './folder.js'
import { LUA_MODULES } from './lua-configuration.js'
import { storeIdentity } from './store-identity.js'
import { areChecked, wikisView } from './wikis.js'

export { findNginx } from './folder.js'

const SOURCES = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..')
const eta = new Eta({ views: path.join(SOURCES, 'templates'), autoEscape: false, autoTrim: [false, 'nl'] })

/** Characters that would end a quoted string in nginx's configuration or start a variable. */
const UNQUOTABLE = /["$\\\n\r]/

/** Stand for the files of a certificate where only the configuration counts. */
const NO_FILES = Object.freeze({ certificate: 'certificate.pem', key: 'key.pem' })

/**
 * TLS 1.2 and 1.3 for a role's clients, instead of plain HTTP. nginx reads the files as it starts and at SIGHUP.
 * @typedef {object} Tls
 * @property {string} certificate  PEM file: the host's certificate, then the intermediate ones
 * @property {string} key  PEM file, readable by the user that starts nginx
 * @property {boolean} [http2]  whether clients may choose HTTP/2 (by ALPN, RFC 7301); default true
 */

/**
 * The parameters of a role besides its folder; ports are on 127.0.0.1.
 * @typedef {object} OriginRole
 * @property {'origin'} role
 * @property {number} port
 * @property {number | number[]} [wikiPort]  a list, of at most 8: several wikis that share one database
 * @property {string[]} [wikiAddresses]  `ip:port` of wikis elsewhere, instead of wikiPort
 * @property {string} [listenAddress]  default 127.0.0.1
 * @property {Tls} [tls]  default: plain HTTP
 * @property {number} [plainPort]  beside `port` with TLS, for the next hop on this machine
 * @property {string} [pictureFolder]  PICTURE_FOLDER of wikis with PICTURE_SENDER=nginx: nginx sends its files
 * @property {number} [requestsAtOnceMax]  in flight at each wiki; nginx answers any further request with 503, at a
 *   fraction of what a 503 of the wiki would cost; default: no limit
 */

/**
 * The edge in the wiki's stack.
 * @typedef {{
 *   role: 'edge',
 *   port: number,
 *   publicPort: number,
 *   originPort: number,
 *   cachedHost: string,
 *   nocacheHost: string,
 *   controlPort: number,
 *   controlToken: string
 * } & EdgeOptions} EdgeRole
 */

/**
 * The edge in front of any application.
 * @typedef {{
 *   role: 'edge',
 *   port: number,
 *   listenAddress?: string,
 *   origin: Origin,
 *   controlPort: number,
 *   controlToken: string
 * } & EdgeOptions} LoneEdgeRole
 */

/**
 * @typedef {object} EdgeOptions
 * @property {'cloudflare' | 'rfc9111'} [profile]
 * @property {boolean} [defaultTtls]  a response without caching headers gets a lifetime by its status, as Cloudflare's;
 *   default: only outside the stack, in the profile cloudflare
 * @property {boolean} [collapse]  simultaneous misses of one address make one fetch; default true
 * @property {'free'} [plan]
 * @property {string} [place]  three capital letters, which end its CF-Ray; default LJU
 * @property {string} [cacheName]  its name in Cache-Status, printable ASCII; default stevec-edge
 * @property {string} [assumedNoVarySearch]  the No-Vary-Search of responses without one, in both profiles, such as
 *   'key-order, params=("utm_source")'; default: none
 * @property {string} [cacheDirectory]
 * @property {number} [maxSizeBytes]
 * @property {number} [workers]  processes, 1 to 64; default 1
 * @property {boolean} [warm]  a restart has what was stored before; default false
 * @property {boolean} [compression]  stored text is sent compressed to clients that accept it; default false
 * @property {string} [follow]  path of the origin's purge log, such as /purge-log; default: none
 * @property {Tls} [tls]  at the port for clients; default: plain HTTP
 */

/**
 * @typedef {object} Origin
 * @property {string[]} addresses  IP addresses (nginx does not read /etc/hosts at run time), tried in this order
 * @property {number} port
 * @property {string} host
 * @property {boolean} tls
 * @property {string} [certificates]  a file of trusted certificates; default: the system's
 */

/**
 * @typedef {object} LocalRole
 * @property {'local'} role
 * @property {number} port
 * @property {number} sourcePort
 * @property {number} [sourcePublicPort]  the port that the source calls its own, when a link lies between; default
 *   sourcePort
 * @property {string} sourceHost
 * @property {number} controlPort
 * @property {string} controlToken
 * @property {Tls} [tls]  default: plain HTTP
 */

/**
 * Renders a role's configuration and has nginx check it, so that a mistake shows before anything starts.
 * @param {OriginRole | EdgeRole | LoneEdgeRole | LocalRole} role
 * @param {object} where
 * @param {string} where.directory  of this process alone: configuration, logs, cache, temporary files
 * @param {string} [where.logs]  another folder for the logs
 * @param {string} where.binary  nginx
 * @param {string} where.modulesDirectory  holds ngx_http_lua_module.so
 * @returns {Promise<{command: string, args: string[], configuration: string, sha256: string}>}
 *   the command to run in the foreground
 * @throws {Error} with nginx's own message when it refuses the configuration; for an edge also, before anything is
 *   changed, when the folder is in use, or when no edge created what is in the place of the cache
 */
export async function prepareRole (role, { directory, logs, binary, modulesDirectory }) {
  const text = render(role, { directory, logs, modulesDirectory })
  const configuration = path.join(directory, 'nginx.conf')
  refuseForeign(configuration)
  if (role.role === 'edge') {
    refuseInUse(directory)
    const identity = role.warm ? storeIdentity(edgeView(role, directory), path.join(SOURCES, 'lua')) : null
    openCache(cacheDirectoryOf(role, directory), identity)
  }
  mkdirSync(directory, { recursive: true })
  // It contains the control token.
  writeFileSync(configuration, text, { mode: 0o600 })
  const args = ['-p', directory, '-c', configuration]
  try {
    await promisify(execFile)(binary, [...args, '-t'])
  } catch (error) {
    const { stderr } = /** @type {{stderr?: string}} */ (error)
    throw new Error(`nginx refuses the configuration of its role ${role.role}: ${stderr || error}`)
  }
  return { command: binary, args, configuration, sha256: hashOf(role, modulesDirectory) }
}

/**
 * @param {OriginRole | EdgeRole | LoneEdgeRole | LocalRole} role
 * @param {{directory: string, logs?: string, modulesDirectory: string, sources?: string, user?: string}} where
 *   for another machine, sources: its folder nginx/; user: of its workers, empty for the user that starts nginx
 * @returns {string} the configuration
 * @throws {Error} when a path cannot stand in an nginx configuration
 */
export function render (
  role,
  {
    directory, logs = directory, modulesDirectory, sources = SOURCES,
    user = process.getuid?.() === 0 ? userInfo().username : ''
  }
) {
  const hasLua = role.role !== 'origin' || areChecked(role, modulesDirectory)
  const paths = [
    directory,
    logs,
    modulesDirectory,
    sources,
    ...(role.role === 'edge' ? [cacheDirectoryOf(role, directory)] : []),
    ...(role.role === 'origin' && role.pictureFolder !== undefined ? [role.pictureFolder] : []),
    ...(role.tls ? [role.tls.certificate, role.tls.key] : [])
  ]
  for (const value of paths) {
    if (UNQUOTABLE.test(value)) {
      throw new Error(`nginx cannot use a path with quotes, dollar signs or backslashes: ${value}`)
    }
  }
  return eta.render(`./${role.role}`, {
    ...viewOf(role, { directory, modulesDirectory }),
    tls: tlsView(role.tls),
    directory,
    logs,
    sources,
    user,
    modules: hasLua ? LUA_MODULES.map((name) => `${modulesDirectory}/${name}.so`) : []
  })
}

/**
 * @param {OriginRole | EdgeRole | LoneEdgeRole | LocalRole} role
 * @param {{directory: string, modulesDirectory: string}} places
 */
function viewOf (role, { directory, modulesDirectory }) {
  if (role.role === 'edge') return edgeView(role, directory)
  return role.role === 'origin' ? { ...role, ...wikisView(role, modulesDirectory) } : role
}

/** @param {Tls} [tls] */
function tlsView ({ certificate, key, http2 = true } = { certificate: '', key: '' }) {
  // nginx 1.25.1 moved http2 to a directive of its own, and still takes the parameter.
  return { certificate, key, parameters: certificate === '' ? '' : http2 ? ' ssl http2' : ' ssl' }
}

/**
 * Returns a hash that is equal for equal cache configurations: ports, tokens and folders do not count.
 * @param {OriginRole | EdgeRole | LoneEdgeRole | LocalRole} role
 * @param {string} modulesDirectory
 */
function hashOf (role, modulesDirectory) {
  const neutral = Object.fromEntries(Object.entries(role).map(([key, value]) => {
    if (/Port$|^port$/.test(key)) return [key, 0]
    if (/^(controlToken|place|cacheName)$/.test(key)) return [key, '']
    if (key === 'pictureFolder') return [key, value === undefined ? value : '/pictures']
    return [key, key === 'tls' && value ? { ...value, ...NO_FILES } : value]
  }))
  const hash = createHash('sha256').update(
    render(/** @type {any} */ (neutral), { directory: '.', modulesDirectory }).replaceAll(SOURCES, '')
  )
  for (const folder of ['conf', 'lua']) {
    for (const file of readdirSync(path.join(SOURCES, folder)).sort()) {
      hash.update(readFileSync(path.join(SOURCES, folder, file)))
    }
  }
  return `sha256:${hash.digest('hex')}`
}
