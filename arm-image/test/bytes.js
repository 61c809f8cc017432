import { closeSync, openSync, readSync } from 'node:fs'

/**
 * Reads a part of a file that is too large to read as a whole.
 * @param {string} file
 * @param {number} offset
 * @param {number} length
 * @returns {Buffer}
 */
export function bytes (file, offset, length) {
  const buffer = Buffer.alloc(length)
  const descriptor = openSync(file, 'r')
  readSync(descriptor, buffer, 0, length, offset)
  closeSync(descriptor)
  return buffer
}
