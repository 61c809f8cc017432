/** @typedef {import('../stack/doors.js').DoorName} DoorName */

/**
 * Clients that begin in groups, one group after the other.
 * @typedef {{vus: number, every_s: number}} Groups
 */

/**
 * Of the wiki, that answers before it stores.
 * @typedef {typeof import('@stevec/wiki-app/strategy-names').DEFERRED_STRATEGIES[number]} UnsafeStrategy
 */

/**
 * The settings of a trial; docs/results-format.md explains each.
 * @typedef {object} Settings
 * @property {DoorName} door
 * @property {import('../../scenarios/short-links.js').Resource} resource
 * @property {number} pages
 * @property {import('../../scenarios/content.js').Size} page_size_chars
 * @property {import('../../scenarios/popularity.js').Popularity} popularity
 * @property {number} requests
 * @property {number} edit_ratio
 * @property {import('../../scenarios/popularity.js').Popularity | null} edit_popularity
 * @property {'post' | 'get-post' | 'create-get'} edit
 * @property {number | null} edit_size_chars
 * @property {'source' | null} edit_door  null: the door of reads
 * @property {boolean} picture
 * @property {number} edit_links
 * @property {'closed' | 'open'} model
 * @property {number} vus
 * @property {Groups | null} groups
 * @property {number} pause_s
 * @property {number} generators
 * @property {number | null} rate_per_s
 * @property {import('../../scenarios/arrivals.js').Arrivals} arrivals
 * @property {import('../../scenarios/arrivals.js').Burst | null} burst
 * @property {boolean} connection_reuse
 * @property {number} ttl_s
 * @property {import('@stevec/wiki-app/cache-policy').CachePolicyName} policy
 * @property {number} stale_while_revalidate_s
 * @property {number} stale_if_error_s
 * @property {number} staleness_bound_ms  of the policy bounded
 * @property {number} beyond_bound_s  of the policy bounded, for caches that follow no log
 * @property {import('../stack/cache.js').CacheName} cache
 * @property {boolean} collapsing
 * @property {number} edges
 * @property {import('../stack/certificate.js').Protocol} protocol
 * @property {number} origin_cache_mib
 * @property {import('../stack/database.js').DatabaseKind | `$${string}`} database  `$NAME`: its URI is in the variable
 *   NAME
 * @property {number} database_pool
 * @property {number} wikis
 * @property {number | null} wiki_cpu_share
 * @property {import('../stack/shared.js').Shared} shared
 * @property {'id' | 'btree' | 'hashed'} short_link_index
 * @property {'database' | 'redis'} short_link_reads
 * @property {import('../../scenarios/records.js').Framework} framework
 * @property {import('../../scenarios/records.js').WriteStrategy | UnsafeStrategy} write_strategy
 * @property {number | null} gather_max
 * @property {number | null} gather_ms
 * @property {import('../records/stop.js').RecordStop | null} record_stop
 * @property {number} watchers
 * @property {'on-read' | 'in-request' | 'on-queue'} fan_out
 * @property {number | null} trace_ratio
 * @property {boolean} traceparent
 * @property {number} origin_delay_ms
 * @property {import('./fault.js').Fault | null} fault
 * @property {number} duration_max_s
 * @property {'requests' | 'either'} bound
 * @property {number} background_vus
 * @property {number} revisions  of each page, before the first trial
 * @property {number} crawl_times_capacity  crawlers ask for so many times what the wiki can show; 0: no crawlers
 * @property {number | null} requests_at_once  from the origin's nginx to the wiki, which then has its queues, too;
 *   null: any number, and no queues
 * @property {number} timeout_s
 */

/**
 * Defaults for what an experiment's file leaves out: the client of the study, which waits for each response. Each
 * request opens a connection.
 * @type {Settings}
 */
export const DEFAULT_SETTINGS = Object.freeze({
  door: 'source',
  resource: 'page',
  pages: 100,
  page_size_chars: 5000,
  popularity: 'uniform',
  requests: 1000,
  edit_ratio: 0,
  edit_popularity: null,
  edit: 'post',
  edit_size_chars: null,
  edit_door: null,
  picture: false,
  edit_links: 0,
  model: 'closed',
  vus: 1,
  groups: null,
  pause_s: 0,
  generators: 1,
  rate_per_s: null,
  arrivals: 'constant',
  burst: null,
  connection_reuse: false,
  ttl_s: 180,
  policy: 'ttl',
  stale_while_revalidate_s: 60,
  stale_if_error_s: 0,
  staleness_bound_ms: 500,
  beyond_bound_s: 0,
  cache: 'edge',
  collapsing: true,
  edges: 1,
  protocol: 'http',
  origin_cache_mib: 0,
  database: 'single',
  database_pool: 100,
  wikis: 1,
  wiki_cpu_share: null,
  shared: 'none',
  short_link_index: 'id',
  short_link_reads: 'database',
  framework: 'none',
  write_strategy: 'sync',
  gather_max: null,
  gather_ms: null,
  record_stop: null,
  watchers: 0,
  fan_out: 'on-read',
  trace_ratio: null,
  traceparent: false,
  origin_delay_ms: 0,
  fault: null,
  duration_max_s: 600,
  bound: 'requests',
  background_vus: 0,
  revisions: 1,
  crawl_times_capacity: 0,
  requests_at_once: null,
  timeout_s: 60
})

/**
 * Whether trials start a service of their own, past the wiki of the stack.
 * @param {Pick<Settings, 'resource'>} settings
 */
export const hasOwnService = ({ resource }) => resource === 'record' || resource === 'watched-page'

/** @param {Pick<Settings, 'crawl_times_capacity'>} settings */
export const hasCrawlers = ({ crawl_times_capacity: times }) => times > 0
