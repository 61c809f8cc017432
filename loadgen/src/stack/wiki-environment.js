import { needsPurges } from '@stevec/wiki-app/cache-policy'
import { readConfig } from '../config.js'
import { EDGE_NAMES } from './edge-names.js'

/** @typedef {import('./origin/origin.js').WikiEnvironment} WikiEnvironment */
/** @typedef {import('./state.js').StackState} StackState */

const NO_PURGES = Object.freeze({
  PURGE_ZONE: undefined, PURGE_URL: undefined, PURGE_TOKEN: undefined, PURGE_TOKEN_FILE: undefined
})

/**
 * Returns the settings of a stack's wiki: the caller's, the profile's for its host, its Redis, and where to
 * send purges and traces.
 * @param {StackState} state
 * @param {WikiEnvironment} requested
 * @param {boolean} [keepsZone]  see startStack
 * @returns {WikiEnvironment}
 */
export function wikiEnvironmentOf (state, requested, keepsZone = false) {
  const { page_reads_at_once: readsAtOnce } = state.profile.asked.origin
  const placed = readsAtOnce === undefined ? {} : { PAGE_READS_AT_ONCE: String(readsAtOnce) }
  const shared = state.redis_url === undefined
    ? {}
    : { REDIS_URL: state.redis_url ?? undefined, REDIS_URL_FILE: undefined }
  const purges = purgeSettings(state, requested, keepsZone, readConfig().localWikiEnvironment)
  return { ...requested, ...placed, ...shared, ...purges, ...traceSettings(state) }
}

/** @param {StackState} state @returns {WikiEnvironment} */
const traceSettings = ({ traces_port: port }) => port === undefined
  ? {}
  : {
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`,
      OTEL_EXPORTER_OTLP_HEADERS: undefined,
      OTEL_TRACES_SAMPLER: 'parentbased_always_off'
    }

/**
 * Under a policy with purges, edits purge the stack's own edges. `stevec up` keeps the zone that the environment names
 * (PURGE_ZONE); an experiment ignores it, so it never purges a user's zone.
 * @param {StackState} state
 * @param {WikiEnvironment} requested
 * @param {boolean} keepsZone
 * @param {NodeJS.ProcessEnv} inherited
 * @returns {WikiEnvironment}
 */
function purgeSettings ({ controls, doors }, requested, keepsZone, inherited) {
  if (keepsZone && inherited.PURGE_ZONE !== undefined) return {}
  if (!needsPurges(requested.CACHE_POLICY ?? inherited.CACHE_POLICY ?? '')) return NO_PURGES
  const edges = EDGE_NAMES.flatMap((name) => controls[name] ?? [])
  return {
    ...NO_PURGES,
    PURGE_ZONE: 'stevec',
    PURGE_URL: edges.map(({ url }) => url).join(),
    PURGE_TOKEN: edges[0].token,
    PUBLIC_URL: doors.cached.url
  }
}
