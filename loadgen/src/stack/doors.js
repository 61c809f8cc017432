/**
 * An access point to the wiki, as a client sees it.
 * @typedef {object} Door
 * @property {string} url  base URL without a trailing slash
 * @property {boolean} caching  whether a cache may respond
 * @property {string[]} [urls]  of several edges, the first is `url`; all take requests for its host
 * @property {string} path  hops of a request, for people
 * @property {string} [ca_file]  PEM, the certificate that vouches for the door
 * @property {boolean} [several_caches]  several machines with separate copies may respond, so the number of requests to
 *   the origin is not known in advance
 */

/** What a request to a door needs. @typedef {{url: string, headers: {host: string}, caFile?: string}} Entrance */

/** @typedef {'cached' | 'nocache' | 'source' | 'local'} DoorName */

export const HOSTS = Object.freeze({
  cached: 'wiki.localhost',
  nocache: 'nocache.localhost',
  source: 'source.localhost',
  local: 'localhost'
})

/**
 * @param {Pick<Door, 'url' | 'urls' | 'ca_file'>} door
 * @returns {Entrance[]} one for each edge
 */
export const entrancesOf = ({ url, urls = [url], ca_file: caFile }) =>
  urls.map((each) => ({ url: each, headers: { host: new URL(url).host }, caFile }))

/**
 * @param {import('../config.js').Ports} ports
 * @param {string} [caFile]  see Door; default: plain HTTP
 * @returns {Record<DoorName, Door>}
 */
export function doorsOf (ports, caFile) {
  const scheme = caFile === undefined ? 'http' : 'https'
  const tls = caFile === undefined ? {} : { ca_file: caFile }
  return {
    cached: {
      url: `${scheme}://${HOSTS.cached}:${ports.edge}`,
      caching: true,
      path: 'edge (caching) → origin → wiki',
      ...tls
    },
    nocache: {
      url: `${scheme}://${HOSTS.nocache}:${ports.edge}`,
      caching: false,
      path: 'edge (no caching) → origin → wiki',
      ...tls
    },
    source: {
      url: `${scheme}://${HOSTS.source}:${ports.origin}`,
      caching: false,
      path: 'origin → wiki',
      ...tls
    },
    local: {
      url: `${scheme}://${HOSTS.local}:${ports.local}`,
      caching: true,
      path: 'caching proxy of the client → origin → wiki',
      ...tls
    }
  }
}

/**
 * @param {Record<'cached' | 'nocache', Door>} doors  that lead to one edge
 * @param {number[]} ports  of all edges, for clients
 * @returns {Record<'cached' | 'nocache', Door>} that lead to each
 */
export function doorsOfEdges ({ cached, nocache }, ports) {
  const toEach = (/** @type {Door} */ door) => ({
    ...door,
    urls: ports.map((port) => `${new URL(door.url).protocol}//${new URL(door.url).hostname}:${port}`),
    path: door.path.replace('edge', `one of ${ports.length} edges`)
  })
  return { cached: { ...toEach(cached), several_caches: true }, nocache: toEach(nocache) }
}
