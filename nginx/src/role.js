import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync
} from 'node:fs'
import { userInfo } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { Eta } from 'eta'

const SOURCES = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..')
const eta = new Eta({ views: path.join(SOURCES, 'templates'), autoEscape: false, autoTrim: [false, 'nl'] })

const MAX_SIZE_DEFAULT_BYTES = 1024 ** 3
/** Where Debian, Alpine and Fedora keep what they trust. */
const CERTIFICATES = ['/etc/ssl/certs/ca-certificates.crt', '/etc/pki/tls/certs/ca-bundle.crt']

/** Characters that would end a quoted string of nginx's configuration or be read as a variable in it. */
const UNQUOTABLE = /["$\\\n\r]/

/** In the first line of each configuration, see templates/main.eta. */
const RENDERED = 'Rendered from nginx/templates'
/** Marks a folder as a cache that the edge has made; backup programs leave such a folder out. */
const TAG_FILE = 'CACHEDIR.TAG'
const TAG_START = 'Signature: 8a477f597d28d172789f06886806bc55\n# The cache of an edge of stevec.\n'
const TAG = `${TAG_START}# Each start of the edge empties this folder.\n# See https://bford.info/cachedir/\n`

/**
 * What a role needs besides its folder; ports are of 127.0.0.1.
 * @typedef {{role: 'origin', port: number, wikiPort: number | number[], listenAddress?: string, requestsAtOnceMax?: number}} OriginRole
 *   wikiPort: several wikis of one database, when there is a list
 *   listenAddress: default 127.0.0.1
 *   requestsAtOnceMax: under way at each wiki; what comes besides is answered 503 here, at a fraction of what it would cost the wiki to say so; default: no limit
 * @typedef {{role: 'edge', port: number, publicPort: number, originPort: number, cachedHost: string, nocacheHost: string, controlPort: number, controlToken: string} & EdgeOptions} EdgeRole  in the wiki's stack
 * @typedef {{role: 'edge', port: number, listenAddress?: string, origin: Origin, controlPort: number, controlToken: string} & EdgeOptions} LoneEdgeRole  in front of any application
 * @typedef {{profile?: 'cloudflare' | 'rfc9111', defaultTtls?: boolean, collapse?: boolean, plan?: 'free', cacheDirectory?: string, maxSizeBytes?: number}} EdgeOptions
 *   defaultTtls: an answer that says nothing about caching gets a lifetime by its status, as Cloudflare's; default: only outside the stack, in the profile cloudflare
 *   collapse: simultaneous misses of one address make one fetch; default true
 * @typedef {{addresses: string[], port: number, host: string, tls: boolean, certificates?: string}} Origin
 *   addresses: IP addresses in the order in which they are tried, as nginx does not look into /etc/hosts at run time; certificates: a file of what is trusted, instead of the system's
 * @typedef {{role: 'local', port: number, sourcePort: number, sourcePublicPort?: number, sourceHost: string, controlPort: number, controlToken: string}} LocalRole  sourcePublicPort: what the source calls itself, where a link lies between; default sourcePort
 */

/**
 * Renders a role's configuration and has nginx itself check it, so that a mistake is found before anything starts.
 * @param {OriginRole | EdgeRole | LoneEdgeRole | LocalRole} role
 * @param {object} where
 * @param {string} where.directory  of this process alone: configuration, logs, cache, temporary files
 * @param {string} where.binary  nginx
 * @param {string} where.modulesDirectory  holds ngx_http_lua_module.so
 * @returns {Promise<{command: string, args: string[], configuration: string, sha256: string}>} what to run in the foreground
 * @throws {Error} with nginx's own message when it refuses the configuration; for an edge also, before anything is
 *   changed, when the folder is in use, or when no edge has made what is in the place of the cache
 */
export async function prepareRole (role, { directory, binary, modulesDirectory }) {
  const text = render(role, { directory, modulesDirectory })
  const configuration = path.join(directory, 'nginx.conf')
  refuseForeign(configuration)
  if (role.role === 'edge') {
    refuseInUse(directory)
    emptyCache(cacheDirectoryOf(role, directory))
  }
  mkdirSync(directory, { recursive: true })
  // The control token is in it.
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
 * The nginx that uses the folder of a role.
 * @param {string} directory
 * @returns {number | null} its process id; null when none runs
 */
export function findNginx (directory) {
  try {
    const pid = Number(readFileSync(path.join(directory, 'nginx.pid'), 'utf8'))
    // nginx puts its title before its arguments, with spaces between them.
    const line = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ')
    const used = / -p (.+?) -c /.exec(line)?.[1]
    return used !== undefined && realpathSync(used) === realpathSync(directory) ? pid : null
  } catch {
    return null
  }
}

/** @param {string} configuration  file */
function refuseForeign (configuration) {
  if (!existsSync(configuration) || readFileSync(configuration, 'utf8').includes(RENDERED)) return
  throw new Error(`${configuration} is not one of stevec's, and was left as it is; choose another folder`)
}

/** @param {string} directory */
function refuseInUse (directory) {
  const pid = findNginx(directory)
  if (pid === null) return
  throw new Error(`an nginx (process ${pid}) already uses the folder ${directory}: stop it (kill ${pid}), ` +
    'or choose another folder')
}

/**
 * What an earlier process stored is of no use without its index.
 * @param {string} cache
 */
function emptyCache (cache) {
  const found = findForeign(cache)
  if (found !== null) {
    throw new Error(`the edge empties ${cache} at each start, but ${found}; nothing was deleted. ` +
      'Move it away, or choose another folder')
  }
  rmSync(cache, { recursive: true, force: true })
  mkdirSync(cache, { recursive: true, mode: 0o700 })
  writeFileSync(path.join(cache, TAG_FILE), TAG)
}

/**
 * @param {string} cache
 * @returns {string | null} why the folder is not one that an edge may empty
 */
function findForeign (cache) {
  const stat = lstatSync(cache, { throwIfNoEntry: false })
  if (stat === undefined) return null
  if (stat.isSymbolicLink()) return 'it is a symbolic link'
  if (!stat.isDirectory()) return 'it is not a folder'
  const entries = readdirSync(cache, { withFileTypes: true })
  const tag = entries.some((entry) => entry.name === TAG_FILE && entry.isFile())
    ? readFileSync(path.join(cache, TAG_FILE), 'utf8')
    : null
  if (tag?.startsWith(TAG_START)) return null
  // Earlier versions of the edge wrote no tag; a tag is empty when the edge was killed while it wrote it.
  const isOwn = (/** @type {string} */ name) => /^\d+$/.test(name) || (name === TAG_FILE && tag === '')
  const foreign = entries.find((entry) => !entry.isFile() || !isOwn(entry.name))
  return foreign === undefined ? null : `an edge did not make it: there is "${foreign.name}" in it`
}

/**
 * @param {OriginRole | EdgeRole | LoneEdgeRole | LocalRole} role
 * @param {{directory: string, modulesDirectory: string, sources?: string, user?: string}} where  for another machine: the folder nginx/ there,
 *   and the user of its workers, empty for whoever starts it
 * @returns {string} the configuration
 * @throws {Error} when a path cannot stand in an nginx configuration
 */
export function render (role, { directory, modulesDirectory, sources = SOURCES, user = process.getuid?.() === 0 ? userInfo().username : '' }) {
  const cached = role.role !== 'origin'
  const paths = [directory, modulesDirectory, sources, ...(role.role === 'edge' ? [cacheDirectoryOf(role, directory)] : [])]
  for (const value of paths) {
    if (UNQUOTABLE.test(value)) throw new Error(`nginx cannot use a path with quotes, dollar signs or backslashes: ${value}`)
  }
  return eta.render(`./${role.role}`, {
    ...(role.role === 'edge' ? edgeView(role, directory) : role.role === 'origin' ? originView(role) : role),
    directory,
    sources,
    user,
    modules: cached ? ['ndk_http_module', 'ngx_http_lua_module'].map((name) => `${modulesDirectory}/${name}.so`) : []
  })
}

/** @param {OriginRole} role */
function originView (role) {
  const wikiPorts = [role.wikiPort].flat()
  return { ...role, wikiPorts, several: wikiPorts.length > 1, atOnceMax: role.requestsAtOnceMax ?? 0 }
}

/**
 * @param {EdgeRole | LoneEdgeRole} role
 * @param {string} directory
 */
function cacheDirectoryOf (role, directory) {
  return path.join(role.cacheDirectory ?? directory, 'answers')
}

/**
 * What the template of the role edge needs, with every default filled in.
 * @param {EdgeRole | LoneEdgeRole} role
 * @param {string} directory
 */
function edgeView (role, directory) {
  const lone = 'origin' in role
  const origin = lone ? role.origin : { addresses: ['127.0.0.1'], port: role.originPort, host: '', tls: false }
  const address = (/** @type {string} */ ip) => ip.includes(':') ? `[${ip}]` : ip
  return {
    ...role,
    cachedHost: lone ? '' : role.cachedHost,
    nocacheHost: lone ? '' : role.nocacheHost,
    listen: `${address(lone ? role.listenAddress ?? '127.0.0.1' : '127.0.0.1')}:${role.port}`,
    // Clients may name either; a purged address without a port means both.
    ports: lone ? [role.port] : [role.port, role.publicPort],
    origin: { ...origin, addresses: origin.addresses.map(address), certificates: origin.certificates ?? CERTIFICATES.find(existsSync) ?? '' },
    profile: role.profile ?? 'cloudflare',
    defaultTtls: role.defaultTtls ?? (lone && role.profile !== 'rfc9111'),
    collapse: role.collapse ?? true,
    plan: role.plan ?? '',
    // The wiki refuses a page that is too long with a reason; in front of other applications, Cloudflare's limit.
    bodyMax: lone ? '100m' : '4m',
    cacheDirectory: cacheDirectoryOf(role, directory),
    maxSizeBytes: role.maxSizeBytes ?? MAX_SIZE_DEFAULT_BYTES
  }
}

/**
 * Two runs had the same cache configuration when this is equal: ports, tokens and folders do not count.
 * @param {OriginRole | EdgeRole | LoneEdgeRole | LocalRole} role
 * @param {string} modulesDirectory
 */
function hashOf (role, modulesDirectory) {
  const neutral = Object.fromEntries(Object.entries(role).map(([key, value]) => [key, /Port$|^port$/.test(key) ? 0 : key === 'controlToken' ? '' : value]))
  const hash = createHash('sha256').update(render(/** @type {any} */ (neutral), { directory: '.', modulesDirectory }).replaceAll(SOURCES, ''))
  for (const folder of ['conf', 'lua']) {
    for (const file of readdirSync(path.join(SOURCES, folder)).sort()) hash.update(readFileSync(path.join(SOURCES, folder, file)))
  }
  return `sha256:${hash.digest('hex')}`
}
