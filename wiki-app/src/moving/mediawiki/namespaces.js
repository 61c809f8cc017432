import { ConfigError } from '../../config-error.js'

/** @import {Site} from './dump.js' */

const MAIN = 0
/** https://www.mediawiki.org/wiki/Manual:Namespace#Built-in_namespaces */
const ENGLISH = new Map(Object.entries({
  talk: 1,
  user: 2,
  'user talk': 3,
  project: 4,
  'project talk': 5,
  file: 6,
  image: 6,
  'file talk': 7,
  mediawiki: 8,
  'mediawiki talk': 9,
  template: 10,
  'template talk': 11,
  help: 12,
  'help talk': 13,
  category: 14,
  'category talk': 15
}))

/**
 * @param {Site['namespaces']} namespaces  of the dump
 * @param {string[]} [given]  names, numbers, `main` or `all`; default: the main one
 * @returns {(ns: number) => boolean} whether pages of a namespace are wanted
 * @throws {ConfigError} for a name that there is not
 */
export function wantedNamespaces (namespaces, given = ['main']) {
  const names = new Map([...ENGLISH, ...[...namespaces].map(([ns, name]) => /** @type {const} */ ([plain(name), ns]))])
  names.set('main', MAIN)
  names.set('', MAIN)
  if (given.some((name) => plain(name) === 'all')) return (ns) => ns >= MAIN
  const wanted = new Set(given.map((name) => {
    const ns = /^\d+$/.test(name.trim()) ? Number(name) : names.get(plain(name))
    if (ns !== undefined) return ns
    const there = [...namespaces.values()].filter((each) => each !== '').join(', ')
    throw new ConfigError(`the dump has no namespace "${name}"; it has main, ${there}`)
  }))
  return (ns) => wanted.has(ns)
}

const plain = (/** @type {string} */ name) => name.trim().replaceAll('_', ' ').toLowerCase()

/** @param {Site['namespaces']} namespaces @param {number} ns */
export const namespaceName = (namespaces, ns) => ns === MAIN ? 'main' : namespaces.get(ns) ?? `namespace ${ns}`
