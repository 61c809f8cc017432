import * as oidc from 'openid-client'
import { boundedFetch } from './bounded-fetch.js'
import { describeFailure } from './failures.js'

/** @import {ClientAuth, Configuration} from 'openid-client' */
/** @import {Flow} from './flow-cookie.js' */

const SCOPE = 'openid profile'
const ANSWER_MAX_S = 5
const CLOCK_TOLERANCE_S = 60
/** A provider may move its endpoints. Its keys are read anew when one is unknown. */
const METADATA_MAX_MS = 3_600_000
/** OpenID Connect Core 1.0 §2. */
const SUBJECT_MAX_CHARS = 255

/**
 * Somebody, as the provider says. `id`: issuer and subject, which stay; `names`: the names there, of any characters,
 * the best first.
 * @typedef {{id: string, names: () => Promise<string[]>}} Identity
 */

/** @typedef {Pick<Flow, 'state' | 'nonce' | 'verifier'>} Secrets */

/**
 * @typedef {object} Options
 * @property {string} issuer @property {string} clientId @property {string} clientSecret @property {string} label
 * @property {URL} redirectUrl  of this wiki
 * @property {import('fastify').FastifyBaseLogger} log
 */

/**
 * An OpenID Connect provider, for the code flow with PKCE.
 * https://openid.net/specs/openid-connect-core-1_0.html#CodeFlowAuth, RFC 9700 §2.1
 * @param {Options} options
 */
export function createProvider ({ issuer, clientId, clientSecret, redirectUrl, label, log }) {
  /** @type {{configuration: Promise<Configuration>, untilMs: number} | undefined} */
  let known

  /** @returns {Promise<Configuration>} read when it is needed: the wiki starts without its provider */
  function discover () {
    if (known !== undefined && performance.now() < known.untilMs) return known.configuration
    const isPlain = issuer.startsWith('http:')
    const configuration = oidc.discovery(
      new URL(issuer), clientId, { client_secret: clientSecret, [oidc.clockTolerance]: CLOCK_TOLERANCE_S },
      clientAuth(clientSecret),
      {
        timeout: ANSWER_MAX_S,
        [oidc.customFetch]: boundedFetch,
        // Otherwise the signature of an ID token that came over TLS would not be checked.
        execute: [oidc.enableNonRepudiationChecks, ...isPlain ? [oidc.allowInsecureRequests] : []]
      }
    )
    known = { configuration, untilMs: performance.now() + METADATA_MAX_MS }
    configuration.catch(() => { known = undefined })
    return configuration
  }

  /** @template T @param {string} step @param {() => Promise<T>} work @returns {Promise<T>} */
  async function during (step, work) {
    try {
      return await work()
    } catch (failure) {
      const { error, reason } = describeFailure(failure, label)
      log.warn({ step, reason, issuer }, 'a sign-in with OpenID Connect failed')
      throw error
    }
  }

  return {
    label,
    clientSecret,

    /** @returns {Promise<Secrets & {url: string}>} `url`: where the browser goes on @throws {Error} 503 */
    begin: () => during('begin', async () => {
      const configuration = await discover()
      const [state, nonce, verifier] = [oidc.randomState(), oidc.randomNonce(), oidc.randomPKCECodeVerifier()]
      const url = oidc.buildAuthorizationUrl(configuration, {
        redirect_uri: redirectUrl.href,
        scope: SCOPE,
        state,
        nonce,
        code_challenge: await oidc.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256'
      })
      return { state, nonce, verifier, url: url.href }
    }),

    /**
     * @param {string} query  of the browser's return, with `?` @param {Secrets} flow
     * @returns {Promise<Identity>} @throws {Error} 400, 403, 503
     */
    finish: (query, { state, nonce, verifier }) => during('finish', async () => {
      const configuration = await discover()
      const tokens = await oidc.authorizationCodeGrant(configuration, new URL(query, redirectUrl), {
        expectedState: state, expectedNonce: nonce, pkceCodeVerifier: verifier, idTokenExpected: true
      })
      const claims = /** @type {import('openid-client').IDToken} */ (tokens.claims())
      if (claims.sub.length === 0 || claims.sub.length > SUBJECT_MAX_CHARS) throw new Error('an invalid subject')
      return {
        id: `${claims.iss} ${claims.sub}`,
        names: () => during('names', () => namesOf(configuration, claims, tokens.access_token))
      }
    })
  }
}

/** @typedef {ReturnType<typeof createProvider>} Provider */

/**
 * As the provider says that it can; by default in a header (OpenID Connect Discovery 1.0 §3).
 * @param {string} secret @returns {ClientAuth}
 */
function clientAuth (secret) {
  const [basic, post] = [oidc.ClientSecretBasic(secret), oidc.ClientSecretPost(secret)]
  return (server, ...others) => {
    const { token_endpoint_auth_methods_supported: methods = ['client_secret_basic'] } = server
    return (methods.includes('client_secret_basic') ? basic : post)(server, ...others)
  }
}

/** @param {Configuration} configuration @param {import('openid-client').IDToken} claims @param {string} accessToken */
async function namesOf (configuration, claims, accessToken) {
  const names = namesIn(claims)
  if (names.length > 0 || configuration.serverMetadata().userinfo_endpoint === undefined) return names
  return namesIn(await oidc.fetchUserInfo(configuration, accessToken, claims.sub))
}

/** @param {Record<string, unknown>} claims @returns {string[]} of any characters */
const namesIn = ({ preferred_username: preferred, name }) =>
  [preferred, name].filter((each) => typeof each === 'string' && each !== '').map(String)
