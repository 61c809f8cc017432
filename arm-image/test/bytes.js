import { closeSync, openSync, readSync } from 'node:fs'

/**
 * @param {string} file
 * @param {number} offset
 * @param {number} length
 * @returns {Buffer} of a file that is too large to be read as a whole
 */
export function bytes (file, offset, length) {
  const buffer = Buffer.alloc(length)
  const descriptor = openSync(file, 'r')
  readSync(descriptor, buffer, 0, length, offset)
  closeSync(descriptor)
  return buffer
}
