/** Name or address, and a port. */
const HOST = /^(?:[a-z0-9._-]+|\[[0-9a-f:.]+\])(?::\d{1,5})?$/i

/**
 * For addresses that leave the wiki. No cache may keep those of another host; with https, PUBLIC_URL has to say so.
 * @param {Pick<import('fastify').FastifyRequest, 'host'>} request @param {string} [publicUrl]
 * @returns {string} scheme and host; '' for a host that is none
 */
export function absoluteRoot ({ host }, publicUrl) {
  if (publicUrl !== undefined) return new URL(publicUrl).origin
  return HOST.test(host) ? `http://${host}` : ''
}
