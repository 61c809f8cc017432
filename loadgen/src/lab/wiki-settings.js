import { isFollowed } from '@stevec/wiki-app/cache-policy'

/**
 * Returns the wiki's settings for a trial.
 * @param {import('./definition.js').Settings} settings
 */
export const wikiSettingsFor = (settings) => ({
  CACHE_POLICY: settings.policy,
  CACHE_TTL_S: String(settings.ttl_s),
  CACHE_STALE_WHILE_REVALIDATE_S: String(settings.stale_while_revalidate_s),
  CACHE_STALE_IF_ERROR_S: String(settings.stale_if_error_s),
  ...isFollowed(settings.policy) && {
    CACHE_BOUND_MS: String(settings.staleness_bound_ms),
    CACHE_BEYOND_BOUND_S: String(settings.beyond_bound_s)
  },
  DATABASE_POOL_MAX: String(settings.database_pool),
  ORIGIN_CACHE_MIB: String(settings.origin_cache_mib),
  SHORT_LINK_INDEX: settings.short_link_index,
  SHORT_LINK_READS: settings.short_link_reads,
  ...savingFor(settings),
  // With a limit in nginx the wiki has its own, too, as it has in use (docs/decisions/0016).
  ...settings.requests_at_once === null ? WITHOUT_QUEUE : { QUEUE_WAIT_MAX_MS: undefined },
  // The default repeats a purge after ten seconds. No request takes that long here, and each trial would wait for it.
  PURGE_REPEAT_AFTER_S: '1'
})

/**
 * Of a trial of records, the setting is the record service's.
 * @param {import('./definition.js').Settings} settings
 */
const savingFor = ({ resource, write_strategy: strategy, gather_max: max, gather_ms: ms }) => resource === 'record'
  ? {}
  : {
      WRITE_STRATEGY: strategy,
      ...max === null ? {} : { GROUP_COMMIT_MAX: String(max) },
      ...ms === null ? {} : { GROUP_COMMIT_WAIT_MS: String(ms) }
    }

/**
 * Traces are off while anything else is measured, whatever the environment says.
 * @param {Pick<import('./definition.js').Settings, 'trace_ratio'>} settings
 * @param {string | null} collector  null: no traces
 * @returns {import('../stack/origin/origin.js').WikiEnvironment}
 */
export const tracingFor = ({ trace_ratio: ratio }, collector) => ({
  OTEL_EXPORTER_OTLP_ENDPOINT: collector ?? undefined,
  OTEL_EXPORTER_OTLP_HEADERS: undefined,
  OTEL_SERVICE_NAME: undefined,
  OTEL_TRACES_SAMPLER: collector === null ? undefined : 'parentbased_traceidratio',
  OTEL_TRACES_SAMPLER_ARG: collector === null ? undefined : String(ratio)
})

/** Trials write all pages anonymously, from one address. */
export const OPEN_TO_TRIALS = Object.freeze({ ACCESS: 'open', WRITES_PER_MINUTE: '0' })

/** Nothing waits for its turn or is refused: experiments on overload measure how long a request takes then. */
export const WITHOUT_QUEUE = Object.freeze({ QUEUE_WAIT_MAX_MS: '0' })
