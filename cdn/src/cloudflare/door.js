import http from 'node:http'
import https from 'node:https'

const TIMEOUT_MS = 15_000
const BODY_MAX_BYTES = 5_000_000

/**
 * @typedef {object} Answer
 * @property {number} status
 * @property {http.IncomingHttpHeaders} headers
 * @property {string} body
 * @property {string} cacheStatus
 * @property {number | null} ageS
 * @property {string | null} pop  airport code of the point of presence, from CF-Ray
 * @property {string | null} ray
 */

/**
 * Sends one request through a door, on its own connection. Names under .localhost are loopback (RFC 6761 §6.3); not
 * every resolver knows that.
 * @param {string} url
 * @param {{method?: string, headers?: Record<string, string>, body?: string}} [options]
 * @returns {Promise<Answer>}
 * @throws {Error} when the response is not complete within 15 s
 */
export function ask (url, { method = 'GET', headers = {}, body } = {}) {
  const { protocol, hostname, host, port, pathname, search } = new URL(url)
  const loopback = hostname === 'localhost' || hostname.endsWith('.localhost')
  const options = {
    host: loopback ? '127.0.0.1' : hostname,
    servername: hostname,
    port: port || undefined,
    path: pathname + search,
    method,
    headers: { 'user-agent': 'stevec', ...headers, host },
    agent: false,
    signal: AbortSignal.timeout(TIMEOUT_MS)
  }
  return new Promise((resolve, reject) => {
    const fail = (/** @type {Error} */ error) => reject(new Error(`${method} ${url}: ${error.message}`))
    const request = (protocol === 'https:' ? https : http).request(options, (response) => {
      let text = ''
      response.setEncoding('utf8')
      response.on('data', (chunk) => {
        text += chunk
        if (text.length > BODY_MAX_BYTES) response.destroy(new Error(`more than ${BODY_MAX_BYTES} bytes`))
      })
      response.on('error', fail)
      response.on('end', () =>
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          body: text,
          ...fromHeaders(response.headers)
        })
      )
    })
    request.on('error', fail)
    request.end(body)
  })
}

/**
 * Reads the cache status and the point of presence from a response's headers.
 * https://developers.cloudflare.com/fundamentals/reference/http-headers/#cf-ray
 * @param {Record<string, string | string[] | undefined>} headers
 */
export function fromHeaders (headers) {
  const ray = headers['cf-ray'] === undefined ? null : String(headers['cf-ray'])
  return {
    cacheStatus: String(headers['cf-cache-status'] ?? ''),
    ageS: /^\d+$/.test(String(headers.age ?? '')) ? Number(headers.age) : null,
    ray,
    pop: /-([A-Z]{3})$/.exec(ray ?? '')?.[1] ?? null
  }
}
