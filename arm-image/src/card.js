import { execFileSync } from 'node:child_process'
import { mkdirSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { BOARDS } from '../recipe.js'
import { BuildError } from './run.js'

const MIB = 1024 ** 2
/** The CPU's ROM expects the first stage at 8 KiB. https://linux-sunxi.org/Bootable_SD_card */
export const SPL_OFFSET_BYTES = 8 * 1024
export const ROOT_OFFSET_BYTES = 4 * MIB

/** ext4 features that are newer than U-Boot's support for ext4. */
const FEATURES_OFF = '^metadata_csum_seed,^orphan_file'

/**
 * Builds the card: a partition table, the boot loader and one ext4 filesystem, without loop devices.
 * @param {object} options
 * @param {string} options.tree
 * @param {string} options.digest  of the tree; all random values are derived from it
 * @param {Record<string, string>} options.parameters
 * @param {number} options.epoch
 * @param {string} options.work  a folder for intermediate files
 * @param {string} options.output  the image file
 * @param {import('./run.js').Run} options.run
 */
export async function makeCard ({ tree, digest, parameters, epoch, work, output, run }) {
  const sizeBytes = Number.parseInt(parameters.IMAGE_SIZE) * 1024 ** 3
  const uuid = digest.replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12}).*$/, '$1-$2-4$3-a$4-$5')
  const rootfs = path.join(work, 'rootfs.ext4')
  rmSync(rootfs, { force: true })
  writeFileSync(rootfs, '')
  truncateSync(rootfs, sizeBytes - ROOT_OFFSET_BYTES)
  await run(
    'mke2fs',
    [
      '-q', '-t', 'ext4', '-L', 'stevec', '-U', uuid, '-E', `hash_seed=${uuid},root_owner=0:0`, '-O', FEATURES_OFF,
      '-m', '1', '-d', tree, rootfs
    ],
    { E2FSPROGS_FAKE_TIME: String(epoch) }
  )
  await setTimes({ rootfs, epoch, work, run })

  const { uBoot } = BOARDS[parameters.BOARD]
  const loader = uBoot === null ? null : path.join(tree, 'usr/lib/u-boot', uBoot, 'u-boot-sunxi-with-spl.bin')
  if (loader !== null && SPL_OFFSET_BYTES + statSync(loader).size > ROOT_OFFSET_BYTES) {
    throw new BuildError(`${loader} does not fit in front of the filesystem`)
  }
  const configuration = path.join(work, 'genimage.cfg')
  writeFileSync(
    configuration,
    genimageConfiguration({ name: path.basename(output), rootfs, loader, signature: digest.slice(0, 8) })
  )
  mkdirSync(path.join(work, 'empty'), { recursive: true })
  await run('genimage', [
    '--config', configuration,
    '--rootpath', path.join(work, 'empty'),
    '--tmppath', path.join(work, 'genimage'),
    '--inputpath', work,
    '--outputpath', path.dirname(output)
  ])
  rmSync(rootfs)
  if (statSync(output).size !== sizeBytes) truncateSync(output, sizeBytes)
}

/**
 * Sets all access and change times. mke2fs up to 1.47.0 copies them from the source files, where a program cannot set
 * the change time. debugfs(8)
 * @param {object} options
 * @param {string} options.rootfs  freshly built: its used inodes are the first ones
 * @param {number} options.epoch
 * @param {string} options.work
 * @param {import('./run.js').Run} options.run
 */
async function setTimes ({ rootfs, epoch, work, run }) {
  const head = execFileSync('dumpe2fs', ['-h', rootfs], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })
  const count = (/** @type {string} */ what) => Number(new RegExp(`^${what}: +(\\d+)$`, 'm').exec(head)?.[1])
  const last = count('Inode count') - count('Free inodes')
  const commands = path.join(work, 'times.debugfs')
  writeFileSync(
    commands,
    Array.from({ length: last }, (_, index) =>
      ['atime', 'ctime'].map((field) => `set_inode_field <${index + 1}> ${field} @${epoch}\n`).join('')
    ).join('')
  )
  await run('debugfs', ['-w', '-f', commands, rootfs], { E2FSPROGS_FAKE_TIME: String(epoch) })
}

/**
 * @param {{name: string, rootfs: string, loader: string | null, signature: string}} card
 * @returns {string} https://github.com/pengutronix/genimage#the-configuration-file
 */
export function genimageConfiguration ({ name, rootfs, loader, signature }) {
  const boot = loader === null
    ? ''
    : `  partition boot-loader {
    in-partition-table = false
    offset = ${SPL_OFFSET_BYTES}
    image = "${loader}"
  }
`
  return `image "${name}" {
  hdimage {
    partition-table-type = "mbr"
    disk-signature = 0x${signature}
    align = 1M
  }
${boot}  partition root {
    partition-type = 0x83
    bootable = true
    offset = ${ROOT_OFFSET_BYTES}
    image = "${rootfs}"
  }
}
`
}
