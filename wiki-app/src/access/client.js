import { isIP } from 'node:net'
import proxyAddr from '@fastify/proxy-addr'
import { normalizeIP } from '@fastify/rate-limit'

/** What one household usually gets (RFC 6177). */
const IPV6_PREFIX_BITS = 64

/** @typedef {(address: string, hops: number) => boolean} Trust */

/**
 * @param {string} proxies  addresses, CIDR blocks or names of ranges, with commas between; or `none`
 * @returns {Trust | null} null when the list is invalid
 */
export function trustOf (proxies) {
  if (proxies === 'none') return () => false
  try {
    return proxyAddr.compile(proxies.split(',').map((each) => each.trim()))
  } catch {
    return null
  }
}

/**
 * The last address on the path here that is no trusted proxy. No other header is read, as it may be forged.
 * @param {string} proxies  by TRUSTED_PROXIES
 * @returns {(request: import('fastify').FastifyRequest) => string} an IPv4 address, or the /64 of an IPv6 address
 */
export function createClientKey (proxies) {
  const trust = /** @type {Trust} */ (trustOf(proxies))
  return ({ raw }) => {
    const claimed = proxyAddr.all(raw, trust).pop() ?? ''
    // Only the client can have sent a value that is no address. A closed connection has none.
    const address = isIP(claimed) ? claimed : raw.socket.remoteAddress
    return address === undefined ? '' : normalizeIP(address, IPV6_PREFIX_BITS)
  }
}
