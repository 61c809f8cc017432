import { execFileSync, spawnSync } from 'node:child_process'
import {
  existsSync, lutimesSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync
} from 'node:fs'
import path from 'node:path'
import { baseName, installedPackages, packageDifferences, provideBase } from './base.js'
import { describeImage, makeImage } from './image-files.js'
import { HERE, ParameterError, ROOT } from './parameters.js'
import { BuildError, createRun } from './run.js'
import { line, listTree, treeDigest } from './tree.js'
import { layWiki, provideBoardModules } from './wiki.js'

const LOCK_FILE = path.join(HERE, 'packages.lock.json')
const BASE_OVERLAY = path.join(HERE, 'overlays/base')
/** What the image is made of. */
const SOURCES = ['wiki-app', 'nginx', 'cdn', 'deploy', 'arm-image', 'package-lock.json']
const BINFMT = '/proc/sys/fs/binfmt_misc'
const PUBLIC_KEY =
  /^(ssh-ed25519|ecdsa-sha2-nistp\d+|ssh-rsa|sk-ssh-ed25519@openssh\.com|sk-ecdsa-sha2-nistp256@openssh\.com) [A-Za-z0-9+/=]+( .*)?$/

/** null outside a checkout @typedef {{commit: string, dirty: boolean} | null} GitState */

/**
 * One build in progress.
 * @typedef {object} Build
 * @property {Record<string, string>} parameters
 * @property {{source_date_epoch: number, packages: Record<string, string>}} lock  packages.lock.json
 * @property {number} epoch  modification time of every file in the image, seconds since 1970
 * @property {string} cache  folder that later builds use again
 * @property {string} output  folder of the image and of the files beside it
 * @property {string} work  temporary folder, on the same disk as `output`, so that files can be moved there
 * @property {string} tree  folder of the root filesystem, in `work`
 * @property {import('./run.js').Run} run
 * @property {(text: string) => void} write  reports, with line breaks
 * @property {(title: string) => void} step  reports the beginning of a step
 */

/**
 * Builds an image and reports each step.
 * @param {object} options
 * @param {Record<string, string>} options.parameters
 * @param {string} options.directory  for builds
 * @param {(text: string) => void} options.write
 * @param {'warn' | 'refuse' | 'renew'} [options.lock]  what to do if Debian's versions differ from packages.lock.json
 * @param {boolean} [options.compress]  also make an .xz
 * @returns {Promise<{image: string, manifest: import('./image-files.js').ImageManifest}>}
 */
export async function buildImage ({ parameters, directory, write, lock: onDifference = 'warn', compress = false }) {
  const startedAt = performance.now()
  const keys = readKeys(parameters.SSH_KEY)
  if (process.getuid?.() !== 0) {
    throw new BuildError('only root can build an image, because its files belong to root and to the users of its services; run: sudo make image')
  }
  const build = beginBuild({ parameters, directory, write })
  try {
    const { packages, differences, nodeModules } = await unpackBase(build, onDifference)
    const git = gitState()
    installWiki(build, { keys, nodeModules, packages, git })
    const digest = digestTree(build)
    const image = await makeImage(build, digest)
    const manifest = await describeImage(build, { image, digest, packages, differences, git, compress })
    const shown = path.relative(process.cwd(), image)
    write(`${shown}: done in ${secondsSince(startedAt)} s, SHA-256 ${manifest.sha256}\n`)
    return { image, manifest }
  } finally {
    rmSync(build.work, { recursive: true, force: true })
  }
}

/**
 * @param {{parameters: Record<string, string>, directory: string, write: (text: string) => void}} options
 * @returns {Build} the caller removes its folder `work`
 */
function beginBuild ({ parameters, directory, write }) {
  const output = path.join(directory, parameters.BOARD)
  const cache = path.join(directory, 'cache')
  mkdirSync(cache, { recursive: true })
  mkdirSync(output, { recursive: true })
  const logFile = path.join(directory, 'build.log')
  rmSync(logFile, { force: true })
  const lock = JSON.parse(readFileSync(LOCK_FILE, 'utf8'))
  const work = mkdtempSync(path.join(directory, 'work-'))
  const startedAt = performance.now()
  let count = 0
  return {
    parameters,
    lock,
    epoch: lock.source_date_epoch,
    cache,
    output,
    work,
    tree: path.join(work, 'tree'),
    run: createRun(logFile, (text) => { if (text.startsWith('I: ')) write(`    ${text.slice(3)}\n`) }),
    write,
    step: (title) => write(`[${++count}] ${title} (${secondsSince(startedAt)} s so far)\n`)
  }
}

/**
 * Unpacks the root filesystem without the wiki, and compares its packages with the lock file.
 * @param {Build} build
 * @param {'warn' | 'refuse' | 'renew'} onDifference
 * @returns {Promise<{packages: Record<string, string>, differences: string[], nodeModules: string}>} `nodeModules`: the
 *   folder of the wiki's npm packages
 */
async function unpackBase (build, onDifference) {
  const { parameters, lock, cache, tree, run, write, step } = build
  step(`Debian ${parameters.SUITE} for ARM (armhf), every package but not the wiki`)
  enableArm()
  const base = await provideBase({
    parameters, lock, overlay: BASE_OVERLAY, directory: cache, run, anew: onDifference === 'renew'
  })
  if (base.cached) write(`    taken from the cache, ${path.basename(base.tar)}: its inputs have not changed\n`)

  step('npm packages of the wiki, by the lock file')
  const nodeModules = await provideBoardModules({ directory: cache, run })

  step('unpack')
  mkdirSync(tree)
  await run('tar', [
    '--extract', '--file', base.tar, '--directory', tree, '--numeric-owner', '--same-permissions', '--exclude=./dev/*'
  ])
  const packages = installedPackages(tree)
  if (onDifference === 'renew') {
    lock.packages = packages
    writeFileSync(LOCK_FILE, `${JSON.stringify(lock, null, 2)}\n`)
    renameSync(base.tar, path.join(cache, baseName({ parameters, lock, overlay: BASE_OVERLAY })))
  }
  const differences = packageDifferences(lock.packages, packages)
  reportDifferences(differences, { refuse: onDifference === 'refuse', write })
  return { packages, differences, nodeModules }
}

/**
 * @param {string[]} differences  from packages.lock.json
 * @param {{refuse: boolean, write: (text: string) => void}} options
 * @throws {BuildError} when there are any and `refuse` is set
 */
function reportDifferences (differences, { refuse, write }) {
  if (differences.length === 0) return
  const text = `${differences.length} packages are not those of packages.lock.json:\n${
    differences.map((difference) => `      ${difference}`).join('\n')
  }`
  if (refuse) {
    throw new BuildError(`${text}\nDebian has newer versions; renew the lock file with \`make image-lock\`, or set MIRROR to a mirror that keeps old versions`)
  }
  write(`    note: ${text}\n`)
}

/**
 * Adds the wiki, its services and settings to the root filesystem.
 * @param {Build} build
 * @param {{keys: string, nodeModules: string, packages: Record<string, string>, git: GitState}} contents
 */
function installWiki ({ parameters, tree, epoch, output, step }, { keys, nodeModules, packages, git }) {
  step('the wiki, its services and settings')
  const { write: lay } = layWiki({ tree, parameters, keys, nodeModules, epoch })
  const packageList = Object.entries(packages).map(([name, version]) => `${name}=${version}\n`).join('')
  lay('/usr/share/stevec/packages.txt', packageList)
  lay('/usr/share/stevec/build.json', `${JSON.stringify({ git, source_date_epoch_s: epoch }, null, 2)}\n`)
  writeFileSync(path.join(output, 'packages.txt'), packageList)
}

/**
 * Sets reproducible modification times, and lists every file.
 * @param {Build} build
 * @returns {string} the digest of the list
 */
function digestTree ({ tree, epoch, output, step }) {
  step('list and digest every file')
  const entries = listTree(tree)
  // Installing files changed the modification times of their folders.
  // https://reproducible-builds.org/specs/source-date-epoch/
  for (const entry of entries.filter((candidate) => candidate.modified_s > epoch)) {
    lutimesSync(path.join(tree, entry.path), epoch, epoch)
    entry.modified_s = epoch
  }
  lutimesSync(tree, epoch, epoch)
  writeFileSync(path.join(output, 'files.jsonl'), entries.map((entry) => `${line(entry)}\n`).join(''))
  return treeDigest(entries)
}

/**
 * @param {string} file  or "none"
 * @returns {string} the keys, one a line
 * @throws {ParameterError} when it is not a file of public keys: a private key must never get into an image
 */
export function readKeys (file) {
  if (file === 'none') return ''
  let text
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    throw new ParameterError(`SSH_KEY=${file} cannot be read: ${/** @type {Error} */ (error).message}`)
  }
  const lines = text.split('\n').map((row) => row.trim()).filter((row) => row !== '' && !row.startsWith('#'))
  if (lines.length === 0 || !lines.every((row) => PUBLIC_KEY.test(row))) {
    throw new ParameterError(`SSH_KEY=${file} is not a file of public ssh keys (such as ~/.ssh/id_ed25519.pub)`)
  }
  return `${lines.join('\n')}\n`
}

/**
 * Enables ARM programs: packages run their own scripts during the installation. Where systemd runs, qemu's package has
 * registered the emulator with the kernel; in a container it has not.
 * @throws {BuildError}
 */
function enableArm () {
  const works = () => spawnSync('arch-test', ['armhf']).status === 0
  if (works()) return
  const rule = '/usr/lib/binfmt.d/qemu-arm.conf'
  try {
    if (!existsSync(path.join(BINFMT, 'register'))) {
      execFileSync('mount', ['-t', 'binfmt_misc', 'binfmt_misc', BINFMT], { stdio: 'ignore' })
    }
    writeFileSync(path.join(BINFMT, 'register'), readFileSync(rule, 'utf8').trim())
  } catch { /* the check below decides */ }
  if (!works()) {
    throw new BuildError('this machine cannot run programs for ARM; run `./stevec setup --with image`, and in a container let it mount binfmt_misc')
  }
}

/** @param {number} startedAt */
const secondsSince = (startedAt) => Math.round((performance.now() - startedAt) / 1000)

/** @returns {GitState} */
function gitState () {
  const git = (/** @type {string[]} */ ...args) => spawnSync('git', ['-C', ROOT, ...args], { encoding: 'utf8' })
  const commit = git('rev-parse', 'HEAD')
  return commit.status === 0
    ? {
        commit: commit.stdout.trim(),
        dirty: git('status', '--porcelain', '--', ...SOURCES).stdout !== ''
      }
    : null
}
