import { currentRevision } from '../pages/head.js'
import { NameTaken } from '../pages/page-errors.js'
import { acceptedName } from './accepted.js'
import { Spool } from './spool.js'

/** @import {PageStore} from '../pages/store.js' */
/** @import {Places} from './place.js' */
/** @import {Outcome} from './report.js' */
/** @import {OnConflict} from './store-page.js' */

const FOLLOWED_MAX = 10
const LEADS_MAX = 4
/** Redirects to redirects to … are found one after the other. */
const ROUNDS_MAX = 20
/** Of broken redirects so many are looked at for circles. */
const BROKEN_KNOWN_MAX = 100_000

/** @typedef {{source: string, name: string, to: string}} Redirect */

/** @param {string} to */
const aPage = (to) => `it leads to “${to}” there now; here it is a page with a history, which would be lost: ` +
  'rename that one, and run the same again with --on-conflict replace'

/**
 * Redirects are written after all pages, to the page at their end: each name leads there at once.
 * @param {{store: Pick<PageStore, 'lead'>, places: Pick<Places, 'headOf'>, onConflict: OnConflict, dryRun: boolean,
 *   wouldBe: Set<string>, wouldLead: Set<string>, signal?: AbortSignal}} parts  in a dry run, `wouldBe`: names of what
 *   would have been written, `wouldLead`: names before, of pages that would have been renamed
 */
export function createRedirects ({ store, places, onConflict, dryRun, wouldBe, wouldLead, signal }) {
  /** @type {Spool<Redirect>} */
  const spool = new Spool()

  /** @param {string} name @returns {Promise<string | null>} of a page */
  async function endOf (name) {
    let head = await places.headOf(name)
    for (let hops = 0; head?.redirect_to && hops < FOLLOWED_MAX; hops++) head = await places.headOf(head.redirect_to)
    if (head !== null) return currentRevision(head) === 0 ? null : head._id
    return wouldBe.has(name) ? name : null
  }

  /** A page here stays: a name that leads on has no history. @param {Redirect} redirect @returns {Outcome} */
  const blocked = ({ source, name, to }) => onConflict === 'keep'
    ? { source, name, result: 'kept', missing: 1, problem: aPage(to) }
    : { source, name, result: 'untaken', problem: aPage(to) }

  /** @param {Redirect} redirect @returns {Promise<Outcome | null>} null: its page is not there (yet) */
  async function write ({ source, name, to }) {
    if (name === to) return { source, name, result: 'untaken', problem: 'it leads to itself' }
    const head = await places.headOf(name)
    const taken = head !== null && !head.redirect_to && !wouldLead.has(name)
    if (taken || (dryRun && wouldBe.has(name))) return blocked({ source, name, to })
    const end = await endOf(to)
    if (end === null) return null
    if (end === name) return { source, name, result: 'untaken', problem: 'it leads to itself' }
    if (head?.redirect_to) {
      if (await endOf(head.redirect_to) === end) return { source, name, result: 'unchanged' }
      const problem = `the name leads to “${head.redirect_to}” here`
      if (onConflict !== 'replace') {
        return { source, name, result: onConflict === 'fail' ? 'untaken' : 'kept', problem }
      }
    }
    if (dryRun) wouldBe.add(name)
    else if (!await lead(store, name, end)) return blocked({ source, name, to })
    return { source, name, result: 'redirect' }
  }

  return {
    /** @param {Redirect} redirect @returns {Promise<Outcome | null>} null: it is written later */
    async add ({ source, name, to }) {
      const [from, target] = [acceptedName(name), acceptedName(to)]
      if ('reason' in from) return { source, result: 'untaken', problem: from.reason }
      if ('reason' in target) {
        return { source, name: from.name, result: 'untaken', problem: `it leads to “${to}”, which is no page here` }
      }
      await spool.add({ source, name: from.name, to: target.name })
      return null
    },

    /** After all pages. @returns {AsyncGenerator<Outcome>} */
    async * run () {
      let before = Infinity
      for (let round = 0; round < ROUNDS_MAX && spool.count > 0 && spool.count < before; round++) {
        before = spool.count
        for await (const redirect of spool.round()) {
          signal?.throwIfAborted()
          const outcome = await write(redirect)
          if (outcome === null) await spool.add(redirect)
          else yield outcome
        }
      }
      yield * broken(spool)
    },

    close: () => spool.close()
  }
}

/**
 * @param {Pick<PageStore, 'lead'>} store @param {string} name @param {string} end
 * @returns {Promise<boolean>} false: there is a page by now
 */
async function lead (store, name, end) {
  for (let attempt = 1; ; attempt++) {
    try {
      await store.lead(name, end)
      return true
    } catch (error) {
      if (error instanceof NameTaken) return false
      // Others write to the same documents.
      const isLost = /** @type {{code?: string}} */ (error).code === 'WIKI_LOST_RACE'
      if (!isLost || attempt === LEADS_MAX) throw error
    }
  }
}

/** @param {Spool<Redirect>} spool @returns {AsyncGenerator<Outcome>} */
async function * broken (spool) {
  /** @type {Map<string, string>} */
  const leads = new Map()
  for await (const redirect of spool.round()) {
    if (leads.size < BROKEN_KNOWN_MAX) leads.set(redirect.name, redirect.to)
    await spool.add(redirect)
  }
  for await (const { source, name, to } of spool.round()) {
    const problem = isCircle(name, leads)
      ? `it leads to “${to}”, and from there in a circle`
      : `it leads to “${to}”, which is no page here`
    yield { source, name, result: 'untaken', problem }
  }
}

/** @param {string} name @param {Map<string, string>} leads */
function isCircle (name, leads) {
  const seen = new Set()
  for (let at = /** @type {string | undefined} */ (name); at !== undefined; at = leads.get(at)) {
    if (seen.has(at)) return true
    seen.add(at)
  }
  return false
}
