/** @import {Database} from './database.js' */

/**
 * They fail at once while the database is away.
 * @template {Record<string, (...args: any[]) => Promise<any>>} T @param {T} functions @param {Database} database
 * @returns {T}
 */
export function whileAvailable (functions, database) {
  const guarded = Object.entries(functions).map(([name, each]) => [name, database.whileAvailable(each)])
  return /** @type {T} */ (Object.fromEntries(guarded))
}
