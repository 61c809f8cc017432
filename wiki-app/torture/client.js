import http from 'node:http'

/** Longer than the wiki itself retries an edit, so that a hanging request can be distinguished from a slow one. */
const ANSWER_MAX_MS = 35_000

/**
 * Creates an HTTP client with its own connections to one address, which it reuses as a proxy does.
 * @param {string} baseUrl
 * @param {number} connectionsMax
 */
export function createClient (baseUrl, connectionsMax) {
  const agent = new http.Agent({ keepAlive: true, maxSockets: connectionsMax })
  return {
    /**
     * @param {string} method
     * @param {string} path
     * @param {object} [options]
     * @param {unknown} [options.json]
     * @param {Record<string, string>} [options.headers]
     * @returns {Promise<{status: number, headers: http.IncomingHttpHeaders, body: string}>}
     * @throws {Error} when there is no complete answer within 35 s
     */
    ask: (method, path, { json, headers = {} } = {}) => new Promise((resolve, reject) => {
      const payload = json === undefined ? undefined : JSON.stringify(json)
      const request = http.request(`${baseUrl}${path}`, {
        method,
        agent,
        headers: {
          ...headers,
          ...(payload !== undefined && {
            'content-type': 'application/json',
            'content-length': String(Buffer.byteLength(payload))
          })
        }
      }, (response) => {
        let body = ''
        response.setEncoding('utf8')
        response.on('data', (chunk) => { body += chunk })
        response.on('end', () => done(() =>
          resolve({ status: response.statusCode ?? 0, headers: response.headers, body })))
        response.on('error', (error) => done(() => reject(error)))
      })
      const timer = setTimeout(
        () => request.destroy(new Error(`no answer within ${ANSWER_MAX_MS / 1000} s`)),
        ANSWER_MAX_MS
      )
      const done = (/** @type {() => void} */ settle) => { clearTimeout(timer); settle() }
      request.on('error', (error) => done(() => reject(error)))
      request.end(payload)
    }),
    close: () => agent.destroy()
  }
}

/** @typedef {ReturnType<typeof createClient>} Client */
