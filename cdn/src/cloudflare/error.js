/**
 * What a failed call means for its caller.
 * @typedef {'unreachable' | 'unavailable' | 'rate_limited' | 'token' | 'permission' | 'not_found' | 'refused'} Kind
 *   unreachable: no response; unavailable: 5xx or an incomplete response; refused: a retry will be refused, too
 */

/** A failed API call. The message holds no credentials. */
export class CloudflareError extends Error {
  /**
   * @param {string} message
   * @param {{kind: Kind, status?: number, codes?: number[], retryAfterMs?: number}} facts
   *   codes: Cloudflare's own error codes
   */
  constructor (message, { kind, status, codes = [], retryAfterMs }) {
    super(message)
    this.name = 'CloudflareError'
    this.kind = kind
    this.status = status
    this.codes = codes
    this.retryAfterMs = retryAfterMs
  }

  /** Whether the same call may succeed later. */
  get passing () {
    return this.kind === 'unreachable' || this.kind === 'unavailable' || this.kind === 'rate_limited'
  }

  /** Whether the API has parsed the call and refuses an item in it; the call without that item may succeed. */
  get refused () {
    return this.kind === 'refused' && this.status !== undefined
  }
}

const ADVICE = {
  unreachable: '',
  unavailable: '',
  rate_limited: '',
  token: '; is the token right, and not expired?',
  permission: '; does the token have the permissions that the README lists, for this zone?',
  not_found: '',
  refused: ''
}

/**
 * @param {any} cause  the SDK's error
 * @param {string} what  the call in words
 * @param {(text: string) => string} redact
 * @returns {CloudflareError}
 */
export function explain (cause, what, redact) {
  if (cause?.cause instanceof CloudflareError) {
    return new CloudflareError(redact(`${what}: ${cause.cause.message}`), cause.cause)
  }
  const status = typeof cause?.status === 'number' ? cause.status : undefined
  if (status === undefined) {
    const truncated = cause instanceof SyntaxError || /terminated|aborted/i.test(cause?.message ?? '')
    const reason = cause?.cause?.cause?.code ?? cause?.cause?.code ?? cause?.cause?.message ?? cause?.message
    return new CloudflareError(
      redact(`${what}: ${truncated ? 'the response was cut off' : 'no answer'} (${reason})`),
      { kind: truncated ? 'unavailable' : 'unreachable' }
    )
  }
  const errors = Array.isArray(cause.errors) ? cause.errors.flatMap(withChain) : []
  const codes = errors.map((/** @type {any} */ { code }) => Number(code))
  const said =
    errors.map((/** @type {any} */ { code, message }) => `${message} (${code})`).join(', ') || 'without a reason'
  const kind = kindOf(status)
  const retryAfterMs = retryAfter(cause.headers?.get?.('retry-after'))
  return new CloudflareError(redact(`${what}: ${status}, ${said}${ADVICE[kind]}`), {
    kind,
    status,
    codes,
    retryAfterMs
  })
}

/**
 * Cloudflare puts the reason for some refusals into `error_chain`.
 * @param {any} error
 * @returns {any[]}
 */
const withChain = (error) => [error, ...(Array.isArray(error?.error_chain) ? error.error_chain : [])]

/**
 * @param {number} status
 * @returns {Kind}
 */
function kindOf (status) {
  if (status === 429) return 'rate_limited'
  if (status >= 500 || status === 408) return 'unavailable'
  if (status === 401) return 'token'
  if (status === 403) return 'permission'
  return status === 404 ? 'not_found' : 'refused'
}

/**
 * RFC 9110 §10.2.3
 * @param {string | null | undefined} text
 * @returns {number | undefined} milliseconds
 */
function retryAfter (text) {
  if (!text) return undefined
  const ms = /^\d+$/.test(text) ? Number(text) * 1000 : Date.parse(text) - Date.now()
  return Number.isFinite(ms) ? Math.max(0, ms) : undefined
}
