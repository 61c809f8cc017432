import { randomBytes } from 'node:crypto'
import { CHECKS } from './checks.js'
import { ask } from './door.js'
import { purgeChecks } from './purge-checks.js'

/** Longest Cache-Control lifetime for which the check waits until it expires. */
const AGE_WAIT_MAX_S = 300
export const PAGE = '/wiki/stevec-verify'

/**
 * @typedef {'ok' | 'failed' | 'skipped'} Outcome
 * @typedef {{id: string, outcome: Outcome, title: string, saw: string, todo: string}} Check
 * @typedef {Record<'cached' | 'nocache' | 'source', string>} DoorUrls  without a slash at the end
 */

/**
 * The doors under test, for the checks.
 * @typedef {object} Doors
 * @property {DoorUrls} urls
 * @property {string} page  path of a page that caches may store
 * @property {() => string} unseenUrl  a URL of `cached` that no cache has seen: the wiki renders the page for any query
 * @property {number} ageWaitMaxS
 */

/**
 * A check to make.
 * @typedef {object} CheckDefinition
 * @property {string} id
 * @property {string} title
 * @property {string} todo  the next step if the check fails, or why it was skipped
 * @property {(doors: Doors) => Promise<{ok: boolean | null, saw: string}>} observe  ok is null if this cannot be
 *   checked here
 */

/**
 * Checks that the doors behave as the experiments assume. It reads the counter, which resets it to 0, and purges cached
 * content of the door `cached`. It writes the page if it does not exist.
 * @param {object} options
 * @param {DoorUrls} options.doors
 * @param {import('./purge.js').Purge} options.purge
 * @param {string} [options.page]  path of a page that caches may store
 * @param {boolean} [options.everything]  also purge the whole zone, including content that is not ours
 * @param {number} [options.ageWaitMaxS]  pages with a longer lifetime are skipped
 * @param {(check: Check) => void} [options.onCheck]
 * @returns {Promise<Check[]>}
 */
export async function verifyDoors ({
  doors: urls,
  purge,
  page = PAGE,
  everything = false,
  ageWaitMaxS = AGE_WAIT_MAX_S,
  onCheck = () => {}
}) {
  const unseenUrl = () => `${urls.cached}${page}?verify=${randomBytes(8).toString('hex')}`
  /** @type {Doors} */
  const doors = { urls, page, unseenUrl, ageWaitMaxS }
  /** @type {Check[]} */
  const checks = []
  const make = async (/** @type {CheckDefinition} */ definition) => {
    const check = await makeCheck(definition, doors)
    checks.push(check)
    onCheck(check)
    return check
  }

  const [source, ...others] = CHECKS
  // Without the origin, the other checks would only repeat the first failure.
  if ((await make(source)).outcome !== 'ok') return checks
  for (const definition of others) await make(definition)
  const { headers } = await ask(urls.source + page)
  for (const definition of purgeChecks({ doors, purge, headers, everything })) await make(definition)
  return checks
}

/**
 * @param {CheckDefinition} definition
 * @param {Doors} doors
 * @returns {Promise<Check>}
 */
async function makeCheck ({ id, title, todo, observe }, doors) {
  const { ok, saw } = await observe(doors).catch((error) => ({ ok: false, saw: error.message }))
  return { id, title, outcome: ok === null ? 'skipped' : ok ? 'ok' : 'failed', saw, todo: ok === true ? '' : todo }
}
