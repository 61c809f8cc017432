import createError from '@fastify/error'
import { AuthorizationResponseError, ClientError, ResponseBodyError } from 'openid-client'
import { retryAfter } from '../http/retry-after.js'
import { ProviderAway } from './bounded-fetch.js'

const RETRY_S = 10
const RESPONSIBLE = 'the operator of the wiki'

const Away = createError(
  'WIKI_PROVIDER_AWAY',
  '“%s” does not answer just now. Try again in a moment, or sign in with a password if you have one.',
  503
)
const Misfit = createError(
  'WIKI_PROVIDER_MISFIT',
  `“%s” does not accept the wiki’s settings for it. Please say so to ${RESPONSIBLE}.`,
  503
)
const Cancelled = createError(
  'WIKI_SIGN_IN_CANCELLED', 'You cancelled signing in with “%s”. Nothing was changed; you can begin again.', 400
)
const RefusedThere = createError(
  'WIKI_REFUSED_BY_PROVIDER',
  '“%s” did not sign you in%s. Try again; if that does not help, ask its operator.',
  403
)
const UsedCode = createError(
  'WIKI_SIGN_IN_TOO_LATE', '“%s” says that this sign-in was used or took too long. Begin again.', 400
)
const ClocksDiffer = createError(
  'WIKI_CLOCKS_DIFFER',
  'The clocks of the wiki and of “%s” differ, so the wiki cannot know whether the answer is a new one. ' +
    `Please say so to ${RESPONSIBLE}.`,
  503
)
const NotBelieved = createError(
  'WIKI_PROVIDER_NOT_BELIEVED',
  'The answer of “%s” did not pass the wiki’s checks, so you are not signed in. Begin again; ' +
    `if it happens again, say so to ${RESPONSIBLE}.`,
  403
)

const OF_TIME = new Set(['OAUTH_TIMEOUT', 'OAUTH_ABORT', 'OAUTH_RESPONSE_IS_NOT_CONFORM'])
const OF_SETTINGS = new Set(['invalid_client', 'unauthorized_client', 'invalid_scope', 'redirect_uri_mismatch'])
/** RFC 6749 §4.1.2.1: nothing else of what a query says is shown. */
const ERROR_NAME = /^[a-z_]{1,60}$/

/**
 * @param {unknown} error  of openid-client: it may hold tokens, so it is in no log and no answer
 * @param {string} label  of the provider
 * @returns {{error: Error, reason: string}} for people, and for the log
 */
export function describeFailure (error, label) {
  if (error instanceof ProviderAway) return { error: away(label), reason: causeOf(error) }
  if (error instanceof AuthorizationResponseError) {
    const name = ERROR_NAME.test(error.error) ? error.error : ''
    if (name === 'access_denied') return { error: new Cancelled(label), reason: name }
    return { error: new RefusedThere(label, name && ` (${name})`), reason: name || 'an error without a name' }
  }
  if (error instanceof ResponseBodyError) {
    const { error: name, status } = error
    const reason = `${ERROR_NAME.test(name) ? name : 'an error without a name'} (HTTP ${status})`
    if (status >= 500) return { error: away(label), reason }
    if (name === 'invalid_grant') return { error: new UsedCode(label), reason }
    return { error: new (OF_SETTINGS.has(name) ? Misfit : NotBelieved)(label), reason }
  }
  const code = String(/** @type {{code?: string}} */ (error).code ?? 'no code')
  if (OF_TIME.has(code)) return { error: away(label), reason: code }
  if (code === 'OAUTH_JWT_TIMESTAMP_CHECK_FAILED') return { error: new ClocksDiffer(label), reason: code }
  // Anything else is no answer that can be believed, whatever it is.
  return { error: new NotBelieved(label), reason: error instanceof ClientError ? code : `${code}, unexpected` }
}

/** @param {string} label */
const away = (label) => retryAfter(new Away(label), RETRY_S)

/** Of a system's error: its code, such as ECONNREFUSED. @param {Error} error */
function causeOf ({ cause }) {
  const { code, cause: inner } = /** @type {{code?: string, cause?: {code?: string}}} */ (cause ?? {})
  return inner?.code ?? code ?? 'no connection, or an answer that is too long'
}
