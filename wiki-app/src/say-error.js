import { readFileSync } from 'node:fs'
import { language, say, t } from './language.js'
import { perSite } from './site/site.js'

const COUNTED = /^(\d+) (byte|second|minute|hour)s?$/

/** Messages of errors are English, for programs; their patterns with `%s` are keys of the catalogue as they are. */
const patterns = perSite(() => language() === 'en'
  ? []
  : Object.entries(catalogue()).filter(([english]) => /%[sd]/.test(english)).map(([english, text]) => ({
    fits: new RegExp(`^${english.split(/%[sd]/).map(escapePattern).join('([^]*)')}$`),
    // What stands in quotation marks is a name that somebody chose, such as “Save”.
    areNames: english.split(/%[sd]/).map((before) => before.endsWith('“')),
    text: /** @type {string} */ (text)
  })).sort((one, other) => other.fits.source.length - one.fits.source.length))

const catalogue = () => JSON.parse(readFileSync(new URL(`languages/${language()}.json`, import.meta.url), 'utf8'))

/** @param {string} text */
const escapePattern = (text) => text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')

/**
 * For people.
 * @param {string} message  of an error, English
 * @returns {string} in the wiki's language, English if it has no such text
 */
export function sayError (message) {
  if (language() === 'en') return message
  const counted = COUNTED.exec(message)
  if (counted) return sayCounted(Number(counted[1]), counted[2])
  for (const { fits, areNames, text } of patterns()) {
    const values = fits.exec(message)?.slice(1)
    if (values === undefined) continue
    const said = values.map((value, index) => areNames[index] ? value : sayError(value))
    let next = 0
    return text.replace(/%[sd]/g, () => said[next++] ?? '')
  }
  return say(message)
}

/** @param {number} count @param {string} unit */
function sayCounted (count, unit) {
  if (unit === 'byte') return t('{{count}} bytes', { count })
  if (unit === 'second') return t('{{count}} seconds', { count })
  return unit === 'minute' ? t('{{count}} minutes', { count }) : t('{{count}} hours', { count })
}
