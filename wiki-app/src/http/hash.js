import { createHash } from 'node:crypto'

/** 96 bits: no two texts share it. @param {(string | Buffer)[]} parts */
export function hashOf (...parts) {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(part)
  return hash.digest('base64url').slice(0, 16)
}
