/**
 * An access point to the wiki, as a client sees it.
 * @typedef {object} Door
 * @property {string} url  base URL without a trailing slash
 * @property {boolean} caching  whether a cache may respond
 * @property {string} path  hops of a request, for people
 * @property {boolean} [several_caches]  several machines with separate copies may respond, so the number of requests to
 *   the origin is not known in advance
 */

/** @typedef {'cached' | 'nocache' | 'source' | 'local'} DoorName */

export const HOSTS = Object.freeze({
  cached: 'wiki.localhost',
  nocache: 'nocache.localhost',
  source: 'source.localhost',
  local: 'localhost'
})

/**
 * @param {import('../config.js').Ports} ports
 * @returns {Record<DoorName, Door>}
 */
export function doorsOf (ports) {
  return {
    cached: {
      url: `http://${HOSTS.cached}:${ports.edge}`,
      caching: true,
      path: 'edge (caching) → origin → wiki'
    },
    nocache: {
      url: `http://${HOSTS.nocache}:${ports.edge}`,
      caching: false,
      path: 'edge (no caching) → origin → wiki'
    },
    source: {
      url: `http://${HOSTS.source}:${ports.origin}`,
      caching: false,
      path: 'origin → wiki'
    },
    local: {
      url: `http://${HOSTS.local}:${ports.local}`,
      caching: true,
      path: 'caching proxy of the client → origin → wiki'
    }
  }
}
