import { CloudflareError } from './error.js'

const ZONE_ID = /^[0-9a-f]{32}$/
/** Cache rules of one zone: https://developers.cloudflare.com/cache/how-to/cache-rules/ */
const CACHE_RULES_MAX = Object.freeze({ free: 10, pro: 25, business: 50, enterprise: 300 })

/**
 * @typedef {object} Zone
 * @property {string} id
 * @property {string} name
 * @property {keyof typeof CACHE_RULES_MAX} plan
 * @property {number} cacheRulesMax
 * @property {string} status  only an `active` zone serves requests
 * @property {string[] | null} permissions  of the token in this zone, as far as the API reports them
 */

/**
 * Finds a zone by its name.
 * @param {import('./client.js').Client} client
 * @param {string} name  a domain
 * @returns {Promise<Zone>}
 * @throws {Error} when the token cannot see the zone
 */
export async function findZone (client, name) {
  const found = await client.call(
    `look for the zone ${name}`,
    async (api, options) => (await api.zones.list({ name }, options)).result
  )
  const zone = found.find((/** @type {any} */ candidate) => candidate.name === name)
  if (zone === undefined) {
    throw new CloudflareError(`the token has access to no zone ${name}; check its spelling, and that the token has Zone:Read for it`, { kind: 'not_found' })
  }
  const legacyId = String(zone.plan?.legacy_id ?? 'free')
  const plan = /** @type {Zone['plan']} */ (legacyId in CACHE_RULES_MAX ? legacyId : 'free')
  return {
    id: zone.id,
    name: zone.name,
    plan,
    cacheRulesMax: CACHE_RULES_MAX[plan],
    status: zone.status ?? 'unknown',
    permissions: zone.permissions ?? null
  }
}

/**
 * Returns the zone id for a purge. A server without zones, such as the emulated edge, gets the name itself.
 * @param {import('./client.js').Client} client
 * @param {string} name
 * @returns {Promise<string>}
 */
export async function purgeZoneId (client, name) {
  if (ZONE_ID.test(name)) return name
  try {
    return (await findZone(client, name)).id
  } catch (error) {
    if (error instanceof CloudflareError && error.status === 404) return name
    throw error
  }
}
