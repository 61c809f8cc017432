import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import path from 'node:path'
import { EXCLUDED_PATHS, INCLUDED_PATHS, PACKAGES } from '../recipe.js'
import { layOver } from '@stevec/deploy/release/overlay'
import { listTree } from './tree.js'

/** Files that differ between installations and that nothing needs, or that two boards must not share. */
const FORGOTTEN = [
  '/etc/ssh/ssh_host_*', '/var/log/*', '/var/cache/ldconfig/aux-cache', '/var/cache/apt/*', '/var/cache/debconf/*-old',
  '/var/lib/dpkg/*-old', '/var/lib/systemd/random-seed', '/etc/resolv.conf', '/etc/*-'
]

/**
 * Provides the base: Debian with every package but without the wiki, as a tar file, built once for each set of inputs.
 * @param {object} options
 * @param {Record<string, string>} options.parameters
 * @param {{source_date_epoch: number, packages: Record<string, string>}} options.lock
 * @param {string} options.overlay  the folder overlays/base
 * @param {string} options.directory  of the cache
 * @param {import('./run.js').Run} options.run
 * @param {boolean} [options.anew]  true: ignore the cache
 * @returns {Promise<{tar: string, cached: boolean}>}
 */
export async function provideBase ({ parameters, lock, overlay, directory, run, anew = false }) {
  const tar = path.join(directory, baseName({ parameters, lock, overlay }))
  if (existsSync(tar) && !anew) return { tar, cached: true }
  const staged = path.join(directory, `unfinished-overlay-${process.pid}`)
  rmSync(staged, { recursive: true, force: true })
  mkdirSync(directory, { recursive: true })
  layOver(overlay, staged, { epoch: lock.source_date_epoch })
  const unfinished = path.join(directory, `unfinished-base-${process.pid}.tar`)
  await run('mmdebstrap', mmdebstrapArguments(parameters, staged, unfinished), {
    SOURCE_DATE_EPOCH: String(lock.source_date_epoch)
  })
  renameSync(unfinished, tar)
  rmSync(staged, { recursive: true })
  return { tar, cached: false }
}

/**
 * @param {Record<string, string>} parameters
 * @param {string} overlay  with the image's metadata
 * @param {string} output
 * @returns {string[]} https://manpages.debian.org/trixie/mmdebstrap/mmdebstrap.1.en.html
 */
export function mmdebstrapArguments (parameters, overlay, output) {
  const { SUITE, MIRROR, SECURITY_MIRROR } = parameters
  return [
    '--mode=root', '--format=tar', '--architectures=armhf', '--variant=minbase',
    `--include=${PACKAGES.join(',')}`,
    '--aptopt=Apt::Install-Recommends "false"',
    // Our settings exist before the package that they belong to is installed; dpkg must not ask about them.
    '--dpkgopt=force-confold',
    ...EXCLUDED_PATHS.map((pattern) => `--dpkgopt=path-exclude=${pattern}`),
    ...INCLUDED_PATHS.map((pattern) => `--dpkgopt=path-include=${pattern}`),
    `--essential-hook=sync-in ${overlay} /`,
    // The kernel may be installed before the package that writes U-Boot's menu.
    '--customize-hook=chroot "$1" u-boot-update',
    // Empty, not absent: each board creates its own, and systemd does not start its interactive first boot.
    '--customize-hook=: > "$1/etc/machine-id"',
    `--customize-hook=rm -rf ${FORGOTTEN.map((pattern) => `"$1"${pattern}`).join(' ')}`,
    SUITE, output,
    `deb ${MIRROR} ${SUITE} main`,
    ...(SECURITY_MIRROR === 'none' ? [] : [`deb ${SECURITY_MIRROR} ${SUITE}-security main`])
  ]
}

/**
 * @param {object} inputs
 * @param {Record<string, string>} inputs.parameters
 * @param {{source_date_epoch: number, packages: Record<string, string>}} inputs.lock
 * @param {string} inputs.overlay
 * @returns {string} a file name that depends on mmdebstrap's arguments, the locked versions and every overlay file
 */
export function baseName ({ parameters, lock, overlay }) {
  const hash = createHash('sha256')
  hash.update(
    JSON.stringify([mmdebstrapArguments(parameters, 'overlay', 'output'), lock.source_date_epoch, lock.packages])
  )
  for (const { path: file, type, target, sha256 } of listTree(overlay)) {
    hash.update(JSON.stringify([file, type, target, sha256]))
  }
  return `base-${hash.digest('hex').slice(0, 16)}.tar`
}

/**
 * @param {string} tree  an unpacked root filesystem
 * @returns {Record<string, string>} installed package → version, sorted by name
 */
export function installedPackages (tree) {
  const entries = readFileSync(path.join(tree, 'var/lib/dpkg/status'), 'utf8').split('\n\n').flatMap((stanza) => {
    const field = (/** @type {string} */ name) => new RegExp(`^${name}: (.*)$`, 'm').exec(stanza)?.[1] ?? ''
    return field('Status') === 'install ok installed' ? [[field('Package'), field('Version')]] : []
  })
  return Object.fromEntries(entries.sort(([a], [b]) => a < b ? -1 : 1))
}

/**
 * @param {Record<string, string>} locked
 * @param {Record<string, string>} installed
 * @returns {string[]} one line for each package that differs
 */
export function packageDifferences (locked, installed) {
  return [...new Set([...Object.keys(locked), ...Object.keys(installed)])].sort().flatMap((name) =>
    locked[name] === installed[name]
      ? []
      : [`${name} ${locked[name] ?? '(not locked)'} → ${installed[name] ?? '(not installed)'}`])
}
