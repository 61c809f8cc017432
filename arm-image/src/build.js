import { execFileSync, spawnSync } from 'node:child_process'
import {
  copyFileSync, existsSync, lutimesSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, statSync,
  writeFileSync
} from 'node:fs'
import path from 'node:path'
import { BOARDS } from '../recipe.js'
import { baseName, installedPackages, packageDifferences, provideBase } from './base.js'
import { makeCard } from './card.js'
import { HERE, ParameterError, ROOT } from './parameters.js'
import { BuildError, createRun } from './run.js'
import { line, listTree, sha256File, treeDigest } from './tree.js'
import { layWiki, provideNodeModules } from './wiki.js'

const LOCK_FILE = path.join(HERE, 'packages.lock.json')
const BINFMT = '/proc/sys/fs/binfmt_misc'
const PUBLIC_KEY =
  /^(ssh-ed25519|ecdsa-sha2-nistp\d+|ssh-rsa|sk-ssh-ed25519@openssh\.com|sk-ecdsa-sha2-nistp256@openssh\.com) [A-Za-z0-9+/=]+( .*)?$/

/**
 * The description of an image, stored next to it.
 * @typedef {object} ImageManifest
 * @property {1} schema_version
 * @property {string} board
 * @property {string} image  file name
 * @property {number} size_bytes
 * @property {string} sha256  of the image
 * @property {string} rootfs_sha256  of the list of all files; equal for equal inputs
 * @property {number} source_date_epoch_s
 * @property {Record<string, string>} parameters  without the database's URI, which may hold a password
 * @property {{commit: string, dirty: boolean} | null} git
 * @property {{count: number, differences_from_lock: string[]}} packages
 */

/**
 * Builds an image and reports each step.
 * @param {object} options
 * @param {Record<string, string>} options.parameters
 * @param {string} options.directory  for builds
 * @param {(text: string) => void} options.write
 * @param {'warn' | 'refuse' | 'renew'} [options.lock]  what to do if Debian's versions differ from packages.lock.json
 * @param {boolean} [options.compress]  also make an .xz
 * @returns {Promise<{image: string, manifest: ImageManifest}>}
 */
export async function buildImage ({ parameters, directory, write, lock: onDifference = 'warn', compress = false }) {
  const startedAt = performance.now()
  const keys = readKeys(parameters.SSH_KEY)
  if (process.getuid?.() !== 0) {
    throw new BuildError('only root can build an image, because its files belong to root and to the users of its services; run: sudo make image')
  }
  const output = path.join(directory, parameters.BOARD)
  const cache = path.join(directory, 'cache')
  mkdirSync(cache, { recursive: true })
  mkdirSync(output, { recursive: true })
  const logFile = path.join(directory, 'build.log')
  rmSync(logFile, { force: true })
  const run = createRun(logFile, (text) => { if (text.startsWith('I: ')) write(`    ${text.slice(3)}\n`) })
  const lock = JSON.parse(readFileSync(LOCK_FILE, 'utf8'))
  const overlay = path.join(HERE, 'overlays/base')
  const epoch = lock.source_date_epoch
  // On the same disk as the result, so that files can be moved there; used by this build only.
  const work = mkdtempSync(path.join(directory, 'work-'))
  const tree = path.join(work, 'tree')
  const image = path.join(output, 'stevec.img')
  let count = 0
  const step = (/** @type {string} */ says) =>
    write(`[${++count}] ${says} (${Math.round((performance.now() - startedAt) / 1000)} s so far)\n`)
  try {
    step(`Debian ${parameters.SUITE} for ARM (armhf), every package but not the wiki`)
    enableArm()
    const base = await provideBase({ parameters, lock, overlay, directory: cache, run, anew: onDifference === 'renew' })
    if (base.cached) write(`    taken from the cache, ${path.basename(base.tar)}: nothing of it has changed\n`)

    step('npm packages of the wiki, by the lock file')
    const nodeModules = await provideNodeModules({ directory: cache, run })

    step('unpack')
    mkdirSync(tree)
    await run('tar', [
      '--extract', '--file', base.tar, '--directory', tree, '--numeric-owner', '--same-permissions', '--exclude=./dev/*'
    ])
    const packages = installedPackages(tree)
    if (onDifference === 'renew') {
      lock.packages = packages
      writeFileSync(LOCK_FILE, `${JSON.stringify(lock, null, 2)}\n`)
      renameSync(base.tar, path.join(cache, baseName({ parameters, lock, overlay })))
    }
    const differences = packageDifferences(lock.packages, packages)
    if (differences.length > 0) {
      const text = `${differences.length} packages are not those of packages.lock.json:\n${
        differences.map((difference) => `      ${difference}`).join('\n')
      }`
      if (onDifference === 'refuse') {
        throw new BuildError(`${text}\nDebian has moved on; renew the lock with \`make image-lock\`, or name in MIRROR one that keeps old versions`)
      }
      write(`    note: ${text}\n`)
    }

    step('the wiki, its services and settings')
    const { write: lay } = layWiki({ tree, parameters, keys, nodeModules, epoch })
    const git = gitState()
    const packageList = Object.entries(packages).map(([name, version]) => `${name}=${version}\n`).join('')
    lay('/usr/share/stevec/packages.txt', packageList)
    lay('/usr/share/stevec/build.json', `${JSON.stringify({ git, source_date_epoch_s: epoch }, null, 2)}\n`)

    step('list and digest every file')
    const entries = listTree(tree)
    // Installing files changed the modification times of their folders.
    // https://reproducible-builds.org/specs/source-date-epoch/
    for (const entry of entries.filter((candidate) => candidate.modified_s > epoch)) {
      lutimesSync(path.join(tree, entry.path), epoch, epoch)
      entry.modified_s = epoch
    }
    lutimesSync(tree, epoch, epoch)
    const digest = treeDigest(entries)
    writeFileSync(path.join(output, 'files.jsonl'), entries.map((entry) => `${line(entry)}\n`).join(''))
    writeFileSync(path.join(output, 'packages.txt'), packageList)

    step(`the card: boot loader of ${BOARDS[parameters.BOARD].name}, ext4, ${parameters.IMAGE_SIZE}`)
    const made = path.join(work, 'card', 'stevec.img')
    mkdirSync(path.dirname(made))
    await makeCard({ tree, digest, parameters, epoch, work, output: made, run })
    for (
      const file of /** @type {const} */ (['vmlinuz', 'initrd.img'])
    ) copyFileSync(bootFile(tree, file), path.join(output, file))

    step('manifest and SHA-256')
    rmSync(`${image}.xz`, { force: true })
    renameSync(made, image)
    const { SSH_KEY, MONGODB_URI: _, ...shown } = parameters
    /** @type {ImageManifest} */
    const manifest = {
      schema_version: 1,
      board: parameters.BOARD,
      image: path.basename(image),
      size_bytes: statSync(image).size,
      sha256: sha256File(image),
      rootfs_sha256: digest,
      source_date_epoch_s: epoch,
      parameters: { ...shown, SSH_KEY: SSH_KEY === 'none' ? 'none' : 'given' },
      git,
      packages: { count: Object.keys(packages).length, differences_from_lock: differences }
    }
    writeFileSync(path.join(output, 'manifest.json'), `${JSON.stringify(manifest, null, 2)}\n`)
    if (compress) {
      step('xz, for download')
      await run('xz', ['--keep', '--force', '--threads=0', '-6', image])
    }
    const sums = [
      'stevec.img', 'vmlinuz', 'initrd.img', 'manifest.json', 'packages.txt', 'files.jsonl',
      ...(compress ? ['stevec.img.xz'] : [])
    ]
    writeFileSync(
      path.join(output, 'SHA256SUMS'),
      sums
        .map((file) => `${file === 'stevec.img' ? manifest.sha256 : sha256File(path.join(output, file))}  ${file}\n`)
        .join('')
    )
    write(
      `${path.relative(process.cwd(), image)}: done in ${
        Math.round((performance.now() - startedAt) / 1000)
      } s, SHA-256 ${manifest.sha256}\n`
    )
    return { image, manifest }
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
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

/**
 * @param {string} tree
 * @param {'vmlinuz' | 'initrd.img'} name
 * @returns {string} the path of this file of the only kernel in /boot
 */
function bootFile (tree, name) {
  const [found, ...more] = listTree(path.join(tree, 'boot')).filter(
    (entry) => entry.type === 'file' && entry.path.startsWith(`${name}-`)
  )
  if (found === undefined || more.length > 0) {
    throw new BuildError(`the root filesystem has ${found ? 'more than one' : 'no'} /boot/${name}-*`)
  }
  return path.join(tree, 'boot', found.path)
}

/** @returns {{commit: string, dirty: boolean} | null} null outside a checkout */
function gitState () {
  const git = (/** @type {string[]} */ ...args) => spawnSync('git', ['-C', ROOT, ...args], { encoding: 'utf8' })
  const commit = git('rev-parse', 'HEAD')
  return commit.status === 0
    ? {
        commit: commit.stdout.trim(),
        dirty: git('status', '--porcelain', '--', 'wiki-app', 'nginx', 'arm-image', 'package-lock.json').stdout !== ''
      }
    : null
}
