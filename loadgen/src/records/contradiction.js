import { DEFERRED_STRATEGIES, WRITE_BEHIND } from '@stevec/wiki-app/strategy-names'
import { isOnlySaves, isUnsafe } from '../saves/strategy.js'

/** Those of the wiki, which is the only one to have pages. @type {string[]} */
const OF_THE_WIKI = ['sync', 'group-commit', ...DEFERRED_STRATEGIES]
/** @type {string[]} */
const OF_RECORDS = ['none', 'sync', 'group-commit', 'async', 'group', 'bulk']
const GATHERING = ['group-commit', 'group', 'bulk']

/** What no record service has; the values that a trial of records may have. */
const PLAIN = /** @type {const} */ ({
  door: 'source',
  protocol: 'http',
  edges: 1,
  background_vus: 0,
  groups: null,
  fault: null,
  edit: 'post',
  picture: false,
  edit_links: 0,
  cache: 'edge',
  origin_delay_ms: 0
})

/**
 * @param {import('../lab/settings.js').Settings} settings
 * @param {string} what  is requested
 * @returns {string | null} what a service of a trial's own does not have
 */
export function notPlain (settings, what) {
  for (const [name, value] of Object.entries(PLAIN)) {
    const own = settings[/** @type {keyof typeof PLAIN} */ (name)]
    if (own !== value) return `${what} go past doors, caches and pages: ${name} must be ${value}, not ${own}`
  }
  return null
}

/** Of the service (../../records/record.js). */
const TEXT_MAX_CHARS = 10_000

/**
 * Finds settings of records that contradict each other, or that other resources do not have.
 * @param {import('../lab/settings.js').Settings} settings
 * @returns {string | null}
 */
export function recordContradiction (settings) {
  const { resource, framework, write_strategy: strategy, record_stop: stop, gather_max: max, gather_ms: ms } = settings
  if ((max !== null || ms !== null) && !GATHERING.includes(strategy)) {
    return `gather_max and gather_ms are for ${GATHERING.join(', ')}, not for write_strategy ${strategy}`
  }
  if (resource === 'record') return ofService(settings) ?? ofStop(settings)
  if (framework !== 'none' || stop !== null) return 'framework and record_stop are for resource record'
  const known = resource === 'page' ? OF_THE_WIKI : ['sync']
  return notAmong(known, settings) ?? (isUnsafe(settings) ? ofUnsafe(settings) : null)
}

/** @param {string[]} known @param {import('../lab/settings.js').Settings} settings */
const notAmong = (known, { resource, write_strategy: strategy }) => known.includes(strategy)
  ? null
  : `write_strategy of a ${resource} is ${known.join(' or ')}, not ${strategy}`

/**
 * What is read may be older than what was answered, and no answer has the revision that would say so.
 * @param {import('../lab/settings.js').Settings} settings
 */
function ofUnsafe (settings) {
  const { write_strategy: strategy, shared } = settings
  if (!isOnlySaves(settings)) {
    return `write_strategy ${strategy} answers before it stores, so each request has to be a save that is read by ` +
      'none: set edit_ratio to 1, edit to post, background_vus to 0, and no fault'
  }
  return strategy === WRITE_BEHIND && shared === 'none'
    ? `write_strategy ${strategy} needs a Redis: set shared to redis or redis-replicated`
    : null
}

/** @param {import('../lab/settings.js').Settings} settings */
function ofService (settings) {
  const { framework, write_strategy: strategy, edit_ratio: edits, page_size_chars: size } = settings
  const other = notPlain(settings, 'records') ?? notAmong(OF_RECORDS, settings)
  if (other !== null) return other
  if (typeof size !== 'number' || size > TEXT_MAX_CHARS) {
    return `page_size_chars of a record is one number up to ${TEXT_MAX_CHARS}`
  }
  if (edits !== 0 && edits !== 1) return 'a trial of records reads or writes: edit_ratio is 0 or 1'
  if (edits === 0 && strategy !== 'none') return 'a GET inserts nothing: write_strategy must be none'
  if (framework === 'none' && strategy === 'none') return 'without a framework there is nothing but the insert'
  return null
}

/** @param {import('../lab/settings.js').Settings} settings */
function ofStop ({ framework, write_strategy: strategy, record_stop: stop, requests, bound }) {
  if (stop === null) return null
  if (framework === 'none' || strategy === 'none') return 'record_stop needs a framework, and a write_strategy'
  if (bound !== 'either') return 'record_stop ends the trial early: bound must be "either"'
  const most = stop.after_requests + (stop.spread ?? 0)
  return most < requests ? null : 'record_stop.after_requests and its spread must be less than requests'
}
