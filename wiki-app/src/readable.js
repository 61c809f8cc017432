import { language, t } from './language.js'
import { perSite } from './site/site.js'

/** As file managers count: the limits of settings are round numbers then. */
const KB_BYTES = 1_024
const SIZE_UNITS = ['kB', 'MB', 'GB']
/** 1023.95 would be shown as 1024. */
const UNIT_MAX = 1_023.95
const MINUTE_S = 60
const HOUR_S = 3_600

/** @param {number} count @param {string} one @param {string} [many] @returns {string} `1 page`, `2 pages` */
export const counted = (count, one, many = `${one}s`) => `${count} ${count === 1 ? one : many}`

/** For programs, commands and logs. @param {number} bytes @returns {string} `1 byte`, `1.5 kB` (1 kB is 1024 bytes) */
export function englishSize (bytes) {
  if (bytes < KB_BYTES) return counted(bytes, 'byte')
  const { size, unit } = inUnits(bytes)
  return `${size} ${unit}`
}

/** Rounded up, so that its end is not too early. @param {number} seconds @returns {string} `1 second`, `14 minutes` */
export function englishDuration (seconds) {
  const { count, unit } = roundedUp(seconds)
  return counted(count, unit)
}

/** @param {string} isoTime  in UTC @returns {string} `2026-01-31 18:00 UTC` */
export const englishTime = (isoTime) => `${isoTime.slice(0, 10)} ${isoTime.slice(11, 16)} UTC`

/** At most 1024 texts, which page views need. */
const bytesTexts = perSite(() => /** @type {string[]} */ ([]))
const formats = perSite(() => {
  const shape = /** @type {const} */ ({
    timeZone: 'UTC', year: 'numeric', month: 'numeric', day: 'numeric', hour: '2-digit', minute: '2-digit'
  })
  return {
    isEnglish: language() === 'en',
    number: new Intl.NumberFormat(language(), { maximumFractionDigits: 1 }),
    minutes: new Intl.DateTimeFormat(language(), shape),
    seconds: new Intl.DateTimeFormat(language(), { ...shape, second: '2-digit' })
  }
})

/** For people, in the wiki's language, as all below. @param {number} bytes @returns {string} as `englishSize` */
export function readableSize (bytes) {
  if (bytes < KB_BYTES) {
    const texts = bytesTexts()
    texts[bytes] ??= t('{{count}} bytes', { count: bytes })
    return texts[bytes]
  }
  const { size, unit } = inUnits(bytes)
  return `${formats().isEnglish ? size : formats().number.format(size)} ${unit}`
}

/** @param {number} seconds @returns {string} as `englishDuration` */
export function readableDuration (seconds) {
  const { count, unit } = roundedUp(seconds)
  if (unit === 'second') return t('{{count}} seconds', { count })
  return unit === 'minute' ? t('{{count}} minutes', { count }) : t('{{count}} hours', { count })
}

/** @param {string} isoTime  in UTC @returns {string} `2026-01-31 18:00:05 UTC` */
export const readableMoment = (isoTime) => formats().isEnglish
  ? `${isoTime.slice(0, 10)} ${isoTime.slice(11, 19)} UTC`
  : `${formats().seconds.format(new Date(isoTime))} UTC`

/** @param {string} isoTime  in UTC @returns {string} `2026-01-31 18:00 UTC`, `31. 1. 2026, 18:00 UTC` */
export const readableTime = (isoTime) => formats().isEnglish
  ? englishTime(isoTime)
  : `${formats().minutes.format(new Date(isoTime))} UTC`

/** @param {number} bytes  at least 1024 */
function inUnits (bytes) {
  let [size, unit] = [bytes / KB_BYTES, 0]
  for (; size >= UNIT_MAX && unit < SIZE_UNITS.length - 1; unit++) size /= KB_BYTES
  return { size: Number(size.toFixed(1)), unit: SIZE_UNITS[unit] }
}

/** @param {number} seconds */
function roundedUp (seconds) {
  const least = Math.max(1, Math.ceil(seconds))
  if (least < MINUTE_S) return { count: least, unit: 'second' }
  const minutes = Math.ceil(least / MINUTE_S)
  return minutes < MINUTE_S ? { count: minutes, unit: 'minute' } : { count: Math.ceil(least / HOUR_S), unit: 'hour' }
}
