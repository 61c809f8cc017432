import { createHash } from 'node:crypto'
import { CloudflareError } from './error.js'
import { RECORD_MARK, SETTINGS, TIERED_CACHE } from './wanted.js'

export const PHASE = 'http_request_cache_settings'
const RECORDS_PER_PAGE = 100
/** Far more DNS records than can exist at the doors' host names or carry our mark. */
const RECORDS_MAX = 1_000

/**
 * The part of a zone that concerns us.
 * @typedef {object} State
 * @property {Ruleset | null} ruleset  null: the zone has no cache rules yet
 * @property {DnsRecord[]} records  at our names, and others with our mark
 * @property {Record<string, string | null>} settings  null: not available on this plan or with this token
 *
 * @typedef {{id: string, version: string, name?: string, description?: string, rules: Rule[]}} Ruleset
 * @typedef {object} Rule
 * @property {string} [id]
 * @property {string} [ref]
 * @property {string} [version]
 * @property {string} [last_updated]
 * @property {string} [description]
 * @property {string} [expression]
 * @property {string} [action]
 * @property {object} [action_parameters]
 * @property {boolean} [enabled]
 *
 * @typedef {import('./wanted.js').Record & {id: string, modified_on?: string}} DnsRecord
 */

/**
 * @param {import('./client.js').Client} client
 * @param {import('./zone.js').Zone} zone
 * @param {string[]} names  host names
 * @returns {Promise<State>}
 */
export async function readState (client, zone, names) {
  return {
    ruleset: await readRuleset(client, zone),
    records: await readRecords(client, zone, names),
    settings: await readSettings(client, zone)
  }
}

/**
 * @param {import('./client.js').Client} client
 * @param {import('./zone.js').Zone} zone
 * @returns {Promise<Ruleset | null>}
 */
export async function readRuleset (client, zone) {
  try {
    return rulesetFrom(
      await client.call('read the cache rules', (api, options) =>
        api.rulesets.phases.get(PHASE, { zone_id: zone.id }, options)
      )
    )
  } catch (error) {
    if (error instanceof CloudflareError && error.kind === 'not_found') return null
    throw error
  }
}

/**
 * @param {any} answer
 * @returns {Ruleset}
 */
export function rulesetFrom (answer) {
  if (typeof answer?.id !== 'string' || typeof answer.version !== 'string') {
    throw new CloudflareError('the API returned cache rules in an unknown form', { kind: 'refused' })
  }
  // The API omits the list of an empty ruleset.
  return { ...answer, rules: answer.rules ?? [] }
}

/**
 * @param {import('./client.js').Client} client
 * @param {import('./zone.js').Zone} zone
 * @param {string[]} names
 */
async function readRecords (client, zone, names) {
  /** @type {Map<string, DnsRecord>} */
  const records = new Map()
  for (const filter of [
    { comment: { startswith: RECORD_MARK } },
    ...names.map((name) => ({ name: { exact: name } }))
  ]) {
    await client.call('list the DNS records', async (api, options) => {
      let page = await api.dns.records.list({ zone_id: zone.id, per_page: RECORDS_PER_PAGE, ...filter }, options)
      for (;;) {
        for (const record of page.result) records.set(record.id, /** @type {any} */ (record))
        if (records.size > RECORDS_MAX) throw new RangeError(`more than ${RECORDS_MAX} DNS records`)
        // The SDK's own iteration would always request one more page, which is empty.
        if (page.result.length < RECORDS_PER_PAGE) return null
        page = await page.getNextPage()
      }
    })
  }
  return [...records.values()].sort(
    (one, other) => one.name.localeCompare(other.name) || one.id.localeCompare(other.id)
  )
}

/**
 * @param {import('./client.js').Client} client
 * @param {import('./zone.js').Zone} zone
 */
async function readSettings (client, zone) {
  /** @type {State['settings']} */
  const settings = {}
  for (const { id, always } of SETTINGS) {
    try {
      const read = (/** @type {import('./client.js').Sdk} */ api, /** @type {{signal: AbortSignal}} */ options) =>
        /** @type {Promise<{value?: unknown}>} */ (id === TIERED_CACHE
          ? api.cache.smartTieredCache.get({ zone_id: zone.id }, options)
          : api.zones.settings.get(/** @type {any} */ (id), { zone_id: zone.id }, options))
      const { value } = await client.call(`read the setting ${id}`, read)
      settings[id] = String(value)
    } catch (error) {
      // A setting that is only reported may be unavailable on this plan or with this token.
      if (
        !(error instanceof CloudflareError) ||
        error.passing ||
        (always && error.kind === 'permission') ||
        error.kind === 'token'
      ) {
        throw error
      }
      settings[id] = null
    }
  }
  return settings
}

/**
 * Returns a hash that is equal for equal states.
 * @param {unknown[]} parts
 */
export function fingerprintOf (...parts) {
  return createHash('sha256')
    .update(JSON.stringify(parts, (_key, value) => isObject(value)
      ? Object.fromEntries(Object.entries(value).sort(([one], [other]) => one < other ? -1 : 1))
      : value))
    .digest('hex')
    .slice(0, 16)
}

/** @param {unknown} value */
const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value)
