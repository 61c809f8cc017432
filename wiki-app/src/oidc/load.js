import { CALLBACK_URL } from './addresses.js'

/** @import {FastifyBaseLogger} from 'fastify' */
/** @import {Provider} from './provider.js' */

/**
 * Most wikis have no provider, and start without openid-client.
 * @param {import('../settings.js').Config} config  complete, see settings.js @param {FastifyBaseLogger} log
 * @returns {Promise<Provider | undefined>}
 */
export async function loadProvider (config, log) {
  const {
    OIDC_ISSUER: issuer, OIDC_CLIENT_ID: clientId, OIDC_CLIENT_SECRET: clientSecret, PUBLIC_URL: publicUrl,
    OIDC_LABEL: label
  } = config
  if (!issuer || !clientId || !clientSecret || !publicUrl) return undefined
  const { createProvider } = await import('./provider.js')
  return createProvider({
    issuer,
    clientId,
    clientSecret,
    redirectUrl: new URL(CALLBACK_URL, publicUrl),
    label: label ?? new URL(issuer).host,
    log
  })
}
