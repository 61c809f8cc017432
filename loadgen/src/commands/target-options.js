import { MAX_REQUESTS } from '../cloudflare/budget.js'
import { verifiedZones } from '../cloudflare/verified.js'
import { UsageError } from '../usage-error.js'
import { integerOption, PORT_OPTIONS } from './options.js'

/** @type {Record<string, {type: 'string'}>} */
export const TARGET_OPTIONS = {
  target: { type: 'string' },
  zone: { type: 'string' },
  'max-requests': { type: 'string' }
}

export const TARGET_HELP = `  --target NAME        stack (default, a stack of its own), or cloudflare (the doors of a zone)
  --zone DOMAIN        for --target cloudflare; default the only verified zone
  --max-requests N     for --target cloudflare: the most requests to send (default ${MAX_REQUESTS})`

/** @typedef {{kind: 'cloudflare', zone: string}} ZoneTarget */

/**
 * @param {Record<string, any>} values
 * @param {string} stateDirectory
 * @returns {{target: ZoneTarget | null | undefined, maxRequests: number}}  null: a stack; undefined: not given
 * @throws {UsageError}
 */
export function targetOption (values, stateDirectory) {
  const maxRequests = integerOption(values['max-requests'], '--max-requests', { least: 1, most: 10_000_000 }) ??
    MAX_REQUESTS
  const { target } = values
  if (target !== undefined && target !== 'stack' && target !== 'cloudflare') {
    throw new UsageError(`--target is stack or cloudflare, not "${target}"`)
  }
  if (target !== 'cloudflare') {
    const lost = ['zone', 'max-requests'].find((name) => values[name] !== undefined)
    // A resumed run knows its target, but not the limit of further requests.
    if (lost !== undefined && !(values.resume && lost === 'max-requests' && target === undefined)) {
      throw new UsageError(`--${lost} is for --target cloudflare`)
    }
    return { target: target === 'stack' ? null : undefined, maxRequests }
  }
  const foreign = ['profile', 'origin', ...Object.keys(PORT_OPTIONS)].find((name) => values[name] !== undefined)
  if (foreign !== undefined) {
    throw new UsageError(`--${foreign} is for a stack of one's own; it cannot be used with --target cloudflare`)
  }
  return { target: { kind: 'cloudflare', zone: values.zone ?? onlyZone(stateDirectory) }, maxRequests }
}

/** @param {string} stateDirectory */
function onlyZone (stateDirectory) {
  const zones = verifiedZones(stateDirectory)
  if (zones.length === 1) return zones[0]
  throw new UsageError(zones.length === 0
    ? 'no zone was verified yet: stevec cloudflare verify --zone example.com'
    : `name the zone: --zone ${zones.join(', or --zone ')}`)
}
