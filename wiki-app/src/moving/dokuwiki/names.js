import { existsSync } from 'node:fs'
import path from 'node:path'
import { LRUCache } from 'lru-cache'
import { nameOfId, START } from '../pandoc/dokuwiki-links.js'

const KNOWN_MAX = 50_000

/** @param {string} file  relative to `pages` or `media` @returns {string} the id: `wiki:bees` */
export const idOf = (file) => decoded(file.replace(/\.txt$/, '')).split('/').join(':')

/** DokuWiki encodes the names of files as URLs, unless `fnencode` says otherwise. @param {string} text */
function decoded (text) {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    return text
  }
}

/** @param {string} id @returns {string} as DokuWiki names most files, see `deaccent` of its settings */
export const withoutAccents = (id) => id.normalize('NFD').replace(/\p{M}/gu, '').normalize('NFC')

/**
 * Names of pages in this wiki.
 * @param {string} root  DokuWiki's folder `data`
 */
export function createNames (root) {
  /** @type {LRUCache<string, boolean>} */
  const known = new LRUCache({ max: KNOWN_MAX })

  /** @param {string} id */
  function isPage (id) {
    const found = known.get(id)
    if (found !== undefined) return found
    const file = id.replaceAll(':', '/')
    const is = [file, encodeURIComponent(file).replaceAll('%2F', '/')]
      .some((name) => !name.includes('\0') && existsSync(path.join(root, 'pages', `${name}.txt`)))
    known.set(id, is)
    return is
  }

  /** @param {string} id  of a page */
  function nameOf (id) {
    const above = id.endsWith(`:${START}`) ? id.slice(0, -START.length - 1) : ''
    // Two pages cannot have one name.
    return above !== '' && isPage(above) ? `${nameOfId(above)}/${START}` : nameOfId(id)
  }

  return {
    nameOf,
    /** @param {string} id  as a link has it */
    linked: (id) => nameOf([id, withoutAccents(id)].find(isPage) ?? id)
  }
}
