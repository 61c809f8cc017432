const TIMEOUT_MS = 5_000
/** The emulated edge has one zone; Cloudflare's path wants a name for it. */
const ZONE = 'stevec'

/**
 * The purge side of the emulated edge, and of any nginx role with a control listener.
 * @param {{url: string, token: string}} control  base URL of the control listener and its bearer token
 */
export function createEdge ({ url, token }) {
  return {
    /**
     * Empties the cache for every request that starts after this has returned.
     * Form: https://developers.cloudflare.com/api/resources/cache/methods/purge/
     * @throws {Error} when the edge refuses or does not answer within 5 s
     */
    async purgeEverything () {
      const response = await fetch(`${url}/client/v4/zones/${ZONE}/purge_cache`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: '{"purge_everything":true}',
        signal: AbortSignal.timeout(TIMEOUT_MS)
      })
      const answer = /** @type {{success?: boolean, errors?: {message: string}[]}} */ (await response.json())
      if (!answer.success) throw new Error(`the edge refused to purge (${response.status}): ${answer.errors?.[0]?.message}`)
    }
  }
}
