import { pageName } from '../markdown/page-address.js'
import { slugOf } from '../markdown/slug.js'
import { unescaped, withoutExtension } from './file-names.js'
import { namesOf } from './folder-names.js'
import { inTurns } from './in-turns.js'

/** @import {Known, PageFile} from './folder-names.js' */

/**
 * A page's name, or a stored picture's address.
 * @typedef {{name: string, picture?: undefined} | {name?: undefined, picture: string}} Found
 * @typedef {(Found | {name?: undefined, picture?: undefined}) & {fragment?: string}} Target  neither: its own page
 */

const ADDRESS = /^([^?#]*)(?:\?[^#]*)?(?:#(.*))?$/s
const SCHEME = /^[a-z][a-z\d+.-]*:/i
/** What a link to a folder leads to: in MkDocs, on GitHub, and in DokuWiki. */
const FOLDER_PAGES = ['index', 'readme', 'start']

/** The files of one import: all are added, `settle` names the pages, then links are looked up. */
export class Folder {
  /** @type {PageFile[]} */
  #pages = []
  /** By path. @type {Map<string, Found>} */
  #files = new Map()
  /** By `keyOf` the path, with the extension and without. @type {Map<string, Found>} */
  #alike = new Map()
  /** By the last part of such a key; null: several. @type {Map<string, Found | null>} */
  #lastParts = new Map()
  /** @type {Map<string, Found>} */
  #names = new Map()

  /** @param {string} path @param {string} picture  its address in the wiki */
  addPicture (path, picture) {
    this.#add(path, { picture }, [keyOf(path), keyOf(unescaped(path))])
  }

  /** @param {string} path @param {Known} known */
  addPage (path, known) {
    this.#pages.push({ path, known })
  }

  /** @returns {Promise<void>} */
  async settle () {
    const folderPages = FOLDER_PAGES.map((page) => ({
      ending: `/${page}`,
      pages: /** @type {[string, Found][]} */ ([])
    }))
    for await (const [path, name] of inTurns(await namesOf(this.#pages))) {
      const [key, found] = [withoutExtension(keyOf(path)), { name }]
      this.#add(path, found, [keyOf(path), key])
      setFirst(this.#names, keyOf(name), found)
      for (const { ending, pages } of folderPages) {
        if (key.endsWith(ending)) pages.push([key.slice(0, -ending.length), found])
      }
    }
    this.#pages = []
    for (const [folder, found] of folderPages.flatMap(({ pages }) => pages)) setFirst(this.#alike, folder, found)
  }

  /** @param {string} path @returns {string | undefined} undefined: no page can have its name, or another has it */
  nameOf (path) {
    return this.#files.get(path.normalize('NFC'))?.name
  }

  /**
   * @param {string} from  path of the file with the link @param {string} destination  of a link or picture
   * @returns {Target | null | undefined} null: a file that is not there; undefined: the link stays as it is
   */
  find (from, destination) {
    if (destination.startsWith('//')) return undefined
    const { path, fragment, isSlug } = partsOf(destination)
    if (path === '') return isSlug ? undefined : { fragment }
    // `Help:Links` is a page of MediaWiki; no page is called `mailto:…`.
    const found = SCHEME.test(path) ? this.#names.get(keyOf(path)) : this.#lookUp(from, path, { rootFirst: false })
    return found && { ...found, fragment }
  }

  /** @param {string} from @param {string} page  of a link `[[page]]` @returns {Found | null} */
  findWiki (from, page) {
    return this.#lookUp(from, page, { rootFirst: !page.startsWith('.') })
  }

  /**
   * @param {string} from @param {string} target  a path, or a page’s name
   * @param {{rootFirst: boolean}} options  as Obsidian reads `[[page]]`
   * @returns {Found | null}
   */
  #lookUp (from, target, { rootFirst }) {
    const [own, path] = [from, target].map((each) => each.normalize('NFC'))
    const roots = ['', own.slice(0, own.indexOf('/') + 1)]
    const folder = own.slice(0, own.lastIndexOf('/') + 1)
    const starts = path.startsWith('/') ? roots : rootFirst ? [...roots, folder] : [folder, ...roots]
    for (const start of starts) {
      const found = this.#at(joined(start, path))
      if (found !== undefined) return found
    }
    return this.#lastParts.get(keyOf(path)) ?? null
  }

  /** @param {string | null} path  from the root of the folder, or a page’s name */
  #at (path) {
    if (path === null) return undefined
    const key = keyOf(path)
    return this.#files.get(path) ?? this.#files.get(`${path}.md`) ?? this.#alike.get(key) ?? this.#names.get(key)
  }

  /** @param {string} path @param {Found} found @param {string[]} keys */
  #add (path, found, keys) {
    this.#files.set(path.normalize('NFC'), found)
    for (const key of new Set(keys)) {
      setFirst(this.#alike, key, found)
      const last = key.slice(key.lastIndexOf('/') + 1)
      this.#lastParts.set(last, this.#lastParts.has(last) ? null : found)
    }
  }
}

/**
 * The page of a wiki’s link that nobody has written yet: `Setup_guide` is called “Setup guide”.
 * @param {string} destination @returns {Target | undefined} undefined: no page can have the name
 */
export function unwritten (destination) {
  const { path, fragment } = partsOf(destination)
  const name = pageName(path.replaceAll('_', ' '))
  return name === null ? undefined : { name, fragment }
}

/** @param {string} destination */
function partsOf (destination) {
  const [, path, fragment = ''] = /** @type {RegExpExecArray} */ (ADDRESS.exec(destination))
  const slug = fragment && slugOf(decoded(fragment))
  return { path: decoded(path), fragment: slug, isSlug: slug === decoded(fragment) }
}

/** @template T @param {Map<string, T>} map @param {string} key @param {T} value */
function setFirst (map, key, value) {
  if (!map.has(key)) map.set(key, value)
}

/** Without what systems and wikis write differently. @param {string} path */
const keyOf = (path) => path.normalize('NFC').toLowerCase().replaceAll('_', ' ')

/** @param {string} folder  '' or with a slash at its end @param {string} path @returns {string | null} null: outside */
function joined (folder, path) {
  /** @type {string[]} */
  const steps = []
  for (const step of `${folder}${path}`.split('/')) {
    if (step === '' || step === '.') continue
    if (step !== '..') steps.push(step)
    else if (steps.pop() === undefined) return null
  }
  return steps.join('/')
}

/** @param {string} text */
function decoded (text) {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
