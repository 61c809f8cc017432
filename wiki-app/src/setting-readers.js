import mongoose from 'mongoose'
import { parseApiUrl } from '@stevec/cdn/wiki'
import { writableName } from './pages/name.js'

/** Purge APIs of a wiki. */
export const APIS_MAX = 8

/**
 * @template T
 * @typedef {object} SettingSpec
 * @property {(text: string) => T} read  throws what is not allowed
 * @property {T} default  undefined: not set
 * @property {string} allowed  in words, after "it must be"
 * @property {string} does  for the table in wiki-app/README.md
 * @property {string} [shown]  the default in the table, where that says more
 * @property {boolean} [secret]  may hold a password: never for a log or a message
 */

/** @template T @typedef {Omit<SettingSpec<T>, 'read' | 'default'> & {default?: T}} Spec  before its reader is known */

/** @param {(text: string) => boolean} allows @param {Spec<string>} spec @returns {SettingSpec<string>} */
export function text (allows, spec) {
  return { default: '', ...spec, read: (given) => allows(given) ? given : refuse() }
}

/** @param {Spec<string>} spec @returns {SettingSpec<string>} */
export function pageName (spec) {
  return { default: '', ...spec, read: writableName }
}

/** @param {number} least @param {number} most @param {Spec<number>} spec @returns {SettingSpec<number>} */
export function integer (least, most, spec) {
  const allows = (/** @type {string} */ given) =>
    /^\d{1,9}$/.test(given) && Number(given) >= least && Number(given) <= most
  return { default: 0, ...spec, read: (given) => allows(given) ? Number(given) : refuse() }
}

/** @param {Spec<number>} spec @returns {SettingSpec<number>} */
export function share (spec) {
  const allows = (/** @type {string} */ given) => /^(?:0|1|0?\.\d{1,9}|1\.0{1,9})$/.test(given)
  return { default: 0, ...spec, read: (given) => allows(given) ? Number(given) : refuse() }
}

/**
 * @template {string} T @param {readonly T[]} names
 * @param {Omit<SettingSpec<T>, 'read' | 'allowed'>} spec @returns {SettingSpec<T>}
 */
export function choice (names, spec) {
  return {
    ...spec,
    allowed: `one of ${names.join(', ')}`,
    read: (given) => names.find((name) => name === given) ?? refuse()
  }
}

/** @template T @param {SettingSpec<T>} spec @returns {Omit<SettingSpec<T>, 'default'> & {default: undefined}} */
export function optional (spec) {
  return { ...spec, default: undefined }
}

/** @param {readonly string[]} names */
export function listed (names) {
  return names.map((name) => `\`${name}\``).join(', ')
}

/** The driver's constructor parses URIs without connecting. @param {string} uri */
export function isMongodbUri (uri) {
  try {
    return Boolean(new mongoose.mongo.MongoClient(uri))
  } catch {
    return false
  }
}

/** @param {string} given  with commas between */
export function areApiUrls (given) {
  try {
    const apis = given.split(',').map((url) => parseApiUrl(url))
    return apis.length <= APIS_MAX && new Set(apis).size === apis.length
  } catch {
    return false
  }
}

/** @param {string} given */
export function isOrigin (given) {
  if (!URL.canParse(given)) return false
  const { protocol, origin } = new URL(given)
  return (protocol === 'https:' || protocol === 'http:') && given.replace(/\/$/, '').toLowerCase() === origin
}

/** @param {string} given  without a query: paths are put behind it */
export function isHttpAddress (given) {
  return /^https?:\/\/[^?#\s]+$/i.test(given) && URL.canParse(given)
}

/** @param {string} given  name=value, with commas between */
export function areHeaders (given) {
  try {
    // Node refuses other characters when it sends them.
    return given.split(',').every((pair) => /^[\w!#$&'*+.^`|~-]+=[\x20-\x7e]*$/.test(decodeURIComponent(pair.trim())))
  } catch {
    return false
  }
}

/** @param {string} given */
export function isThere (given) {
  return given !== ''
}

/** @returns {never} the message is not shown: readConfig says what is allowed */
function refuse () {
  throw new Error('not allowed')
}
