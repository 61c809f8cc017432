import { endOf } from '../../scenarios/arrivals.js'
import { fanOutContradiction } from '../fan-out/contradiction.js'
import { recordContradiction } from '../records/contradiction.js'
import { meanOf } from '../../scenarios/content.js'
import { pagesNeeded } from '../../scenarios/short-links.js'
import { isLinkFault } from './link-fault.js'
import { hasCrawlers } from './settings.js'

/** Caches and the database hold all pages in memory. */
const PAGES_CHARS_MAX = 2_000_000_000

/** Its Markdown and the mark of the edit fit in. */
const PICTURE_TEXT_CHARS = 200
/** Of one link in the text of an edit, and as much of other text. */
const LINK_CHARS = 60

/**
 * @param {import('./settings.js').Settings} settings
 * @returns {string | null}
 */
function groupContradiction ({ groups, model, vus, requests, background_vus: background }) {
  if (groups === null) return null
  if (model !== 'closed' || background > 0) return 'groups is for the closed model without a background'
  if (vus % groups.vus !== 0) return `${vus} clients do not make whole groups of ${groups.vus}`
  if (requests % vus !== 0) return `in groups each client does as many iterations: ${requests} is no multiple of ${vus}`
  return null
}

/**
 * @param {import('./settings.js').Settings} settings
 * @returns {string | null}
 */
function linkContradiction ({ resource, edit, picture, short_link_index: index, short_link_reads: reads, shared }) {
  if (resource !== 'short-link') {
    const isPlain = index === 'id' && reads === 'database'
    return isPlain ? null : 'short_link_index and short_link_reads are for resource short-link'
  }
  if (edit !== 'post' || picture) return 'a short link is made by one PUT: edit is for resource page, and so is picture'
  if (reads === 'redis' && shared === 'none') {
    return 'short_link_reads=redis needs a Redis: set shared to redis or redis-replicated'
  }
  return null
}

/**
 * @param {import('./settings.js').Settings} settings
 * @returns {string | null} what the text of an edit is too short for
 */
function textContradiction ({ picture, edit_links: links, edit_size_chars: editSize, page_size_chars: size }) {
  const chars = editSize ?? meanOf(size)
  if (picture && chars < PICTURE_TEXT_CHARS) {
    return `a text with a picture has at least ${PICTURE_TEXT_CHARS} characters: raise edit_size_chars`
  }
  return links * LINK_CHARS > chars
    ? `a text with ${links} links has at least ${links * LINK_CHARS} characters: raise edit_size_chars`
    : null
}

/**
 * @param {import('./settings.js').Settings} settings
 * @returns {string | null}
 */
const traceContradiction = ({ traceparent, trace_ratio: ratio }) =>
  traceparent && ratio === null ? 'with traceparent the wiki has to trace: set trace_ratio' : null

/**
 * @param {import('./settings.js').Settings} settings
 * @returns {string | null}
 */
function editDoorContradiction (settings) {
  const { edit_door: door, edit, edit_ratio: ratio, resource } = settings
  const isAtOneCache = isAtOneEdge(settings) || settings.door === 'local'
  if (door === null || (isAtOneCache && edit === 'post' && resource === 'page' && ratio < 1)) return null
  return 'edit_door is for edits by one POST beside reads of pages at the door local, or at cached with one edge'
}

/**
 * @param {import('./settings.js').Settings} settings
 * @returns {string | null}
 */
const beyondBoundContradiction = ({ policy, beyond_bound_s: beyondBoundS }) =>
  beyondBoundS > 0 && policy !== 'bounded' ? `beyond_bound_s is for the policy bounded, not for ${policy}` : null

/** @param {import('./settings.js').Settings} settings */
const isAtOneEdge = ({ door, cache, edges }) => door === 'cached' && cache === 'edge' && edges === 1

/**
 * @param {import('./settings.js').Settings} settings
 * @returns {string | null}
 */
function crawlContradiction (settings) {
  const { revisions, resource, fault, background_vus: background } = settings
  if (revisions > 1 && resource !== 'page') return 'revisions is for resource page'
  if (!hasCrawlers(settings)) return null
  if (revisions < 3) return 'crawlers ask for old texts: raise revisions to 3 or more'
  return isAtOneEdge(settings) && fault === null && background === 0 && settings.protocol === 'http'
    ? null
    : 'crawlers are for the door cached with cache=edge, one edge and plain http, without fault and background'
}

/**
 * @param {import('./settings.js').Settings} settings
 * @returns {string | null}
 */
function faultContradiction (settings) {
  const { fault, model, bound, background_vus: background, duration_max_s: duration } = settings
  if (fault === null) return null
  if (model !== 'open' || bound !== 'either' || background > 0) {
    return 'fault is for the open model without a background, bound by "either"'
  }
  if (fault.from_s + fault.for_s >= duration) {
    return `the fault ends after ${fault.from_s + fault.for_s} s, and the trial after ${duration} s: no request would show the recovery`
  }
  return isLinkFault(fault) && !isAtOneEdge(settings)
    ? `the fault ${fault.kind} is of the links of one edge, at the door cached with cache=edge`
    : null
}

/**
 * Finds settings that are valid alone but contradict each other.
 * @param {import('./definition.js').Settings} settings
 * @returns {string | null} the first contradiction
 */
export function contradiction (settings) {
  const {
    model,
    rate_per_s: rate,
    pause_s: pause,
    requests,
    duration_max_s: duration,
    bound,
    burst,
    pages,
    page_size_chars: size
  } = settings
  if (model === 'open' && rate === null) return 'the open model needs rate_per_s'
  if (model === 'open' && pause > 0) return 'the open model has no pauses: pause_s must be 0'
  if (model === 'closed' && rate !== null) return 'rate_per_s is for the open model; the closed one has vus and pause_s'
  if (settings.arrivals !== 'constant' && model !== 'open') return 'arrivals is for the open model'
  if (burst !== null && (model !== 'open' || bound !== 'either')) {
    return 'burst is for the open model, bound by "either"'
  }
  if (burst !== null && endOf(burst) > duration) {
    return `the burst ends after ${endOf(burst)} s, beyond duration_max_s = ${duration}`
  }
  if (settings.edit === 'create-get' && model !== 'closed') return 'create-get is for the closed model'
  const special = crawlContradiction(settings) ??
    textContradiction(settings) ?? groupContradiction(settings) ?? linkContradiction(settings) ??
    recordContradiction(settings) ?? fanOutContradiction(settings) ?? traceContradiction(settings)
  if (special !== null) return special
  if (settings.cache !== 'edge' && settings.door !== 'cached') {
    return `cache sets the cache at the door cached, and the door is ${settings.door}`
  }
  if (settings.edges > 1 && (settings.cache !== 'edge' || !['cached', 'nocache'].includes(settings.door))) {
    return 'several edges are at the doors cached and nocache with cache=edge, ' +
      `not with cache=${settings.cache} at the door ${settings.door}`
  }
  if (settings.cache !== 'edge' && settings.protocol !== 'http') {
    return `protocol=${settings.protocol} is at the doors of the lab's nginx with cache=edge, ` +
      `not with cache=${settings.cache}`
  }
  if (settings.cache !== 'edge' && !settings.collapsing) return 'only the edge can switch request collapsing off'
  const faulty = editDoorContradiction(settings) ?? beyondBoundContradiction(settings) ?? faultContradiction(settings)
  if (faulty !== null) return faulty
  if (rate !== null && bound === 'requests' && requests / rate > duration) {
    return `${requests} requests at ${rate} a second take longer than duration_max_s = ${duration}; raise it, or bound the trial by "either"`
  }
  if (Array.isArray(size) && size[0] > size[1]) return `page_size_chars goes from ${size[0]} down to ${size[1]}`
  if (typeof size === 'object' && 'lognormal' in size && size.lognormal.median > size.lognormal.max) {
    return `page_size_chars has a median of ${size.lognormal.median}, above its max of ${size.lognormal.max}`
  }
  if (pagesNeeded(settings) * meanOf(size) > PAGES_CHARS_MAX) {
    return `${pages} pages of this size are more than ${PAGES_CHARS_MAX} characters`
  }
  return null
}
