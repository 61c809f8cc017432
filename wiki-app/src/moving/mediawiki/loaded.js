import { readDump } from './dump.js'
import { namespaceName, wantedNamespaces } from './namespaces.js'
import { PageRevisions } from './page-revisions.js'

/** @import {LeftOut, ReaderOptions, Untaken} from '../content.js' */
/** @import {Site} from './dump.js' */

/** More kinds of things than a dump has. */
const KINDS_MAX = 1_000
const WITHOUT_TEXT = {
  deleted: 'revisions whose texts are deleted there',
  absent: 'revisions of which the dump has no text (it may be one of stubs)'
}

const OLD_OF_REDIRECTS = 'older revisions of pages that redirect now: a name that leads on has no history here'

/** @returns {Site} */
const noSite = () => ({ id: '', caseSensitive: false, namespaces: new Map() })

/**
 * `revisions`: to be closed by the reader.
 * @typedef {{kind: 'loaded', title: string, id: string, site: Site, revisions: PageRevisions}} LoadedPage
 * @typedef {{kind: 'redirect', source: string, name: string, to: string}} LoadedRedirect
 */

/**
 * The pages of a dump that are wanted, each when all of it is read: a page that the file breaks off in is not there.
 * @param {string} path @param {Pick<ReaderOptions, 'signal' | 'onRead' | 'namespaces'>} options
 * @returns {AsyncGenerator<LoadedPage | LoadedRedirect | Untaken | LeftOut>}
 */
export async function * loadedPages (path, { namespaces, ...options }) {
  const left = createLeft(path)
  let site = noSite()
  /** @type {ReturnType<typeof wantedNamespaces> | null} */
  let wanted = null
  let page = { title: '', id: '', isWanted: false, redirect: /** @type {string | null} */ (null) }
  /** @type {PageRevisions | null} */
  let revisions = null
  let ofRedirect = 0
  /** @type {Untaken[]} */
  let problems = []
  for await (const event of readDump(path, options)) {
    if (event.type === 'site') site = event.site
    else if (event.type === 'page') {
      wanted ??= wantedNamespaces(site.namespaces, namespaces)
      page = { title: event.title, id: event.id, isWanted: wanted(event.ns), redirect: event.redirect }
      problems = []
      if (!page.isWanted) left.add(`pages of the namespace ${namespaceName(site.namespaces, event.ns)}`)
      revisions = page.isWanted && page.redirect === null ? new PageRevisions() : null
      ofRedirect = 0
    } else if (event.type === 'revision' && page.redirect !== null) {
      // The newest one is the redirect itself.
      if (page.isWanted && ofRedirect++ > 0) left.add(OLD_OF_REDIRECTS)
    } else if (event.type === 'revision' && revisions !== null) {
      const { lacks, id } = event.revision
      await revisions.add(event.revision)
      if (lacks === null) continue
      if (lacks !== 'too-long') left.add(WITHOUT_TEXT[lacks])
      else problems.push(untaken(page.title, `the text of revision ${id} is longer than any page here may be`))
    } else if (event.type === 'end' && page.isWanted) {
      if (revisions === null) yield redirectOf(page.title, page.redirect ?? '')
      else yield { kind: 'loaded', title: page.title, id: page.id, site, revisions }
      yield * problems
      revisions = null
    } else if (event.type === 'broken') {
      const within = revisions === null ? '' : `; the page “${page.title}” is cut off, and is not taken`
      await revisions?.close()
      yield untaken(path, `${event.reason}; nothing after it was read${within}`)
    }
  }
  yield * left.all()
}

/** @param {string} source @param {string} reason @returns {Untaken} */
const untaken = (source, reason) => ({ kind: 'untaken', source, reason })

/** @param {string} title @param {string} redirect  maybe with a section @returns {LoadedRedirect} */
const redirectOf = (title, redirect) =>
  ({ kind: 'redirect', source: title, name: title, to: redirect.replace(/#.*$/s, '') })

/** @param {string} path */
function createLeft (path) {
  /** @type {Map<string, number>} */
  const counts = new Map()
  return {
    /** @param {string} what */
    add (what) {
      const key = counts.has(what) || counts.size < KINDS_MAX ? what : 'others'
      counts.set(key, (counts.get(key) ?? 0) + 1)
    },
    /** @returns {LeftOut[]} */
    all: () => [...counts].map(([what, count]) => ({ kind: 'left-out', source: path, count, reason: what }))
  }
}
