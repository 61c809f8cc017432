import { ask } from '@stevec/cdn/cloudflare/door'
import { cachePolicy } from '@stevec/wiki-app/cache-policy'
import { PROBE_PAGE, PROBE_TEXT } from '../lab/cold.js'
import { PageRefused } from '../lab/pages.js'
import { wikiSettingsFor } from '../lab/wiki-settings.js'

export const PROBE_PATH = `/wiki/${PROBE_PAGE}`

/**
 * Checks that a user's wiki answers with the caching settings of an experiment; creates the probe page if it is
 * missing.
 * @param {string} sourceUrl  the door `source`
 * @param {import('../lab/definition.js').Settings} settings
 * @param {(requests: number) => void} spend  counts the requests that are sent
 * @throws {Error} when the wiki's caching settings are not those of the experiment; says how to start it
 */
export async function checkWiki (sourceUrl, settings, spend) {
  const read = () => {
    spend(1)
    return ask(sourceUrl + PROBE_PATH)
  }
  let answer = await read()
  if (answer.status === 404) {
    spend(1)
    const { status, body } = await ask(sourceUrl + PROBE_PATH, {
      method: 'POST',
      headers: { 'content-type': 'text/markdown' },
      body: PROBE_TEXT
    })
    if (status !== 201 && status !== 200) throw withAdvice(new PageRefused(PROBE_PAGE, status, body))
    answer = await read()
  }
  if (answer.status !== 200) throw new Error(`the wiki at ${sourceUrl} answers ${answer.status} for ${PROBE_PATH}`)
  const wanted = cacheControlOf(settings)
  const found = String(answer.headers['cache-control'] ?? 'none')
  if (found !== wanted) {
    const variables = Object.entries(wikiSettingsFor(settings)).filter(([name]) => name.startsWith('CACHE_'))
    throw new Error(`the experiment wants pages with "Cache-Control: ${wanted}", and the wiki at ${sourceUrl} sends "${found}". A run does not restart a user's wiki: start it with ${variables.map((entry) => entry.join('=')).join(' ')}, then run again`)
  }
}

/** @param {import('../lab/definition.js').Settings} settings */
function cacheControlOf ({
  policy, ttl_s: ttlS, stale_while_revalidate_s: staleWhileRevalidateS, stale_if_error_s: staleIfErrorS
}) {
  // Any cdnTtlS and boundMs will do: what caches that receive purges do is not part of Cache-Control.
  const lifetimes = { ttlS, staleWhileRevalidateS, staleIfErrorS, cdnTtlS: 0, boundMs: 0, beyondBoundS: 0 }
  return cachePolicy(policy, lifetimes).headers['cache-control']
}

/**
 * @param {unknown} error
 * @returns {unknown} the error, with advice if the wiki requires a login
 */
export function withAdvice (error) {
  if (!(error instanceof PageRefused) || (error.status !== 401 && error.status !== 403)) return error
  return new Error(`${error.message}. Experiments write pages without a login: for the time of the run, start the wiki with ACCESS=open WRITES_PER_MINUTE=0 and keep its address to yourself`)
}
