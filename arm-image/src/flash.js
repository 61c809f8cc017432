import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  closeSync, existsSync, fsyncSync, openSync, readdirSync, readFileSync, readSync, realpathSync, statSync, writeSync
} from 'node:fs'
import path from 'node:path'
import { sha256File } from './tree.js'

const CHUNK_BYTES = 4 * 1024 ** 2
/** sysfs counts in these sectors for every disk. https://docs.kernel.org/admin-guide/abi-stable-files.html */
const SECTOR_BYTES = 512
/** No card is larger yet, but a disk with user data may be. */
const SIZE_MAX_BYTES = 2 * 1024 ** 4

/** The target must not be written to, or writing failed; the message gives the reason. */
export class FlashError extends Error {}

/**
 * Where to read the kernel's view of a disk; tests pass their own files.
 * @typedef {object} Kernel
 * @property {string} sys  /sys
 * @property {string} mountinfo  /proc/self/mountinfo
 * @property {string} swaps  /proc/swaps
 */

/** @type {Kernel} */
export const KERNEL = Object.freeze({ sys: '/sys', mountinfo: '/proc/self/mountinfo', swaps: '/proc/swaps' })

/**
 * Checks that a disk may be overwritten.
 * @param {string} name  of a block device in /sys/class/block, such as sdb
 * @param {number} imageBytes
 * @param {Kernel} [kernel]
 * @returns {{model: string, sizeBytes: number}}
 * @throws {FlashError} when it is not a whole, removable, unused disk that the image fits on
 */
export function checkDisk (name, imageBytes, kernel = KERNEL) {
  const folder = path.join(kernel.sys, 'class/block', name)
  if (!existsSync(folder)) throw new FlashError(`there is no disk ${name}`)
  if (existsSync(path.join(folder, 'partition'))) {
    throw new FlashError(`${name} is a partition; use the whole disk, ${path.basename(path.dirname(realpathSync(folder)))}`)
  }
  // Before the other checks, so that the message names this reason.
  const uses = usesOf(name, kernel)
  const system = uses.find(({ where }) => ['/', '/boot', '/boot/efi', '/usr', '/var', '/home', 'swap'].includes(where))
  if (system !== undefined) {
    throw new FlashError(`${name} holds the running system (${system.device} is ${system.where})`)
  }
  // Card readers without USB report that they are not removable, although the card is.
  const removable = read(folder, 'removable') === '1' || read(folder, 'device/type') === 'SD'
  if (!removable) throw new FlashError(`${name} is not removable, so it is not a card`)
  if (read(folder, 'ro') === '1') throw new FlashError(`${name} is write-protected`)
  const sizeBytes = Number(read(folder, 'size')) * SECTOR_BYTES
  if (!(sizeBytes > 0)) throw new FlashError(`there is no card in ${name}`)
  if (sizeBytes < imageBytes) {
    throw new FlashError(`${name} has ${gigabytes(sizeBytes)}, and the image needs ${gigabytes(imageBytes)}`)
  }
  if (sizeBytes > SIZE_MAX_BYTES) throw new FlashError(`${name} has ${gigabytes(sizeBytes)}, too much for a card`)
  if (uses.length > 0) {
    throw new FlashError(`${name} is in use (${uses.map(({ device, where }) => `${device} is ${where}`).join(', ')}); unmount it first`)
  }
  return {
    sizeBytes,
    model: [read(folder, 'device/vendor'), read(folder, 'device/model') || read(folder, 'device/name')]
      .filter(Boolean)
      .join(' ') || 'no name'
  }
}

/**
 * @param {string} name
 * @param {Kernel} kernel
 * @returns {{device: string, where: string}[]} mounts and swap on the disk, its partitions, and devices on top of them
 *   (RAID, LVM, encryption)
 */
function usesOf (name, kernel) {
  /** Maps a device's number, such as "8:1", to its name. @type {Map<string, string>} */
  const devices = new Map()
  const follow = (/** @type {string} */ device) => {
    const folder = path.join(kernel.sys, 'class/block', device)
    const number = read(folder, 'dev')
    if (number === '' || devices.has(number)) return
    devices.set(number, device)
    for (const entry of readdirSync(folder)) if (existsSync(path.join(folder, entry, 'partition'))) follow(entry)
    if (existsSync(path.join(folder, 'holders'))) {
      for (const holder of readdirSync(path.join(folder, 'holders'))) follow(holder)
    }
  }
  follow(name)
  const names = new Set(devices.values())
  const mounts = readFileSync(kernel.mountinfo, 'utf8').trimEnd().split('\n').flatMap((row) => {
    // proc_pid_mountinfo(5): field 3 is the device number, field 5 the mount point; type and source follow " - ".
    // btrfs uses its own device numbers.
    const fields = row.split(' ')
    const source = fields[fields.indexOf('-') + 2] ?? ''
    const device =
      devices.get(fields[2]) ??
      (source.startsWith('/dev/') && names.has(deviceName(source)) ? deviceName(source) : undefined)
    return device === undefined ? [] : [{ device, where: fields[4] }]
  })
  const swaps = readFileSync(kernel.swaps, 'utf8')
    .trimEnd()
    .split('\n')
    .slice(1)
    .map((row) => deviceName(row.split(/\s/)[0]))
    .filter((device) => names.has(device))
    .map((device) => ({ device, where: 'swap' }))
  return [...mounts, ...swaps]
}

/** @param {string} file */
function deviceName (file) {
  return path.basename(existsSync(file) ? realpathSync(file) : file)
}

/**
 * @param {string} folder
 * @param {string} file
 */
function read (folder, file) {
  try {
    return readFileSync(path.join(folder, file), 'utf8').trim()
  } catch {
    return ''
  }
}

/** @param {number} bytes */
export const gigabytes = (bytes) => `${(bytes / 1e9).toFixed(1)} GB`

/**
 * @param {string} device  a path
 * @returns {string} its name in /sys/class/block
 * @throws {FlashError} when it is not a block device
 */
export function blockDeviceName (device) {
  const status = statSync(device, { throwIfNoEntry: false })
  if (status === undefined) throw new FlashError(`there is no ${device}`)
  if (!status.isBlockDevice()) throw new FlashError(`${device} is not a disk`)
  return path.basename(realpathSync(device))
}

/**
 * Writes an image to a card and verifies it by reading it back.
 * @param {object} options
 * @param {string} options.image
 * @param {string} options.sha256  of the image, from its manifest
 * @param {string} options.target
 * @param {(phase: 'write' | 'verify', doneBytes: number, totalBytes: number) => void} [options.onProgress]
 * @throws {FlashError} when the image does not match its manifest, or the card does not return what was written
 */
export function writeImage ({ image, sha256, target, onProgress = () => {} }) {
  const totalBytes = statSync(image).size
  // Before anything is overwritten. It also reads the file into the page cache, for the write.
  if (sha256File(image) !== sha256) {
    throw new FlashError(`${image} is damaged: its SHA-256 is not the one in manifest.json; build or fetch it again`)
  }
  const isDevice = statSync(target).isBlockDevice()
  const source = openSync(image, 'r')
  // O_EXCL: the kernel refuses the open if somebody has mounted the disk meanwhile (open(2)).
  const card = openSync(target, isDevice ? 0o2 | 0o200 : 'r+')
  const written = createHash('sha256')
  try {
    const buffer = Buffer.alloc(CHUNK_BYTES)
    for (let doneBytes = 0; doneBytes < totalBytes;) {
      const length = readSync(source, buffer, 0, CHUNK_BYTES, doneBytes)
      if (length === 0) throw new FlashError(`${image} became shorter while it was written`)
      for (let offset = 0; offset < length;) {
        offset += writeSync(card, buffer, offset, length - offset, doneBytes + offset)
      }
      written.update(buffer.subarray(0, length))
      doneBytes += length
      // Otherwise the kernel buffers everything at once, and the progress means nothing.
      fsyncSync(card)
      onProgress('write', doneBytes, totalBytes)
    }
  } finally {
    closeSync(card)
    closeSync(source)
  }
  // Read back from the card, not from the page cache.
  if (isDevice) execFileSync('blockdev', ['--flushbufs', target])
  const found = sha256File(target, (doneBytes) => onProgress('verify', doneBytes, totalBytes), totalBytes)
  if (written.digest('hex') !== sha256 || found !== sha256) {
    throw new FlashError(`${target} returned other data than was written: the card is worn out or counterfeit, or the card reader is faulty`)
  }
}
