import { refusal, unknownFields } from './refusal.js'

const KINDS = ['files', 'tags', 'hosts', 'prefixes']
const ITEMS_MAX = 100

/** The limits of the free plan: https://developers.cloudflare.com/cache/how-to/purge-cache/#availability-and-limits */
export const FREE_LIMITS = { calls_bucket: 25, calls_per_s: 5 / 60, urls_bucket: 800, urls_per_s: 800 }

/** @param {{calls_bucket: number, calls_per_s: number, urls_bucket: number, urls_per_s: number}} limits */
export function createPurgeLimits (limits) {
  const levels = { calls: limits.calls_bucket, urls: limits.urls_bucket }
  let at = performance.now()
  return {
    /**
     * @param {any} body
     * @param {any} zone
     */
    check (body, zone) {
      unknownFields(body, [...KINDS, 'purge_everything'])
      const named = [...KINDS, 'purge_everything'].filter((kind) => body[kind] !== undefined)
      if (named.length !== 1) {
        throw refusal(400, 1012, 'Request must contain one of "purge_everything", "files", "tags", "hosts" or "prefixes"')
      }
      const [kind] = named
      const items = body[kind]
      if (
        kind === 'purge_everything'
          ? items !== true
          : !Array.isArray(items) || items.length === 0 || items.length > ITEMS_MAX
      ) {
        throw refusal(400, 1095, `Unable to purge: ${kind} takes 1 to ${ITEMS_MAX} items`)
      }
      for (const item of kind === 'purge_everything' ? [] : items) {
        const host = kind === 'files'
          ? (URL.canParse(item) ? new URL(item).hostname : '')
          : kind === 'hosts' ? item : kind === 'prefixes' ? String(item).split('/')[0] : zone.name
        if (
          typeof item !== 'string' ||
          item === '' ||
          (kind === 'prefixes' && /^https?:|[?#]/.test(item)) ||
          (host !== zone.name && !host.endsWith(`.${zone.name}`))
        ) {
          throw refusal(400, 1048, `Invalid purge item for zone ${zone.name}: ${item}`)
        }
      }
      const now = performance.now()
      levels.calls = Math.min(limits.calls_bucket, levels.calls + (now - at) / 1000 * limits.calls_per_s)
      levels.urls = Math.min(limits.urls_bucket, levels.urls + (now - at) / 1000 * limits.urls_per_s)
      at = now
      const [bucket, amount, perS] = /** @type {['calls' | 'urls', number, number]} */ (
        kind === 'files' ? ['urls', items.length, limits.urls_per_s] : ['calls', 1, limits.calls_per_s]
      )
      if (levels[bucket] < amount) {
        throw refusal(429, 1134, 'Unable to purge, rate limit reached. Please wait and consider throttling your request rate', { 'retry-after': String(Math.ceil((amount - levels[bucket]) / perS)) })
      }
      levels[bucket] -= amount
    }
  }
}
