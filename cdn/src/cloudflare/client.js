import { setTimeout as sleep } from 'node:timers/promises'
import { parseApiUrl } from './api-url.js'
import { CloudflareError, explain } from './error.js'

const TIMEOUT_MS = 15_000
const ATTEMPTS_MAX = 5
/** For all pauses of one call together; a caller that can wait longer retries later. */
const WAIT_MAX_MS = 90_000
const PAUSE_MS = 500

/** @typedef {import('cloudflare').Cloudflare} Sdk */

/**
 * Creates the only client of Cloudflare's API, or of a server that speaks it. It uses the official SDK. Its time limit
 * holds until the last byte, its errors are typed and hold no credentials, and it retries after a pause with jitter
 * where a retry may help.
 * @param {object} options
 * @param {string} options.token
 * @param {string} [options.apiUrl]  default: Cloudflare's; a URL without a path gets Cloudflare's usual path
 * @param {number} [options.attemptsMax]
 * @param {number} [options.waitMaxMs]  of all pauses of one call together
 * @param {number} [options.pauseMs]  before the second attempt; doubles with each
 * @param {number} [options.timeoutMs]  of one attempt
 * @param {AbortSignal} [options.signal]
 * @param {(message: string) => void} [options.onRetry]
 */
export function createClient ({
  token,
  apiUrl,
  attemptsMax = ATTEMPTS_MAX,
  waitMaxMs = WAIT_MAX_MS,
  pauseMs = PAUSE_MS,
  timeoutMs = TIMEOUT_MS,
  signal,
  onRetry = () => {}
}) {
  const baseURL = parseApiUrl(apiUrl)
  /** @param {string} text */
  const redact = (text) => text.replaceAll(token, '[token]')
  /** @type {Promise<Sdk> | undefined} */
  let loading
  const load = () => {
    loading ??= createSdk({ token, baseURL, timeoutMs })
    return loading
  }

  return {
    baseURL,
    /** Loads the SDK before the first call. */
    load: async () => { await load() },

    /**
     * @template T
     * @param {string} what  the call in words, for errors
     * @param {(api: Sdk, options: {signal: AbortSignal}) => PromiseLike<T>} send
     * @returns {Promise<T>}
     * @throws {CloudflareError}
     * @throws {DOMException} AbortError when `signal` aborts
     */
    async call (what, send) {
      const api = await load()
      let waitedMs = 0
      for (let attempt = 1; ; attempt++) {
        signal?.throwIfAborted()
        /** @type {CloudflareError} */
        let error
        try {
          return await within({ timeoutMs, signal }, (own) => send(api, { signal: own }))
        } catch (cause) {
          signal?.throwIfAborted()
          error = cause instanceof Late
            ? new CloudflareError(`${what}: no complete response within ${timeoutMs / 1000} s`, { kind: 'unreachable' })
            : explain(cause, what, redact)
        }
        if (!error.passing || attempt >= attemptsMax) throw error
        // Full jitter, but never earlier than Retry-After.
        const backoffMs = Math.random() * pauseMs * 2 ** attempt
        const waitMs = error.retryAfterMs === undefined ? backoffMs : error.retryAfterMs + Math.random() * pauseMs
        if (waitedMs + waitMs > waitMaxMs) {
          throw new CloudflareError(
            `${error.message}; try again in ${Math.ceil(waitMs / 1000)} s`,
            error
          )
        }
        onRetry(`${error.message}; retrying in ${(waitMs / 1000).toFixed(1)} s`)
        waitedMs += waitMs
        await sleep(waitMs, undefined, { signal })
      }
    }
  }
}

/** @typedef {ReturnType<typeof createClient>} Client */

class Late extends Error {}

/**
 * Not by AbortSignal.timeout: as the SDK passes it on, it never fires with Node 20 once memory was collected while the
 * body of a response arrives, and the call would wait for five minutes.
 * @template T
 * @param {{timeoutMs: number, signal?: AbortSignal}} limits @param {(signal: AbortSignal) => PromiseLike<T>} work
 * @returns {Promise<T>}
 * @throws {Late} after `timeoutMs`
 */
async function within ({ timeoutMs, signal }, work) {
  const own = new AbortController()
  const stop = () => own.abort(signal?.reason)
  signal?.addEventListener('abort', stop, { once: true })
  const timer = setTimeout(() => own.abort(new Late()), timeoutMs)
  const aborted = new Promise((resolve, reject) => {
    own.signal.addEventListener('abort', () => reject(own.signal.reason), { once: true })
  })
  try {
    return await Promise.race([work(own.signal), /** @type {Promise<never>} */ (aborted)])
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener('abort', stop)
  }
}

/**
 * @param {{token: string, baseURL: string | undefined, timeoutMs: number}} options
 * @returns {Promise<Sdk>}
 */
async function createSdk ({ token, baseURL, timeoutMs }) {
  // Imported on the first call: loading its 2 000 files takes a second.
  const { Cloudflare } = await import('cloudflare')
  return new Cloudflare({
    apiToken: token,
    // Otherwise the SDK reads older credentials from the environment and sends them, too.
    apiKey: null,
    apiEmail: null,
    userServiceKey: null,
    baseURL,
    // The SDK would wait for as long as Retry-After says, without a limit.
    maxRetries: 0,
    timeout: timeoutMs,
    logLevel: 'off',
    // The API never redirects, and the token must not reach another server.
    fetchOptions: { redirect: 'error' },
    fetch: fetchJson
  })
}

/**
 * Refuses a response that is not JSON: a captive portal's page would otherwise pass for an empty list.
 * @param {Parameters<typeof fetch>[0]} input
 * @param {Parameters<typeof fetch>[1]} [init]
 */
async function fetchJson (input, init) {
  const response = await fetch(input, init)
  const type = response.headers.get('content-type') ?? ''
  if (response.ok && response.status !== 204 && !type.includes('json')) {
    throw new CloudflareError(`the server is not Cloudflare's API (it sent ${type || 'no Content-Type'})`, { kind: 'refused' })
  }
  return response
}
