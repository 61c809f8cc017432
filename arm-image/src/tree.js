import { createHash } from 'node:crypto'
import { closeSync, lstatSync, openSync, readdirSync, readlinkSync, readSync } from 'node:fs'
import path from 'node:path'

const CHUNK_BYTES = 1024 ** 2

/**
 * One file, folder, link or device of a root filesystem. Inode numbers and change times depend on the filesystem, so
 * they are left out.
 * @typedef {object} TreeEntry
 * @property {string} path  relative, with /
 * @property {'file' | 'folder' | 'link' | 'other'} type
 * @property {string} mode  octal, e.g. 0755
 * @property {number} uid
 * @property {number} gid
 * @property {number} modified_s  seconds since 1970
 * @property {number} size_bytes  of a file, else 0
 * @property {string} target  of a link, else empty
 * @property {string} sha256  of a file, else empty
 */

/**
 * Lists a root filesystem.
 * @param {string} root
 * @returns {TreeEntry[]} everything below it, sorted by path
 */
export function listTree (root) {
  /** @type {TreeEntry[]} */
  const entries = []
  const walk = (/** @type {string} */ folder) => {
    for (const name of readdirSync(path.join(root, folder))) {
      const relative = path.posix.join(folder, name)
      const entry = entryOf(path.join(root, relative), relative)
      entries.push(entry)
      if (entry.type === 'folder') walk(relative)
    }
  }
  walk('')
  return entries.sort((a, b) => a.path < b.path ? -1 : 1)
}

/**
 * @param {string} file
 * @param {string} relative
 * @returns {TreeEntry}
 */
function entryOf (file, relative) {
  const status = lstatSync(file)
  const type = status.isFile() ? 'file' : status.isDirectory() ? 'folder' : status.isSymbolicLink() ? 'link' : 'other'
  return {
    path: relative,
    type,
    mode: (status.mode & 0o7777).toString(8).padStart(4, '0'),
    uid: status.uid,
    gid: status.gid,
    modified_s: Math.floor(status.mtimeMs / 1000),
    size_bytes: type === 'file' ? status.size : 0,
    target: type === 'link' ? readlinkSync(file) : '',
    sha256: type === 'file' ? sha256File(file) : ''
  }
}

/**
 * @param {string} file
 * @param {(doneBytes: number) => void} [onProgress]
 * @param {number} [lengthBytes]  hash only the beginning; default: all
 * @returns {string} hexadecimal
 */
export function sha256File (file, onProgress = () => {}, lengthBytes = Infinity) {
  const hash = createHash('sha256')
  const buffer = Buffer.alloc(CHUNK_BYTES)
  const descriptor = openSync(file, 'r')
  try {
    let doneBytes = 0
    while (doneBytes < lengthBytes) {
      const read = readSync(descriptor, buffer, 0, Math.min(CHUNK_BYTES, lengthBytes - doneBytes), null)
      if (read === 0) break
      hash.update(buffer.subarray(0, read))
      doneBytes += read
      onProgress(doneBytes)
    }
  } finally {
    closeSync(descriptor)
  }
  return hash.digest('hex')
}

/**
 * @param {TreeEntry[]} entries
 * @returns {string} equal for equal root filesystems
 */
export function treeDigest (entries) {
  const hash = createHash('sha256')
  for (const entry of entries) hash.update(`${line(entry)}\n`)
  return hash.digest('hex')
}

/**
 * @param {TreeEntry} entry
 * @returns {string} one line of files.jsonl
 */
export const line = ({ path: file, type, mode, uid, gid, modified_s: modified, size_bytes: size, target, sha256 }) =>
  JSON.stringify([file, type, mode, uid, gid, modified, size, target, sha256])

/**
 * @param {string} text  lines in the format of `line`
 * @returns {TreeEntry[]}
 */
export function parseTree (text) {
  return text.trimEnd().split('\n').map((row) => {
    const [file, type, mode, uid, gid, modified, size, target, sha256] = JSON.parse(row)
    return { path: file, type, mode, uid, gid, modified_s: modified, size_bytes: size, target, sha256 }
  })
}

/**
 * @param {TreeEntry[]} before
 * @param {TreeEntry[]} after
 * @returns {string[]} one line for each path that differs: "etc/hostname: sha256 …"
 */
export function treeDifferences (before, after) {
  const old = new Map(before.map((entry) => [entry.path, entry]))
  const differences = []
  for (const entry of after) {
    const other = old.get(entry.path)
    old.delete(entry.path)
    if (other === undefined) {
      differences.push(`${entry.path}: only in the second`)
      continue
    }
    const fields = /** @type {(keyof TreeEntry)[]} */ (Object.keys(entry)).filter(
      (field) => entry[field] !== other[field]
    )
    if (fields.length > 0) {
      differences.push(`${entry.path}: ${fields.map((field) => `${field} ${other[field]} → ${entry[field]}`).join(', ')}`)
    }
  }
  for (const file of old.keys()) differences.push(`${file}: only in the first`)
  return differences.sort()
}
