import { lagOf } from '../queue/depth.js'

/** @import {Node} from './nodes.js' */
/** @import {Stack} from './stack-file.js' */

/**
 * @typedef {'ok' | 'degraded' | 'down'} Status
 * @typedef {{number: number, since: Date | null, restarts: number}} WikiProcess  since: null while it does not run
 *
 * @typedef {object} Seen  what this process knows without a query
 * @property {WikiProcess[]} processes  of this wiki
 * @property {{available: boolean, since: Date, nodes: Node[], failedOverAt: Date | null}} database
 * @property {{available: boolean, since: Date, failedOverAt: Date | null}} [redis]
 * @property {ReturnType<import('../caching/purge-queue.js').PurgeQueue['state']>} [purges]
 * @property {ReturnType<import('../queue/queue.js').Queue['state']>} [queue]
 * @property {{failing: boolean, since: Date, sentAt: Date | null}} [mail]  of this process
 * @property {import('../words/words.js').Freshness & {since: Date}} [search]
 * @property {{strategy: string, settledAt: Date | null, records: number, bytes: number}} [deferred]  with an unsafe
 *   WRITE_STRATEGY
 * @property {Stack | null} [stack]  null: STATUS_FILE cannot be read; undefined: there is none
 *
 * @typedef {object} Part
 * @property {string} name
 * @property {Status} status
 * @property {string | null} since  it has had this status; ISO 8601
 *
 * @typedef {Part & {
 *   last_failover_at?: string | null,
 *   last_purge_at?: string | null,
 *   last_purge_lag_s?: number | null,
 *   purges?: {waiting: number, lag_s: number},
 *   tasks?: {waiting: number, set_aside: number, lag_s: number},
 *   building?: boolean,
 *   behind_s?: number,
 *   problem?: string | null,
 *   last_mail_at?: string | null,
 *   strategy?: string,
 *   waiting?: {records: number, bytes: number},
 *   last_settled_at?: string | null,
 *   processes?: (Part & {restarts: number})[],
 *   nodes?: (Part & {role: Node['role']})[]
 * }} Service
 * @typedef {Part & {state: import('./stack-file.js').StackState, restarts: number, last_restart_at: string | null}}
 *   StackPart
 *
 * @typedef {object} Report  the JSON of /status.json
 * @property {1} schema_version
 * @property {Status} status
 * @property {string} at
 * @property {Service[]} services
 * @property {{status: Status, written_at: string | null, services: StackPart[]} | null} stack  null: without
 *   STATUS_FILE
 */

/** The keeper writes each 5 s. */
const STACK_SILENT_MAX_MS = 30_000

/**
 * @param {Seen} seen
 * @param {Date} now
 * @returns {Report}
 */
export function reportOf ({ processes, database, redis, purges, queue, mail, search, deferred, stack }, now) {
  const services = [
    wikiOf(processes),
    databaseOf(database),
    ...redis === undefined ? [] : [redisOf(redis)],
    ...purges === undefined ? [] : [cachesOf(purges, now)],
    ...queue === undefined ? [] : [queueOf(queue, now)],
    ...mail === undefined ? [] : [mailOf(mail)],
    ...search === undefined ? [] : [searchOf(search)],
    ...deferred === undefined ? [] : [savingOf(deferred)]
  ]
  const around = stack === undefined ? null : stackOf(stack, now)
  return { schema_version: 1, status: overall(services, around), at: now.toISOString(), services, stack: around }
}

/**
 * Without its database the wiki shows no page; without anything else it does.
 * @param {Service[]} services @param {Report['stack']} stack
 * @returns {Status}
 */
function overall (services, stack) {
  if (services.some(({ name, status }) => name === 'database' && status === 'down')) return 'down'
  const isOk = services.every(({ status }) => status === 'ok') && (stack === null || stack.status === 'ok')
  return isOk ? 'ok' : 'degraded'
}

/** @param {WikiProcess[]} processes @returns {Service} */
function wikiOf (processes) {
  const shown = processes.map(({ number, since, restarts }) => ({
    name: `process ${number}`,
    status: /** @type {Status} */ (since === null ? 'down' : 'ok'),
    since: iso(since),
    restarts
  }))
  const starts = shown.flatMap(({ since }) => since ?? []).sort()
  return {
    name: 'wiki',
    status: shown.every(({ status }) => status === 'ok') ? 'ok' : 'degraded',
    since: starts[0] ?? null,
    processes: shown
  }
}

/** @type {Record<Node['role'], Status>} */
const STATUS_OF_ROLE = {
  primary: 'ok', secondary: 'ok', arbiter: 'ok', router: 'ok', other: 'degraded', unreachable: 'down'
}

/** @param {Seen['database']} database @returns {Service} */
function databaseOf ({ available, since, nodes, failedOverAt }) {
  const shown = nodes.map(({ number, role, since }) =>
    ({ name: `node ${number}`, role, status: STATUS_OF_ROLE[role], since: since.toISOString() }))
  const writable = nodes.find(({ role }) => role === 'primary' || role === 'router')
  const broken = shown.filter(({ status }) => status !== 'ok')
  const part = (/** @type {Status} */ status, /** @type {string | null} */ since) =>
    ({ name: 'database', status, since, last_failover_at: iso(failedOverAt), nodes: shown })
  if (!available || writable === undefined) {
    // The primary may be gone for some moments before a request notices.
    return part('down', available ? latest(broken) ?? iso(since) : iso(since))
  }
  if (broken.length > 0) return part('degraded', latest(broken))
  return part('ok', latest([...shown, { since: iso(since) }]))
}

/** @param {NonNullable<Seen['redis']>} redis @returns {Service} */
const redisOf = ({ available, since, failedOverAt }) => ({
  name: 'redis',
  status: available ? 'ok' : 'down',
  since: iso(since),
  last_failover_at: iso(failedOverAt)
})

/** @param {NonNullable<Seen['purges']>} purges @param {Date} now @returns {Service} */
const cachesOf = ({ failing, since, purgedAt, lagS, waiting, oldestAt }, now) => ({
  name: 'caches',
  status: failing ? 'degraded' : 'ok',
  since: iso(since),
  last_purge_at: iso(purgedAt),
  last_purge_lag_s: lagS,
  purges: { waiting, lag_s: lagOf(oldestAt, now) }
})

/** @param {NonNullable<Seen['queue']>} queue @param {Date} now @returns {Service} */
const queueOf = ({ waiting, setAside, oldestAt, isFailing }, now) => ({
  name: 'queue',
  status: isFailing || setAside > 0 ? 'degraded' : 'ok',
  since: null,
  tasks: { waiting, set_aside: setAside, lag_s: lagOf(oldestAt, now) }
})

/** @param {NonNullable<Seen['mail']>} mail */
const mailOf = ({ failing, since, sentAt }) => ({
  name: 'mail',
  status: /** @type {Status} */ (failing ? 'degraded' : 'ok'),
  since: iso(since),
  last_mail_at: iso(sentAt)
})

/** An index that is being built, or a little late, works as it should. @param {NonNullable<Seen['search']>} search */
const searchOf = ({ building, behindMs, problem, since }) => ({
  name: 'search',
  status: /** @type {Status} */ (problem === null ? 'ok' : 'degraded'),
  since: iso(since),
  building,
  behind_s: behindMs / 1000,
  problem
})

/** It works as it was set. @param {NonNullable<Seen['deferred']>} deferred @returns {Service} */
const savingOf = ({ strategy, settledAt, records, bytes }) => ({
  name: 'saving',
  status: 'ok',
  since: null,
  strategy,
  waiting: { records, bytes },
  last_settled_at: iso(settledAt)
})

/** @param {Stack | null} stack @param {Date} now @returns {NonNullable<Report['stack']>} */
function stackOf (stack, now) {
  if (stack === null) return { status: 'degraded', written_at: null, services: [] }
  const services = stack.services.map((service) =>
    ({ ...service, status: /** @type {Status} */ (service.state === 'running' ? 'ok' : 'down') }))
  const silent = now.getTime() - Date.parse(stack.written_at) > STACK_SILENT_MAX_MS
  const isOk = !silent && services.every(({ status }) => status === 'ok')
  return { status: isOk ? 'ok' : 'degraded', written_at: stack.written_at, services }
}

/** @param {Date | null} time */
const iso = (time) => time?.toISOString() ?? null

/** @param {{since: string | null}[]} parts @returns {string | null} */
const latest = (parts) => parts.flatMap(({ since }) => since ?? []).sort().at(-1) ?? null
