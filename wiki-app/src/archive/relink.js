import createError from '@fastify/error'
import { englishSize } from '../readable.js'
import { slugOf } from '../markdown/slug.js'
import { canonicalName, viewUrl } from '../pages/name.js'
import { TooCostly } from '../threads/pool.js'
import { OF_SPACES } from './attachment-paths.js'
import { unwritten } from './folder.js'
import { inTurns } from './in-turns.js'

/** @import {Pool} from '../threads/pool.js' */
/** @import {Folder, Target} from './folder.js' */
/** @import {LinkPlace, Place, WikiPlace} from './link-places.js' */

const TooLong = createError(
  'WIKI_RELINKED_TOO_LONG', 'With links to its pages instead of files the text would be longer than %s.', 413
)

/** One message of the thread has all of them, and the event loop reads it at once. */
const PLACES_MAX = 20_000
const TOO_MANY = `Its links stay as they are: finding them takes too long, or they are more than ${PLACES_MAX}.`
const MISSING_MAX = 20
const MISSING_MAX_CHARS = 200
/** Without one of these there is no link that could lead to a file. */
const MAYBE_LINKED = /\]\(|\]:|\[\[/
/** What would end or change a destination: entities start with `&`, and parentheses close it. */
const NOT_IN_DESTINATION = /[&()]/g
const NOT_IN_WIKI_LINK = /[[\]|#]/
const NOT_IN_LABEL = /[\\[\]*_`<&|!~]/g

/**
 * @typedef {Pick<Folder, 'find' | 'findWiki'>} Finding
 * @typedef {{content: string, missing: string[], reason?: string}} Relinked  `missing`: files that are not there
 */

/** @param {{authors: Pick<Pool, 'run'>, maxBytes: number}} options  `maxBytes`: of a page's Markdown */
export function createRelink ({ authors, maxBytes }) {
  /**
   * Links to files lead to what the import makes of them; code stays as it is.
   * @param {string} path  of the file with the text @param {string} content  Markdown @param {Finding} folder
   * @returns {Promise<Relinked>} `reason`: why links were left as they are
   * @throws {Error} 413 when the new text is too long, 503 when the machine is too busy
   */
  return async function relink (path, content, folder) {
    if (!MAYBE_LINKED.test(content)) return { content, missing: [] }
    const task = { linksOf: content, placesMax: PLACES_MAX }
    /** @type {{places: Place[] | null}} */
    const { places } = await authors.run(task, { bytes: content.length, yields: true }).catch((error) => {
      if (error instanceof TooCostly) return { places: null }
      throw error
    })
    if (places === null) return { content, missing: [], reason: TOO_MANY }
    const pieces = []
    /** @type {Set<string>} */
    const missing = new Set()
    let [at, length] = [0, content.length]
    for await (const place of inTurns(places)) {
      if (place.start < at) continue
      const { text, lost } = 'page' in place ? ofWikiLink(place, path, folder) : ofLink(place, path, folder)
      if (lost !== undefined && missing.size < MISSING_MAX) missing.add(shortened(lost))
      if (text === undefined) continue
      length += text.length - (place.end - place.start)
      if (length > maxBytes) throw new TooLong(englishSize(maxBytes))
      pieces.push(content.slice(at, place.start), text)
      at = place.end
    }
    pieces.push(content.slice(at))
    return { content: pieces.join(''), missing: [...missing] }
  }
}

/** Only files that an export of a private space brings. @param {Folder} folder @returns {Finding} */
export const onlyOfSpaces = (folder) => ({
  find: (from, to) => (to.startsWith(`/${OF_SPACES}`) ? folder.find(from, to) : undefined) ?? undefined,
  findWiki: () => null
})

/**
 * @param {LinkPlace} place @param {string} path @param {Finding} folder
 * @returns {{text?: string, lost?: string}} `text`: what comes in its place
 */
function ofLink ({ destination, isWiki = false }, path, folder) {
  const found = folder.find(path, destination)
  const target = found ?? (isWiki ? unwritten(destination) : undefined)
  if (target) return { text: addressOf(target) }
  return found === null ? { lost: destination } : {}
}

/** @param {WikiPlace} place @param {string} path @param {Finding} folder @returns {ReturnType<typeof ofLink>} */
function ofWikiLink ({ embeds, page, section, label, separator }, path, folder) {
  if (page === '') return {}
  const found = folder.findWiki(path, page)
  if (found === null) return embeds ? { lost: page } : {}
  if (found.picture !== undefined) {
    // Obsidian has a width where others have a label.
    const isLabelled = label !== undefined && !/^\d+(?:x\d+)?$/.test(label)
    const text = labelText(isLabelled ? label : page.slice(page.lastIndexOf('/') + 1))
    return { text: `${embeds ? '!' : ''}[${text}](${found.picture})` }
  }
  const { name } = found
  if (!embeds && name === canonicalOf(page)) return {}
  const shown = label ?? (section === undefined ? page : `${page}#${section}`)
  if (NOT_IN_WIKI_LINK.test(name)) {
    return { text: `[${labelText(shown)}](${addressOf({ name, fragment: section && slugOf(section) })})` }
  }
  const target = section === undefined ? name : `${name}#${section}`
  return { text: target === shown ? `[[${target}]]` : `[[${target}${separator}${shown}]]` }
}

/** @param {Target} target */
function addressOf ({ name, picture, fragment }) {
  if (picture !== undefined) return picture
  const page = name === undefined ? '' : viewUrl(name).replace(NOT_IN_DESTINATION, percent)
  return fragment ? `${page}#${fragment}` : page
}

/** @param {string} character */
const percent = (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`

/** @param {string} text */
const labelText = (text) => text.replace(NOT_IN_LABEL, '\\$&')

/** For a report; no surrogate pair is split. @param {string} destination */
const shortened = (destination) => destination.length <= MISSING_MAX_CHARS
  ? destination
  : `${destination.slice(0, MISSING_MAX_CHARS).replace(/[\uD800-\uDBFF]$/, '')}…`

/** @param {string} page */
function canonicalOf (page) {
  try {
    return canonicalName(page)
  } catch {
    return null
  }
}
