import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { userInfo } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { Eta } from 'eta'

const SOURCES = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..')
const eta = new Eta({ views: path.join(SOURCES, 'templates'), autoEscape: false, autoTrim: [false, 'nl'] })

/** Characters that would end a quoted string of nginx's configuration or be read as a variable in it. */
const UNQUOTABLE = /["$\\\n\r]/

/**
 * What a role needs besides its folder; ports are of 127.0.0.1.
 * @typedef {{role: 'origin', port: number, wikiPort: number}} OriginRole
 * @typedef {{role: 'edge', port: number, publicPort: number, originPort: number, cachedHost: string, nocacheHost: string, controlPort: number, controlToken: string}} EdgeRole
 * @typedef {{role: 'local', port: number, sourcePort: number, sourceHost: string, controlPort: number, controlToken: string}} LocalRole
 */

/**
 * Renders a role's configuration and has nginx itself check it, so that a mistake is found before anything starts.
 * @param {OriginRole | EdgeRole | LocalRole} role
 * @param {object} where
 * @param {string} where.directory  of this process alone: configuration, logs, cache, temporary files
 * @param {string} where.binary  nginx
 * @param {string} where.modulesDirectory  holds ngx_http_lua_module.so
 * @returns {Promise<{command: string, args: string[], configuration: string, sha256: string}>} what to run in the foreground
 * @throws {Error} with nginx's own message when it refuses the configuration
 */
export async function prepareRole (role, { directory, binary, modulesDirectory }) {
  const text = render(role, { directory, modulesDirectory })
  const configuration = path.join(directory, 'nginx.conf')
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
 * @param {OriginRole | EdgeRole | LocalRole} role
 * @param {{directory: string, modulesDirectory: string}} where
 * @returns {string} the configuration
 * @throws {Error} when a path cannot stand in an nginx configuration
 */
export function render (role, { directory, modulesDirectory }) {
  const cached = role.role !== 'origin'
  for (const value of [directory, modulesDirectory, SOURCES]) {
    if (UNQUOTABLE.test(value)) throw new Error(`nginx cannot use a path with quotes, dollar signs or backslashes: ${value}`)
  }
  return eta.render(`./${role.role}`, {
    ...role,
    directory,
    sources: SOURCES,
    user: process.getuid?.() === 0 ? userInfo().username : '',
    modules: cached ? ['ndk_http_module', 'ngx_http_lua_module'].map((name) => `${modulesDirectory}/${name}.so`) : []
  })
}

/**
 * Two runs had the same cache configuration when this is equal: ports, tokens and folders do not count.
 * @param {OriginRole | EdgeRole | LocalRole} role
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
