import { acceptedName } from '../accepted.js'
import { Ahead } from './ahead.js'
import { loadedPages } from './loaded.js'
import { picturesIn, uploadsIn } from './pictures.js'
import { batchesOf, convertBatch } from './texts.js'

/** @import {AboutTexts, Convert, LostRevision, Moved, MovedPage} from '../content.js' */
/** @import {MovedRevision, Reader, ReaderOptions} from '../content.js' */
/** @import {LoadedPage} from './loaded.js' */
/** @import {Texted} from './texts.js' */

/** Texts that are being converted, or wait for the store. */
const AHEAD_MAX_CHARS = 4_194_304
/** Of a call of the converter, so that short ones are not too many. */
const CALL_CHARS = 65_536
const SITE_MAX_CHARS = 64

/** @type {Convert} */
const asIs = async (texts) => texts.map((content) => ({ content }))

/**
 * @typedef {{page: {title: string, id?: string, site: string}} | {texts: Promise<Texted[]>} | {end: true} |
 *   {other: Moved}} Item
 */

/**
 * An XML dump of MediaWiki. Pictures come first, then the pages in the order of the dump.
 * @type {Reader}
 */
export async function * readMediaWiki (path, options) {
  const { pictures, includeFiles, signal } = options
  /** Addresses here by names there. @type {Map<string, string>} */
  const urls = new Map()
  const onStored = (/** @type {string} */ name, /** @type {string} */ url) => { urls.set(name, url) }
  if (pictures !== undefined) yield * picturesIn(pictures, onStored, signal)
  if (includeFiles) yield * uploadsIn(path, onStored, signal)

  /** @type {Ahead<Item>} */
  const ahead = new Ahead(AHEAD_MAX_CHARS)
  const reading = readAhead(path, { ...options, urls }, ahead)
  try {
    for (let item = await ahead.take(); item !== undefined; item = await ahead.take()) {
      if ('other' in item) yield item.other
      else if ('page' in item) yield movedPage(item.page, ahead)
    }
  } finally {
    ahead.end()
    await reading
  }
}

/** @param {{title: string, id?: string, site: string}} page @param {Ahead<Item>} ahead @returns {MovedPage} */
function movedPage ({ title, id, site }, ahead) {
  async function * revisions () {
    for (let item = await ahead.take(); item !== undefined && !('end' in item); item = await ahead.take()) {
      if ('texts' in item) for (const text of await item.texts) yield movedRevision(text, site)
    }
  }
  return { kind: 'page', source: title, name: title, id, revisions: revisions() }
}

/** @param {Texted} texted @param {string} site @returns {MovedRevision | LostRevision} */
function movedRevision ({ revision, at, converted: { content, tags, problem } }, site) {
  const { id: number, timestamp, author, comment: summary, lacks } = revision
  const id = `${site}:${number || timestamp}`
  if (lacks !== null) return { id, isLost: true }
  return { id, content, tags, author, summary, createdAt: at, ...problem !== undefined && { problem } }
}

/**
 * Reads and converts while the store writes.
 * @param {string} path @param {ReaderOptions & {urls: Map<string, string>}} options @param {Ahead<Item>} ahead
 */
async function readAhead (path, { convert = asIs, newestStored = async () => null, urls, ...options }, ahead) {
  try {
    for await (const thing of loadedPages(path, options)) {
      if (thing.kind !== 'loaded') {
        if (!await ahead.add({ other: thing }, 1)) return
        continue
      }
      try {
        if (!await addPage(thing, { convert, newestStored, urls }, ahead)) return
      } finally {
        await thing.revisions.close()
      }
    }
    ahead.end()
  } catch (error) {
    ahead.end(error)
  }
}

/**
 * @param {LoadedPage} page
 * @param {Required<Pick<ReaderOptions, 'convert' | 'newestStored'>> & {urls: Map<string, string>}} options
 * @param {Ahead<Item>} ahead @returns {Promise<boolean>} false: nobody reads any more
 */
async function addPage ({ title, id: number, site, revisions }, { convert, newestStored, urls }, ahead) {
  const prefix = site.id.slice(0, SITE_MAX_CHARS)
  // MediaWiki's number of a page; some other programs leave it out.
  const id = number === '' ? undefined : `${prefix}:${number}`
  const newest = await newestStored({ source: title, name: title, id })
  const stored = newest !== null && newest.startsWith(`${prefix}:`) ? newest.slice(prefix.length + 1) : null
  let isStored = stored !== null && revisions.has(stored)
  /** @type {AboutTexts} */
  const about = {
    page: title,
    pageName,
    pictureUrl: (name) => urls.get(name),
    namespaces: Object.fromEntries([...site.namespaces].map(([ns, name]) => [ns, [name]])),
    caseSensitive: site.caseSensitive
  }
  if (!await ahead.add({ page: { title, id, site: prefix } }, 1)) return false
  for await (const batch of batchesOf(revisions.inOrder(), stored)) {
    const chars = batch.reduce((sum, { revision }) => sum + revision.text.length, 0)
    const texts = convertBatch(batch, { convert, about, isStored })
    // Awaited by the reader; until then a rejection must not count as unhandled.
    texts.catch(() => {})
    if (batch.some(({ revision }) => revision.id === stored)) isStored = false
    if (!await ahead.add({ texts }, Math.max(CALL_CHARS, chars))) return false
  }
  return ahead.add({ end: true }, 1)
}

/** @param {string} title @returns {string | undefined} the name that the page gets here; undefined: the title */
function pageName (title) {
  const accepted = acceptedName(title)
  return 'name' in accepted ? accepted.name : undefined
}
