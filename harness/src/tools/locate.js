import { spawnSync } from 'node:child_process'
import { accessSync, constants, existsSync, readdirSync, statSync } from 'node:fs'
import path from 'node:path'
import { TOOLS } from './catalog.js'
import { readConfig } from '../config.js'

/** Debian's directories for servers, which the PATH of a normal user does not contain. */
const SERVER_DIRECTORIES = ['/usr/local/sbin', '/usr/sbin', '/sbin']

/** @typedef {{name: string, path: string, version: string, from: string}} Tool */

/** A tool is missing, too old or another program than expected; the message says what to do. */
export class ToolError extends Error {}

/**
 * Finds a tool: first the user's own, then one on PATH if it is new enough, then the one that set-up installed.
 * @param {string} name  a key of TOOLS
 * @param {ReturnType<typeof readConfig>} [config]
 * @returns {Tool | null} null when it has to be installed
 * @throws {ToolError} when the user's own cannot be used
 */
export function locateTool (name, config = readConfig()) {
  const { variable, binary, otherNames = [], minimum, pinned } = TOOLS[name]
  const named = config.binaries[name]
  if (named !== undefined) {
    const version = versionOf(name, named)
    if (version === null) {
      throw new ToolError(`${variable}=${named} is not a ${name} that runs here; set it to another or unset it`)
    }
    if (compareVersions(version, minimum) < 0) {
      throw new ToolError(`${variable}=${named} is ${name} ${version}; ${minimum} or newer is needed`)
    }
    const lacking = lacks(name, named)
    if (lacking) throw new ToolError(`${variable}=${named} has no ${lacking}; set it to another or unset it`)
    return { name, path: named, version, from: variable }
  }
  for (const directory of [...config.searchPath.split(path.delimiter), ...SERVER_DIRECTORIES]) {
    for (const candidate of [binary, ...otherNames].map((file) => path.join(directory, file))) {
      if (!directory || !isExecutable(candidate)) continue
      const version = versionOf(name, candidate)
      if (version !== null && compareVersions(version, minimum) >= 0 && !lacks(name, candidate)) {
        return { name, path: candidate, version, from: 'PATH' }
      }
    }
  }
  if (pinned !== undefined) {
    const candidate = installedPath(name, config)
    if (isExecutable(candidate)) return { name, path: candidate, version: pinned, from: '.tools' }
  }
  return null
}

/**
 * @param {string} name
 * @returns {Tool}
 * @throws {ToolError} when it is not installed
 */
export function requireTool (name) {
  const tool = locateTool(name)
  if (tool === null) throw new ToolError(`${name} is missing; ${remedyFor(name)}`)
  return tool
}

/**
 * @param {string} name  of a tool that is missing
 * @returns {string} what to do
 */
export function remedyFor (name) {
  const { variable, optional, setup = name, package: debian } = TOOLS[name]
  const command = debian
    ? `apt-get install --no-install-recommends ${debian}`
    : optional ? `./stevec setup --with ${setup}` : 'make setup'
  return `run \`${command}\` (or set ${variable} to one of your own)`
}

/**
 * Returns the path of the copy that set-up installs. It contains the version, so that a new pin leads to a new
 * installation.
 * @param {string} name
 * @param {ReturnType<typeof readConfig>} [config]
 */
export function installedPath (name, config = readConfig()) {
  return path.join(config.toolsDirectory, `${name}-${TOOLS[name].pinned}`, TOOLS[name].binary)
}

/**
 * @param {string} nginx  path of the binary
 * @returns {string | null} the directory of its dynamic modules (`nginx -V`), null when it was built without any
 */
export function nginxModulesDirectory (nginx) {
  const { stderr } = spawnSync(nginx, ['-V'], { encoding: 'utf8' })
  return /--modules-path=(\S+)/.exec(stderr ?? '')?.[1] ?? null
}

/**
 * @param {string} name
 * @param {string} binary
 * @returns {string | null} what a tool of the right version still lacks, null if nothing
 */
function lacks (name, binary) {
  if (name === 'toxiproxy') {
    return spawnSync(binary, ['-version'], { encoding: 'utf8' }).stdout.includes('handshake, uplink') ? null : 'toxics handshake and uplink (build harness/links)'
  }
  if (name === 'pandoc') {
    return spawnSync(binary, ['lua', '-e', 'pandoc.json.encode({})']).status === 0 ? null : 'Lua with pandoc.json'
  }
  if (name !== 'nginx') return null
  const modules = nginxModulesDirectory(binary)
  if (modules === null || !existsSync(path.join(modules, 'ngx_http_lua_module.so'))) {
    return 'Lua module (libnginx-mod-http-lua)'
  }
  return findCjson() ? null : 'lua-cjson'
}

/** lua-cjson is a shared object in the directories of LuaJIT's default package.cpath. */
function findCjson () {
  const libraries = ['/usr/lib', '/usr/local/lib']
  const triplets = existsSync('/usr/lib') ? readdirSync('/usr/lib').filter((entry) => entry.endsWith('-linux-gnu')) : []
  return [...libraries, ...triplets.map((triplet) => `/usr/lib/${triplet}`)]
    .some((directory) => existsSync(`${directory}/lua/5.1/cjson.so`))
}

/**
 * @param {string} name
 * @param {string} binary
 * @returns {string | null} the version it prints, null when it does not run
 */
function versionOf (name, binary) {
  const { status, stdout, stderr } = spawnSync(binary, TOOLS[name].versionArgs, { encoding: 'utf8', timeout: 20_000 })
  if (status !== (TOOLS[name].versionStatus ?? 0)) return null
  return /(\d+\.\d+(?:\.\d+)?)/.exec(`${stdout}${stderr}`)?.[1] ?? null
}

/** @param {string} file */
function isExecutable (file) {
  try {
    accessSync(file, constants.X_OK)
    return statSync(file).isFile()
  } catch {
    return false
  }
}

/**
 * @param {string} a  major.minor.patch
 * @param {string} b
 * @returns {number} < 0, 0 or > 0, as for Array.sort
 */
export function compareVersions (a, b) {
  const [left, right] = [a, b].map((version) => version.split('.').map(Number))
  const index = left.findIndex((part, position) => part !== right[position])
  return index === -1 ? 0 : left[index] - right[index]
}
