import { createClient } from './cloudflare/client.js'
import { createPurge } from './cloudflare/purge.js'

const TIMEOUT_MS = 5_000
/** The emulated edge has one zone; Cloudflare's path wants a name for it. */
const ZONE = 'stevec'

/**
 * The purge side of the emulated edge, which speaks Cloudflare's API. A nginx role with stock caching knows `purgeEverything` alone.
 * Whatever is purged, no request that starts after the call has returned is answered with it.
 * @param {{url: string, token: string}} control  base URL of the control listener and its bearer token
 */
export function createEdge ({ url, token }) {
  // It is on this machine: what fails now fails in a second, too.
  return createPurge({ client: createClient({ apiUrl: url, token, timeoutMs: TIMEOUT_MS, attemptsMax: 1 }), zoneId: ZONE })
}
