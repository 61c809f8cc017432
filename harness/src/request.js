import { readFileSync } from 'node:fs'
import http from 'node:http'
import https from 'node:https'

/**
 * Sends one request through a door, on a new connection. RFC 6761 §6.3 reserves .localhost for loopback, but not every
 * resolver implements it, so such names are not resolved: the request goes to 127.0.0.1 with the name as Host.
 * @param {string} url
 * @param {{method?: string, headers?: Record<string, string>, body?: string, timeoutMs?: number,
 *   signal?: AbortSignal, caFile?: string}} [options]  `signal`: gives the request up; `caFile`: PEM, certificates
 *   to trust instead of the well-known ones
 * @returns {Promise<{status: number, headers: http.IncomingHttpHeaders, body: string}>}
 * @throws {Error} when the response is not complete in time (default 10 s), or the reason of an abort
 */
export function request (url, { method = 'GET', headers = {}, body, timeoutMs = 10_000, signal, caFile } = {}) {
  const { protocol, host, hostname, port, pathname, search } = new URL(url)
  const loopback = hostname === 'localhost' || hostname.endsWith('.localhost')
  const timeout = AbortSignal.timeout(timeoutMs)
  return new Promise((resolve, reject) => {
    const outgoing = (protocol === 'https:' ? https : http).request({
      host: loopback ? '127.0.0.1' : hostname,
      servername: hostname,
      ca: caFile && readFileSync(caFile),
      port: port || undefined,
      path: pathname + search,
      method,
      headers: { host, ...headers },
      agent: false,
      signal: signal === undefined ? timeout : AbortSignal.any([signal, timeout])
    }, (response) => {
      let text = ''
      response.setEncoding('utf8')
      response.on('data', (chunk) => { text += chunk })
      response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, body: text }))
      response.on('error', reject)
    })
    outgoing.on('error', (error) =>
      reject(signal?.aborted ? signal.reason : new Error(`${method} ${url}: ${error.message}`)))
    outgoing.end(body)
  })
}
