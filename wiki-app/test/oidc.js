import { createServer } from 'node:http'
import Provider from 'oidc-provider'
import { BROWSER, get } from './helper.js'
import { post } from './people.js'

/** @typedef {import('node:test').TestContext} TestContext */
/** @typedef {import('fastify').FastifyInstance} FastifyInstance */

export const PUBLIC_URL = 'http://wiki.example'
export const CLIENT_SECRET = 'a secret of the client'.replaceAll(' ', '-')
export const BEGIN = '/edit/sign-in/oidc'
const LABEL = 'Firm & <b>Co</b>'

/** With them, a wiki has the routes of a provider. Nothing listens there. */
export const OIDC = {
  OIDC_ISSUER: 'http://127.0.0.1:1', OIDC_CLIENT_ID: 'wiki', OIDC_CLIENT_SECRET: CLIENT_SECRET, PUBLIC_URL
}

/** @param {string} issuer @param {string} [role] */
export const settingsFor = (issuer, role = 'editor') =>
  ({ ...OIDC, OIDC_ISSUER: issuer, OIDC_LABEL: LABEL, OIDC_NEW_PEOPLE: role })

/**
 * Listens on a free port, until the end of the test.
 * @param {TestContext} t @param {import('node:http').RequestListener} [listener]
 */
export async function listen (t, listener) {
  const server = createServer(listener)
  await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(null)))
  const stop = () => new Promise((resolve) => {
    server.close(resolve)
    server.closeAllConnections()
  })
  t.after(stop)
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address())
  return { server, stop, url: `http://127.0.0.1:${port}` }
}

/**
 * A real OpenID Connect provider that knows everybody by what is typed, with these claims.
 * @param {TestContext} t
 * @param {{claims?: Record<string, string>, inIdToken?: boolean, publicUrl?: string,
 *   configuration?: import('oidc-provider').Configuration}} [options]  `inIdToken`: not only at its userinfo endpoint
 */
export async function startProvider (t, { claims = {}, inIdToken = true, publicUrl = PUBLIC_URL, configuration } = {}) {
  const { server, stop, url: issuer } = await listen(t)
  const provider = new Provider(issuer, {
    clients: [{
      client_id: 'wiki', client_secret: CLIENT_SECRET, redirect_uris: [`${publicUrl}${BEGIN}/callback`]
    }],
    claims: { openid: ['sub'], profile: ['name', 'preferred_username'] },
    findAccount: (_ctx, sub) => ({ accountId: sub, claims: async () => ({ sub, ...claims }) }),
    conformIdTokenClaims: !inIdToken,
    cookies: { keys: ['a key of the test'] },
    ...configuration
  })
  server.on('request', provider.callback())
  return { issuer, stop, claims }
}

/** @param {string[]} setCookie */
const cookieFrom = (setCookie) => setCookie.map((each) => each.split(';', 1)[0]).filter((each) => !each.endsWith('='))

/**
 * Begins a sign-in at the wiki.
 * @param {FastifyInstance} app @param {Record<string, string>} [fields] @param {Record<string, string>} [headers]
 */
export async function begin (app, fields = {}, headers = {}) {
  const answer = await post(app, BEGIN, { to: '/', ...fields }, headers)
  const [, url = ''] = /^0;url=(.*)$/.exec(String(answer.headers.refresh)) ?? []
  const [cookie = ''] = cookieFrom([answer.headers['set-cookie'] ?? []].flat())
  return { answer, url, cookie }
}

/**
 * Signs in at the provider as a browser does, and stops where that leads to the wiki.
 * @param {string} url  with which the wiki sends the browser there @param {string} sub
 * @param {{cancel?: boolean}} [options]
 * @returns {Promise<string>} path and query of the wiki
 */
export async function signInThere (url, sub, { cancel = false } = {}) {
  /** @type {Map<string, string>} */
  const jar = new Map()
  let [address, body] = [url, /** @type {string | undefined} */ (undefined)]
  for (let hops = 0; hops < 20; hops++) {
    const answer = await fetch(address, {
      method: body === undefined ? 'GET' : 'POST',
      redirect: 'manual',
      headers: {
        cookie: [...jar].map((pair) => pair.join('=')).join('; '),
        ...body !== undefined && { 'content-type': 'application/x-www-form-urlencoded' }
      },
      body
    })
    for (const each of answer.headers.getSetCookie()) {
      const [name, value] = each.split(';', 1)[0].split('=')
      jar.set(name, value)
    }
    const text = await answer.text()
    const location = answer.headers.get('location')
    body = undefined
    if (location !== null) {
      const next = new URL(location, address)
      if (next.pathname.startsWith(BEGIN)) return next.pathname + next.search
      address = next.href
    } else {
      const [, prompt] = /name="prompt" value="(\w+)"/.exec(text) ?? []
      if (prompt === undefined) throw new Error(`the provider answered ${answer.status}: ${text}`)
      address = address.replace(/\/abort$/, '')
      if (cancel) address += '/abort'
      else body = new URLSearchParams({ prompt, login: sub, password: 'x' }).toString()
    }
  }
  throw new Error('the provider leads nowhere')
}

/** @param {FastifyInstance} app @param {string} returned @param {string} cookie */
export const comeBack = (app, returned, cookie) => get(app, returned, { ...BROWSER, ...cookie && { cookie } })

/**
 * The whole way.
 * @param {FastifyInstance} app @param {string} sub @param {Record<string, string>} [fields]
 */
export async function signInBy (app, sub, fields = {}) {
  const { url, cookie } = await begin(app, fields)
  return comeBack(app, await signInThere(url, sub), cookie)
}

/** Of each kind of wiki: for /edit or for all addresses, over http or https. */
const SESSION = /^(?:(?:__Secure-|__Host-)?session|session-of-reader)=/

/** The header that the browser sends from then on. @param {import('./helper.js').Response} answer */
export const sessionFrom = ({ headers }) =>
  ({ cookie: cookieFrom([headers['set-cookie'] ?? []].flat()).find((each) => SESSION.test(each)) ?? '' })
