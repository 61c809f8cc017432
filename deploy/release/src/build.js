import { execFile } from 'node:child_process'
import {
  chmodSync, copyFileSync, existsSync, lutimesSync, mkdirSync, mkdtempSync,
  readdirSync, renameSync, rmSync, statSync, writeFileSync
} from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import { layApplication } from './application.js'
import { makePackage } from './debian.js'
import { provideNodeModules } from './npm-packages.js'
import { layOver } from './overlay.js'
import { HERE } from './units.js'
import { versionOf } from './version.js'

const OUTPUT_MAX_BYTES = 16 * 1024 ** 2
const CPUS = ['x64', 'arm64']
/** Of SQLite, and of what makes thumbnails. @param {string} cpu @returns {string[]} */
const packagesFor = (cpu) =>
  [`@libsql/linux-${cpu}-gnu`, `@img/sharp-linux-${cpu}`, `@img/sharp-libvips-linux-${cpu}`]
/** Of deploy/release, for the machine that it is installed on. */
const INSTALLED = ['programs', 'units', 'etc']

/** @typedef {{tarball: string, deb: string, version: import('./version.js').Version}} Release */

/** @type {import('./npm-packages.js').Run} */
const run = async (command, args) => {
  await promisify(execFile)(command, args, {
    env: { ...process.env, LC_ALL: 'C.UTF-8' }, maxBuffer: OUTPUT_MAX_BYTES
  })
}

/**
 * Builds the tarball and the Debian package of a checkout. The same commit gives the same bytes.
 * @param {object} options
 * @param {string} options.source  the checkout whose wiki is packed; the packaging is this checkout's
 * @param {string} options.directory  for the two files, and for a cache of npm's packages
 * @param {string | null} [options.node]  a program of Node to bundle; null: the machine's own is used
 * @returns {Promise<Release>}
 */
export async function buildRelease ({ source, directory, node = null }) {
  const version = versionOf(source)
  mkdirSync(directory, { recursive: true })
  // What no machine needs: optional packages only change the priority of threads, but for those of packagesFor.
  const nodeModules = await provideNodeModules({ source, directory, target: ['--omit=optional'], run })
  const programs = await providePrograms({ source, directory, run })
  const work = mkdtempSync(path.join(directory, 'work-'))
  try {
    const name = `stevec-${version.name}`
    const tree = path.join(work, name)
    layTree({ source, nodeModules, programs, tree, version, node })
    const suffix = node === null ? '' : `-node-${process.platform}-${process.arch}`
    const tarball = path.join(work, `${name}${suffix}.tar.gz`)
    await pack(tree, tarball, version.epoch_s)
    const deb = await makePackage({ tree, work, version, withNode: node !== null, run })
    return { version, tarball: publish(tarball, directory), deb: publish(deb, directory) }
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
}

/**
 * One release is for all of these CPUs.
 * @param {{source: string, directory: string, run: import('./npm-packages.js').Run}} options
 * @returns {Promise<Map<string, string>>} by name, folders of packages with machine code
 * @throws {Error} when one is missing
 */
async function providePrograms ({ source, directory, run }) {
  const programs = new Map()
  for (const cpu of CPUS) {
    const target = ['--os=linux', `--cpu=${cpu}`, '--libc=glibc']
    const modules = await provideNodeModules({ source, directory, target, run })
    for (const name of packagesFor(cpu)) {
      const folder = path.join(modules, name)
      if (!existsSync(path.join(folder, 'package.json'))) throw new Error(`npm has not installed ${folder}`)
      programs.set(name, folder)
    }
  }
  return programs
}

/** @param {string} file @param {string} directory */
function publish (file, directory) {
  const published = path.join(directory, path.basename(file))
  renameSync(file, published)
  return published
}

/**
 * @param {object} options
 * @param {string} options.source
 * @param {string} options.nodeModules
 * @param {Map<string, string>} options.programs  see providePrograms
 * @param {string} options.tree
 * @param {import('./version.js').Version} options.version
 * @param {string | null} options.node
 */
function layTree ({ source, nodeModules, programs, tree, version, node }) {
  const epoch = version.epoch_s
  layApplication({ source, nodeModules, target: tree, epoch })
  for (const [name, folder] of programs) layOver(folder, path.join(tree, 'node_modules', name), { epoch })
  const deploy = path.join(tree, 'deploy')
  for (const part of INSTALLED) layOver(path.join(HERE, part), path.join(deploy, 'release', part), { epoch })
  layOver(path.join(HERE, '..'), deploy, { epoch, keep: (relative) => relative === 'package.json' })
  // The units' documentation, and what wiki.env refers to.
  layOver(path.join(source, 'wiki-app'), path.join(tree, 'wiki-app'), { epoch, keep: (file) => file === 'README.md' })
  layOver(path.join(source, 'docs'), path.join(tree, 'docs'), { epoch, keep: (file) => file === 'operations.md' })
  writeFileSync(path.join(tree, 'release.json'), `${JSON.stringify(version, null, 2)}\n`)
  if (node !== null) bundle(node, path.join(tree, 'bin/node'))
  settle(tree, epoch)
}

/**
 * @param {string} node
 * @param {string} target
 */
function bundle (node, target) {
  rmSync(target)
  copyFileSync(node, target)
  chmodSync(target, 0o755)
  const license = path.join(path.dirname(node), '../LICENSE')
  if (existsSync(license)) copyFileSync(license, `${target}.LICENSE`)
}

/**
 * Gives every file and folder the rights and the time that the release has.
 * @param {string} folder
 * @param {number} epoch
 */
function settle (folder, epoch) {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const file = path.join(folder, entry.name)
    if (entry.isDirectory()) settle(file, epoch)
    else {
      // The umask may have removed rights.
      if (entry.isFile()) chmodSync(file, statSync(file).mode & 0o100 ? 0o755 : 0o644)
      lutimesSync(file, epoch, epoch)
    }
  }
  chmodSync(folder, 0o755)
  lutimesSync(folder, epoch, epoch)
}

/**
 * https://reproducible-builds.org/docs/archives/
 * @param {string} tree
 * @param {string} tarball
 * @param {number} epoch
 */
async function pack (tree, tarball, epoch) {
  const tar = tarball.replace(/\.gz$/, '')
  await run('tar', [
    '--create', '--file', tar, '--directory', path.dirname(tree), '--format=gnu', '--sort=name', `--mtime=@${epoch}`,
    '--owner=0', '--group=0', '--numeric-owner', path.basename(tree)
  ])
  // Without -n gzip writes the time and the name of the file.
  await run('gzip', ['-n', '-6', tar])
}
