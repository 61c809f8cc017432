import { createAssets } from '../assets.js'
import { speak } from '../language.js'
import { accentStyle } from './colour.js'
import { readLogo } from './logo.js'

/** @import {Assets} from '../assets.js' */
/** @import {Language} from './languages.js' */

/**
 * How this process presents its wiki. A process serves one wiki, so this needs no way through every function.
 * @typedef {{name: string, description?: string, language: Language, logoUrl?: string, offlineUrl?: string,
 *   assets: Assets}} Site  `offlineUrl`: of the worker that keeps pages in browsers
 */

/** Its folder is the scope of the worker: all of the wiki. */
export const OFFLINE_URL = '/offline.js'

/** @type {Site | undefined} */
let current

/**
 * Before the first request.
 * @param {Pick<import('../settings.js').Config,
 *   'WIKI_NAME' | 'WIKI_DESCRIPTION' | 'WIKI_LOGO' | 'WIKI_COLOUR' | 'WIKI_LANGUAGE' | 'OFFLINE_READING' |
 *   'READ_ACCESS'>} config
 * @throws {import('../config-error.js').ConfigError} for a file that is no logo
 */
export function present (config) {
  const { WIKI_NAME: name, WIKI_DESCRIPTION: description, WIKI_LANGUAGE: language } = config
  const logo = config.WIKI_LOGO === undefined ? undefined : readLogo(config.WIKI_LOGO)
  speak(language)
  const assets = createAssets({ logo, style: config.WIKI_COLOUR && accentStyle(config.WIKI_COLOUR) })
  // Nothing that only members may read stays in a browser.
  const keeps = config.OFFLINE_READING === 'on' && config.READ_ACCESS === 'everyone'
  const offlineUrl = keeps ? OFFLINE_URL : undefined
  current = { name, description, language, logoUrl: logo && assets.urls.iconUrl, offlineUrl, assets }
}

/** @returns {Site} the same object until another is presented */
export function site () {
  if (current === undefined) present(DEFAULTS)
  return /** @type {Site} */ (current)
}

/**
 * What is made once for the present site, such as a text that every page view has.
 * @template T @param {() => T} make @returns {() => T}
 */
export function perSite (make) {
  /** @type {Site | undefined} */
  let madeFor
  /** @type {T} */
  let made
  return () => {
    if (madeFor !== site()) [madeFor, made] = [site(), make()]
    return made
  }
}

/** For what renders without a wiki, such as a benchmark. */
const DEFAULTS = /** @type {const} */ ({
  WIKI_NAME: 'stevec',
  WIKI_DESCRIPTION: undefined,
  WIKI_LOGO: undefined,
  WIKI_COLOUR: undefined,
  WIKI_LANGUAGE: 'en',
  OFFLINE_READING: 'on',
  READ_ACCESS: 'everyone'
})
