import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'

/**
 * After a crash of the machine the last writes are missing, purges among them.
 * https://www.kernel.org/doc/html/latest/admin-guide/sysctl/kernel.html#random
 */
const BOOT_ID_FILE = '/proc/sys/kernel/random/boot_id'

/**
 * What stored responses depend on. An edge with another identity cannot use them: it may judge them by other rules, or
 * have another application behind it.
 * @param {Record<string, unknown>} view  see edgeView in role.js
 * @param {string} lua  folder of the cache's code
 * @returns {string}
 */
export function storeIdentity (view, lua) {
  const { profile, defaultTtls, keyedHeaders, assumedNoVarySearch, cachedHost, compression, origin } = view
  const { host, port, tls } = /** @type {import('./role.js').Origin} */ (origin)
  const hash = createHash('sha256')
  // The client's scheme is no part of a key, and an application may answer by it.
  // The stored Vary says whether the edge may compress.
  const scheme = view.tls !== undefined
  const rules = [profile, defaultTtls, keyedHeaders, assumedNoVarySearch, cachedHost, scheme, compression]
  hash.update(JSON.stringify([...rules, host, port, tls]))
  hash.update(existsSync(BOOT_ID_FILE) ? readFileSync(BOOT_ID_FILE) : '')
  for (const name of readdirSync(lua).sort()) hash.update(name).update(readFileSync(path.join(lua, name)))
  return hash.digest('hex')
}
