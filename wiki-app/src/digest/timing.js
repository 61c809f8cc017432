import { COMMIT_MAX_MS } from '../watching/read-marks.js'

/** @import {Interval} from './model.js' */

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

/**
 * @typedef {object} Timing
 * @property {Record<Interval, number>} intervalMs
 * @property {number} settleMs  a change is seen so long after its id was made, at most
 * @property {number} checkMs  how often each process looks for what is due
 * @property {number} leaseMs  longer than a mail takes
 * @property {number} retryMs  the first pause after a failure; doubles up to `retryMaxMs`
 * @property {number} retryMaxMs
 * @property {number} refusedMs  the first pause after a mailbox refused a mail; doubles up to `refusedMaxMs`
 * @property {number} refusedMaxMs
 * @property {number} refusalsMax  then a digest ends
 * @property {number} awayMs  the first pause of a process whose server for mail is away; doubles up to `awayMaxMs`
 * @property {number} awayMaxMs
 * @property {number} atOnce  mails that a process sends at once
 * @property {number} perMinute  mails of a process
 */
/** @type {Readonly<Timing>} */
export const TIMING = Object.freeze({
  intervalMs: { daily: 24 * HOUR_MS, hourly: HOUR_MS },
  settleMs: COMMIT_MAX_MS,
  checkMs: MINUTE_MS / 2,
  leaseMs: 3 * MINUTE_MS,
  retryMs: MINUTE_MS,
  retryMaxMs: HOUR_MS,
  // Together two to five hours: a server that refuses all mails by mistake ends no digest meanwhile.
  refusedMs: 10 * MINUTE_MS,
  refusedMaxMs: 6 * HOUR_MS,
  refusalsMax: 6,
  awayMs: 1_000,
  awayMaxMs: MINUTE_MS,
  atOnce: 2,
  perMinute: 60
})

/** @param {number} first @param {number} most @param {number} times  from 1 */
export const pauseOf = (first, most, times) =>
  Math.min(most, first * 2 ** Math.min(times - 1, 30)) * (0.5 + Math.random() / 2)
