import { readFileSync } from 'node:fs'
import { createInstance } from 'i18next'
import { LANGUAGES } from './site/languages.js'

/** @import {Language} from './site/languages.js' */

/** @typedef {Record<string, string | number>} Values  of the placeholders `{{name}}`; `count` chooses the plural */

/** The English texts are the keys, so English has only what depends on a number. @param {Language} language */
const catalogueOf = (language) =>
  JSON.parse(readFileSync(new URL(`languages/${language}.json`, import.meta.url), 'utf8'))

/** Filled here, in one pass: i18next would fill those within a value that somebody typed. */
const PLACEHOLDER = /\{\{(\w+)\}\}/g

const i18n = createInstance()
i18n.init({
  lng: 'en',
  fallbackLng: 'en',
  initAsync: false,
  keySeparator: false,
  nsSeparator: false,
  resources: { en: { translation: catalogueOf('en') } }
})

/** For the whole process, before the first text is made. @param {Language} language */
export function speak (language) {
  if (!i18n.hasResourceBundle(language, 'translation')) {
    i18n.addResourceBundle(language, 'translation', catalogueOf(language))
  }
  i18n.changeLanguage(language)
}

/** @returns {Language} */
export const language = () => /** @type {Language} */ (i18n.language)

/** 0 is English. @returns {number} */
export const languageNumber = () => LANGUAGES.indexOf(language())

/**
 * Text for people, not escaped. Only inside of functions: while modules load, the language is not known.
 * @param {string} text  English, a literal: test/language.test.js looks for it in the sources
 * @param {Values} [values] @returns {string}
 */
export const t = (text, values = {}) =>
  i18n.t(text, { count: countOf(values), nest: false, skipInterpolation: true })
    .replace(PLACEHOLDER, (placeholder, name) => Object.hasOwn(values, name) ? String(values[name]) : placeholder)

/** `t` for a text that is no literal, such as that of an error. @type {typeof t} */
export const say = (text, values) => t(text, values)

/** @param {Values} values */
const countOf = ({ count }) => typeof count === 'number' ? count : undefined

/**
 * `t` for text in HTML with elements inside: `<a>…</a>` in the text becomes the element that `tags.a` opens; others,
 * such as `<code>…</code>`, stay.
 * @param {(text: unknown) => string} escape
 */
export const createHtmlText = (escape) =>
  /**
   * @param {string} text  as for `t` @param {Values} values  escaped here
   * @param {Record<string, string>} tags  of `tag`
   * @returns {string} HTML
   */
  (text, values, tags) => {
    const escaped = Object.fromEntries(Object.entries(values).map(([name, value]) =>
      [name, typeof value === 'number' ? value : escape(value)]))
    return t(text, escaped).replace(/<(\/?)(\w+)>/g, (whole, slash, name) => {
      if (tags[name] === undefined) return whole
      return slash ? `</${/^<(\w+)/.exec(tags[name])?.[1]}>` : tags[name]
    })
  }

/** @param {(text: unknown) => string} escape */
export const createTag = (escape) =>
  (/** @type {string} */ name, /** @type {Record<string, string>} */ attributes) =>
    `<${[name, ...Object.entries(attributes).map(([key, value]) => `${key}="${escape(value)}"`)].join(' ')}>`
