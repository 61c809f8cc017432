/** As file managers count: the limits of settings are round numbers then. */
const KB_BYTES = 1_024
const SIZE_UNITS = ['kB', 'MB', 'GB']
/** 1023.95 would be shown as 1024. */
const UNIT_MAX = 1_023.95
const MINUTE_S = 60
const HOUR_S = 3_600

/** @param {number} count @param {string} one @param {string} [many] @returns {string} `1 page`, `2 pages` */
export const counted = (count, one, many = `${one}s`) => `${count} ${count === 1 ? one : many}`

/** @param {number} bytes @returns {string} `1 byte`, `1.5 kB` (1 kB is 1024 bytes), `5 MB` */
export function readableSize (bytes) {
  if (bytes < KB_BYTES) return counted(bytes, 'byte')
  let [size, unit] = [bytes / KB_BYTES, 0]
  for (; size >= UNIT_MAX && unit < SIZE_UNITS.length - 1; unit++) size /= KB_BYTES
  return `${Number(size.toFixed(1))} ${SIZE_UNITS[unit]}`
}

/** Rounded up, so that its end is not too early. @param {number} seconds @returns {string} `1 second`, `14 minutes` */
export function readableDuration (seconds) {
  const least = Math.max(1, Math.ceil(seconds))
  if (least < MINUTE_S) return counted(least, 'second')
  const minutes = Math.ceil(least / MINUTE_S)
  return minutes < MINUTE_S ? counted(minutes, 'minute') : counted(Math.ceil(least / HOUR_S), 'hour')
}

/** @param {string} isoTime  in UTC @returns {string} `2026-01-31 18:00:05 UTC` */
export const readableMoment = (isoTime) => `${isoTime.slice(0, 10)} ${isoTime.slice(11, 19)} UTC`

/** @param {string} isoTime  in UTC @returns {string} `2026-01-31 18:00 UTC` */
export const readableTime = (isoTime) => `${isoTime.slice(0, 10)} ${isoTime.slice(11, 16)} UTC`
