/** @import {Count, Reading} from '../counter.js' */

/**
 * @typedef {{kind: 'join'}
 *   | {kind: 'listening', address: string}
 *   | {kind: 'read', request: number, take: boolean}
 *   | {kind: 'counted', reading: number, count: Count}
 *   | {kind: 'leave', count: Count}} FromWorker
 */

/**
 * @typedef {{kind: 'welcome', number: number}
 *   | {kind: 'count', reading: number}
 *   | {kind: 'reading', request: number, reading: Reading | null}
 *   | {kind: 'processes', processes: {number: number, since: string | null, restarts: number}[]}
 *   | {kind: 'stop'}} FromPrimary
 */

/** Node and prom-client use the same channel. */
const OURS = 'wiki'

/** @param {FromWorker | FromPrimary} message */
export const wrap = (message) => ({ [OURS]: message })

/**
 * @template {FromWorker | FromPrimary} Message @param {any} message
 * @returns {Message | undefined} undefined for messages of others
 */
export const unwrap = (message) => message?.[OURS]
