import { notPlain } from '../records/contradiction.js'

/** Of one person, in the wiki. */
const LISTED_MAX = 1_000
/** Of the wiki that a trial starts for itself, what the stack has instead. */
const ALONE = /** @type {const} */ ({ wikis: 1, wiki_cpu_share: null, shared: 'none', trace_ratio: null })

/**
 * Finds settings of watched pages that contradict each other, or that other resources do not have.
 * @param {import('../lab/settings.js').Settings} settings
 * @returns {string | null}
 */
export function fanOutContradiction (settings) {
  const { resource, watchers, fan_out: fanOut, edit_ratio: edits, model, database, requests, pages } = settings
  if (resource !== 'watched-page') {
    return watchers === 0 && fanOut === 'on-read' ? null : 'watchers and fan_out are for resource watched-page'
  }
  const other = notPlain(settings, 'saves of watched pages') ?? notAlone(settings)
  if (other !== null) return other
  if (watchers === 0) return 'a watched page has at least one of watchers'
  if (edits !== 1 || model !== 'open') return 'a trial of watched pages only saves, in the open model: edit_ratio is 1'
  if (requests > LISTED_MAX || pages > LISTED_MAX) {
    return `a list keeps ${LISTED_MAX} changes, and nobody watches more pages: requests and pages are at most as many`
  }
  return database.startsWith('$') ? 'a trial of watched pages makes a database of its own in the lab\'s mongod' : null
}

/** @param {import('../lab/settings.js').Settings} settings @returns {string | null} */
function notAlone (settings) {
  for (const [name, value] of Object.entries(ALONE)) {
    const own = settings[/** @type {keyof typeof ALONE} */ (name)]
    if (own !== value) return `saves of watched pages go to one wiki of their own: ${name} must be ${value}, not ${own}`
  }
  return null
}
