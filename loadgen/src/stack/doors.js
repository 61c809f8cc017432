import http from 'node:http'
import https from 'node:https'

/**
 * An access point to the wiki, as a client sees it.
 * @typedef {object} Door
 * @property {string} url  base URL without a trailing slash
 * @property {boolean} caching  whether a cache may answer
 * @property {string} path  the hops a request takes, for people
 * @property {boolean} [several_caches]  machines may answer that know nothing of each other's copies: how often the origin is asked is then not known beforehand
 */

/** @typedef {'cached' | 'nocache' | 'source' | 'local'} DoorName */

export const HOSTS = Object.freeze({ cached: 'wiki.localhost', nocache: 'nocache.localhost', source: 'source.localhost', local: 'localhost' })

/**
 * @param {import('../config.js').Ports} ports
 * @returns {Record<DoorName, Door>}
 */
export function doorsOf (ports) {
  return {
    cached: { url: `http://${HOSTS.cached}:${ports.edge}`, caching: true, path: 'edge (caching) → origin → wiki' },
    nocache: { url: `http://${HOSTS.nocache}:${ports.edge}`, caching: false, path: 'edge (no caching) → origin → wiki' },
    source: { url: `http://${HOSTS.source}:${ports.origin}`, caching: false, path: 'origin → wiki' },
    local: { url: `http://${HOSTS.local}:${ports.local}`, caching: true, path: 'caching proxy of the client → origin → wiki' }
  }
}

/**
 * One request through a door. Names under .localhost are loopback by RFC 6761 §6.3, but not every resolver knows it,
 * so the address is given and the name only sent as Host.
 * @param {string} url
 * @param {{method?: string, headers?: Record<string, string>, body?: string, timeoutMs?: number}} [options]
 * @returns {Promise<{status: number, headers: http.IncomingHttpHeaders, body: string}>}
 * @throws {Error} when there is no complete answer in time (default 10 s)
 */
export function request (url, { method = 'GET', headers = {}, body, timeoutMs = 10_000 } = {}) {
  const { protocol, host, hostname, port, pathname, search } = new URL(url)
  const loopback = hostname === 'localhost' || hostname.endsWith('.localhost')
  return new Promise((resolve, reject) => {
    const outgoing = (protocol === 'https:' ? https : http).request({
      host: loopback ? '127.0.0.1' : hostname,
      servername: hostname,
      port: port || undefined,
      path: pathname + search,
      method,
      headers: { ...headers, host },
      agent: false,
      signal: AbortSignal.timeout(timeoutMs)
    }, (response) => {
      let text = ''
      response.setEncoding('utf8')
      response.on('data', (chunk) => { text += chunk })
      response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, body: text }))
      response.on('error', reject)
    })
    outgoing.on('error', (error) => reject(new Error(`${method} ${url}: ${error.message}`)))
    outgoing.end(body)
  })
}
