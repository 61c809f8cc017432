import { writeFile } from 'node:fs/promises'
import { viewUrl } from '../pages/name.js'

/** @import {Outcome} from './report.js' */

/** nginx keeps all of them in memory. */
const ADDRESSES_MAX = 200_000
const TAKEN = new Set(['created', 'appended', 'unchanged', 'kept', 'replaced', 'redirect'])
/** What MediaWiki leaves as it is in an address, beside letters and digits: wfUrlencode() in GlobalFunctions.php */
const LEFT_BY_MEDIAWIKI = /%(?:3B|40|24|21|2A|28|29|2C|2F|7E|3A)/g
/** nginx takes these at the beginning of a key for something else. */
const SPECIAL = /^(?:~|default$|hostnames$|include$|volatile$|\\)/

/**
 * Addresses of MediaWiki, for a `map` of nginx that leads to those of this wiki.
 * https://nginx.org/en/docs/http/ngx_http_map_module.html
 * @param {{oldPath: string}} options  of pages there: `/wiki/`
 */
export function createOldAddresses ({ oldPath }) {
  /** @type {{title: string, url: string}[]} */
  const addresses = []
  let isFull = false

  return {
    isFull: () => isFull,

    /** @param {Outcome} outcome */
    add ({ source, name, result }) {
      if (name === undefined || name.startsWith('/') || !TAKEN.has(result)) return
      if (addresses.length >= ADDRESSES_MAX) isFull = true
      else addresses.push({ title: source, url: viewUrl(name) })
    },

    /** @param {string} file  created, or replaced */
    write: (file) => writeFile(file, fileOf(addresses, oldPath))
  }
}

/** @param {{title: string, url: string}[]} addresses @param {string} oldPath */
function fileOf (addresses, oldPath) {
  const byTitle = addresses.flatMap(({ title, url }) => {
    const encoded = encodeURIComponent(title.replaceAll(' ', '_')).replaceAll("'", '%27')
    const keys = [
      encoded, encoded.replace(LEFT_BY_MEDIAWIKI, decodeURIComponent), encoded.replaceAll('%27', "'"),
      encoded.replaceAll('_', '%20'), encoded.replaceAll('_', '+')
    ]
    return [...new Set(keys)].map((key) => ({ key, url }))
  })
  const byPath = addresses
    .map(({ title, url }) => ({ key: oldPath + title.replaceAll(' ', '_'), url }))
    .filter(({ key, url }) => key !== decodeURIComponent(url))
  const present = addresses.map(({ url }) => decodeURIComponent(url))
  const size = Math.max(2048, byTitle.length + byPath.length)
  return [
    '# The old wiki\'s addresses. Include this file in `http`, and in the wiki\'s `server`:',
    '#   if ($stevec_old_title) { return 301 $stevec_old_title; }',
    '#   if ($stevec_old_path) { return 301 $stevec_old_path; }',
    'map_hash_bucket_size 4096;',
    `map_hash_max_size ${size};`,
    ...mapLines('$arg_title $stevec_old_title', byTitle, []),
    ...mapLines('$uri $stevec_old_path', byPath, present),
    ''
  ].join('\n')
}

/**
 * nginx ignores the case of keys, except of patterns. It compares these one after the other, so they stand only where
 * another key, or the address of a page here, differs in case alone.
 * @param {string} variables @param {{key: string, url: string}[]} entries @param {string[]} present
 */
function mapLines (variables, entries, present) {
  /** @type {Map<string, number>} */
  const counts = new Map()
  for (const key of [...new Set(entries.map(({ key }) => key)), ...present]) {
    counts.set(lowered(key), (counts.get(lowered(key)) ?? 0) + 1)
  }
  const lines = new Map(entries.map(({ key, url }) => [key, url]))
  return [
    `map ${variables} {`,
    ...[...lines].map(([key, url]) => `  ${keyOf(key, counts.get(lowered(key)) === 1)} ${quoted(valueOf(url))};`),
    '}'
  ]
}

/** Of ASCII alone, as nginx does. @param {string} text */
const lowered = (text) => text.replace(/[A-Z]/g, (letter) => letter.toLowerCase())

/** @param {string} key @param {boolean} isAlone */
function keyOf (key, isAlone) {
  if (!isAlone) return quoted(`~^${key.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')}$`)
  return quoted(SPECIAL.test(lowered(key)) ? `\\${key}` : key)
}

/** A dollar would begin a variable. @param {string} url */
const valueOf = (url) => url.replaceAll('$', '%24')

/** @param {string} text */
const quoted = (text) => `"${text.replace(/["\\]/g, '\\$&')}"`
