import { createClient } from './cloudflare/client.js'
import { createPurge } from './cloudflare/purge.js'

const TIMEOUT_MS = 5_000
/** The emulated edge has one zone, but Cloudflare's URL path needs a zone name. */
const ZONE = 'stevec'

/**
 * Purges the emulated edge, which speaks Cloudflare's API. An nginx role with stock caching supports only
 * `purgeEverything`. Once a call has resolved, no new request gets the purged content.
 * @param {{url: string, token: string}} control  base URL of the control listener and its bearer token
 */
export function createEdge ({ url, token }) {
  // The edge is on this machine: what fails now also fails a second later.
  return createPurge({
    client: createClient({ apiUrl: url, token, timeoutMs: TIMEOUT_MS, attemptsMax: 1 }),
    zoneId: ZONE
  })
}
