import { isIP } from 'node:net'
import proxyAddr from '@fastify/proxy-addr'
import { normalizeIP } from '@fastify/rate-limit'

/** What one household usually gets (RFC 6177). */
const IPV6_PREFIX_BITS = 64
/** What one site usually gets (RFC 6177), and the smallest network of IPv4 that is routed by itself. */
const NETWORK = { ipv6PrefixBits: 48, ipv4: /^\d+\.\d+\.\d+/ }

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
  const addressOf = createAddressOf(proxies)
  return (request) => normalizeIP(addressOf(request), IPV6_PREFIX_BITS)
}

/**
 * The network of that address: many addresses of one owner are one.
 * @param {string} proxies  by TRUSTED_PROXIES
 * @returns {(request: import('fastify').FastifyRequest) => string} the /24 of an IPv4, the /48 of an IPv6 address
 */
export function createNetworkKey (proxies) {
  const addressOf = createAddressOf(proxies)
  return (request) => {
    const network = normalizeIP(addressOf(request), NETWORK.ipv6PrefixBits)
    return NETWORK.ipv4.exec(network)?.[0] ?? network
  }
}

/**
 * @param {string} proxies
 * @returns {(request: import('fastify').FastifyRequest) => string} '': the connection is closed
 */
function createAddressOf (proxies) {
  const trust = /** @type {Trust} */ (trustOf(proxies))
  return ({ raw }) => {
    const claimed = proxyAddr.all(raw, trust).pop() ?? ''
    // Only the client can have sent a value that is no address.
    return (isIP(claimed) ? claimed : raw.socket.remoteAddress) ?? ''
  }
}
