import { createSign, generateKeyPairSync } from 'node:crypto'
import { begin, BEGIN, comeBack, listen } from './oidc.js'

/** @typedef {import('node:test').TestContext} TestContext */

export const CODE = 'the-code-of-the-fake-provider'
export const ACCESS_TOKEN = 'the-access-token-of-the-fake-provider'
const pair = () => generateKeyPairSync('rsa', { modulusLength: 2048 })
const [own, foreign] = [pair(), pair()]

/** @param {object} value */
const encode = (value) => Buffer.from(JSON.stringify(value)).toString('base64url')

/** @param {object} header @param {object} claims @param {import('node:crypto').KeyObject} key */
function signed (header, claims, key) {
  const text = `${encode(header)}.${encode(claims)}`
  return `${text}.${createSign('RSA-SHA256').update(text).sign(key).toString('base64url')}`
}

/**
 * A provider that misbehaves as it is asked to: a real one does not.
 * @typedef {object} Behaviour
 * @property {(claims: Record<string, any>) => Record<string, any>} [claims]  other ones
 * @property {'none' | 'foreign' | 'broken'} [signature]
 * @property {boolean} [announcesIss]
 * @property {(path: string, response: import('node:http').ServerResponse) => boolean} [answers]  true: it did
 * @property {Record<string, unknown>} [metadata]
 * @param {TestContext} t
 */
export async function startFake (t) {
  /** @type {Behaviour & {nonce: string, asked: string[], bodies: string[]}} */
  const fake = { nonce: '', asked: [], bodies: [] }
  const { url: issuer, stop } = await listen(t, async (request, response) => {
    const { pathname } = new URL(String(request.url), issuer)
    let body = ''
    for await (const part of request) body += part
    fake.asked.push(pathname)
    fake.bodies.push(body)
    if (fake.answers?.(pathname, response)) return
    const answer = answerTo(pathname)
    response.writeHead(answer === undefined ? 404 : 200, { 'content-type': 'application/json' })
    response.end(JSON.stringify(answer ?? {}))
  })

  /** @param {string} path @returns {object | undefined} */
  const answerTo = (path) => ({
    '/.well-known/openid-configuration': {
      issuer,
      authorization_endpoint: `${issuer}/authorize`,
      token_endpoint: `${issuer}/token`,
      jwks_uri: `${issuer}/keys`,
      response_types_supported: ['code'],
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: ['RS256'],
      authorization_response_iss_parameter_supported: fake.announcesIss ?? false,
      ...fake.metadata
    },
    '/keys': { keys: [{ ...own.publicKey.export({ format: 'jwk' }), kid: 'one', use: 'sig', alg: 'RS256' }] },
    '/token': { access_token: ACCESS_TOKEN, token_type: 'Bearer', id_token: idToken() }
  })[path]

  function idToken () {
    const now = Math.floor(Date.now() / 1000)
    const claims = {
      iss: issuer, sub: 'subject', aud: 'wiki', iat: now, exp: now + 300, nonce: fake.nonce, preferred_username: 'ana'
    }
    const given = fake.claims?.(claims) ?? claims
    if (fake.signature === 'none') return `${encode({ alg: 'none' })}.${encode(given)}.`
    const { privateKey } = fake.signature === 'foreign' ? foreign : own
    const token = signed({ alg: 'RS256', kid: 'one' }, given, privateKey)
    return fake.signature === 'broken' ? `${token.slice(0, -8)}AAAAAAAA` : token
  }

  return {
    issuer,
    stop,
    fake,
    /**
     * Begins at the wiki, and comes back as if the provider had sent the browser.
     * @param {import('fastify').FastifyInstance} app @param {Record<string, string>} [query]  beside code and state
     */
    async signIn (app, query = {}) {
      const { url, cookie } = await begin(app)
      const asked = new URL(url).searchParams
      fake.nonce = String(asked.get('nonce'))
      return comeBack(app, returnOf({ code: CODE, state: String(asked.get('state')), ...query }), cookie)
    }
  }
}

/** @param {Record<string, string>} query */
export const returnOf = (query) => `${BEGIN}/callback?${new URLSearchParams(query)}`
