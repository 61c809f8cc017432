import { createHash } from 'node:crypto'

/**
 * Returns a hash that is short enough for a header and long enough that no two texts share it.
 * @param {(string | Buffer)[]} parts
 * @returns {string} 16 characters (96 bits)
 */
export function hashOf (...parts) {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(part)
  return hash.digest('base64url').slice(0, 16)
}
