/** @typedef {import('../counter.js').Count} Count */
/** @typedef {import('../counter.js').Reading} Reading */

/**
 * What a worker tells its primary.
 * @typedef {{kind: 'join'}
 *   | {kind: 'listening', address: string}
 *   | {kind: 'read', request: number, take: boolean}
 *   | {kind: 'counted', reading: number, count: Count}
 *   | {kind: 'leave', count: Count}} FromWorker
 */

/**
 * What a primary tells a worker.
 * @typedef {{kind: 'welcome', number: number}
 *   | {kind: 'count', reading: number}
 *   | {kind: 'reading', request: number, reading: Reading | null}
 *   | {kind: 'stop'}} FromPrimary
 */

/** Node, and prom-client, send messages on the same channel. */
const OURS = 'wiki'

/** @param {FromWorker | FromPrimary} message */
export const wrap = (message) => ({ [OURS]: message })

/**
 * @template {FromWorker | FromPrimary} Message
 * @param {any} message
 * @returns {Message | undefined} undefined for somebody else's
 */
export const unwrap = (message) => message?.[OURS]
