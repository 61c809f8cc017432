import { createHash } from 'node:crypto'

/** Short enough for a header, long enough that no two texts share it: 96 bits. @param {(string | Buffer)[]} parts */
export function hashOf (...parts) {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(part)
  return hash.digest('base64url').slice(0, 16)
}
