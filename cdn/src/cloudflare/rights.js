import { CloudflareError } from './error.js'

/** The permissions that the README lists, as a zone names them. */
const NEEDED =
  /^#(zone:read|dns_records:(read|edit)|cache_settings:(read|edit)|zone_settings:(read|edit)|cache_purge:edit|analytics:read)$/

/**
 * Verifies the token, and lists its rights beyond the needed ones as far as the API reports them.
 * @param {import('./client.js').Client} client
 * @param {import('./zone.js').Zone} [zone]
 * @returns {Promise<string[]>} warnings
 * @throws {CloudflareError} when the token is not valid
 */
export async function tokenWarnings (client, zone) {
  const warnings = []
  const token = await client.call('verify the token', (api, options) => api.user.tokens.verify(options))
  if (token.status !== 'active') throw new CloudflareError(`the token is ${token.status}`, { kind: 'token' })
  if (token.expires_on === undefined) warnings.push('the token never expires; set an end for it')
  if (zone === undefined) return warnings
  const more = (zone.permissions ?? []).filter((permission) => !NEEDED.test(permission))
  if (more.length > 0) warnings.push(`the token may do more than is needed: ${more.join(', ')}`)
  const zones = await client.call(
    'list the zones of the token',
    async (api, options) => (await api.zones.list({ per_page: 5 }, options)).result
  )
  if (zones.length > 1) warnings.push(`the token is for more zones than ${zone.name}; limit it to that one`)
  if (token.id && await mayReadTokens(client, token.id)) {
    warnings.push('the token may read API tokens, which nothing here needs')
  }
  return warnings
}

/**
 * @param {import('./client.js').Client} client
 * @param {string} id
 */
async function mayReadTokens (client, id) {
  try {
    await client.call('look at the token', (api, options) => api.user.tokens.get(id, options))
    return true
  } catch (error) {
    // A refusal is the good case.
    if (error instanceof CloudflareError && !error.passing) return false
    throw error
  }
}
