import { copyFileSync, mkdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { BOARDS } from '../recipe.js'
import { makeCard } from './card.js'
import { BuildError } from './run.js'
import { listTree, sha256File } from './tree.js'

/** @typedef {import('./build.js').Build} Build */
/** @typedef {import('./build.js').GitState} GitState */

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
 * @property {GitState} git
 * @property {{count: number, differences_from_lock: string[]}} packages
 */

/**
 * Makes the image of the card, with kernel and initrd beside it.
 * @param {Build} build
 * @param {string} digest  of the root filesystem
 * @returns {Promise<string>} its path
 */
export async function makeImage ({ parameters, tree, epoch, work, output, run, step }, digest) {
  step(`the card: boot loader of ${BOARDS[parameters.BOARD].name}, ext4, ${parameters.IMAGE_SIZE}`)
  const made = path.join(work, 'card', 'stevec.img')
  mkdirSync(path.dirname(made))
  await makeCard({ tree, digest, parameters, epoch, work, output: made, run })
  for (const file of /** @type {const} */ (['vmlinuz', 'initrd.img'])) {
    copyFileSync(bootFile(tree, file), path.join(output, file))
  }
  const image = path.join(output, 'stevec.img')
  rmSync(`${image}.xz`, { force: true })
  renameSync(made, image)
  return image
}

/**
 * Writes the manifest and the checksums; compresses the image if wanted.
 * @param {Build} build
 * @param {{image: string, digest: string, packages: Record<string, string>, differences: string[], git: GitState,
 *   compress: boolean}} facts
 * @returns {Promise<ImageManifest>}
 */
export async function describeImage (build, { image, digest, packages, differences, git, compress }) {
  const { parameters, epoch, output, run, step } = build
  step('manifest and SHA-256')
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
  const files = [
    'stevec.img', 'vmlinuz', 'initrd.img', 'manifest.json', 'packages.txt', 'files.jsonl',
    ...(compress ? ['stevec.img.xz'] : [])
  ]
  const sums = files.map((file) =>
    `${file === 'stevec.img' ? manifest.sha256 : sha256File(path.join(output, file))}  ${file}\n`)
  writeFileSync(path.join(output, 'SHA256SUMS'), sums.join(''))
  return manifest
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
