import { setTimeout as delay } from 'node:timers/promises'
import { pageName } from '../../scenarios/plan.js'
import { request } from '@stevec/harness/request'
import { WRITE_TIMEOUT_MS } from './pages.js'
import { isSteady } from './steady.js'

/** @typedef {{requests: number, least: number, most: number}} Rounds  requests of each round; number of rounds */

/**
 * At least the 3000 requests at which a wiki on two cores was within a tenth of its later times; at most five seconds
 * there.
 * @type {Rounds}
 */
export const ROUNDS = Object.freeze({ requests: 250, least: 12, most: 24 })
/** Where each request costs much (an emulated board, somebody's wiki): too few for the rule to be met often. */
export const FEW_ROUNDS = Object.freeze({ requests: 60, least: 5, most: 5 })
/** The first reads of an emulated board took more than ten seconds on a busy machine. */
const READ_WITHIN_MS = 60_000
/** Under its first load, a starved wiki may believe its database silent and respond with 503. */
const UNAVAILABLE_MAX = 30
const UNAVAILABLE_WAIT_MS = 1_000
const CONNECTING_WITHIN_MS = 60_000

/**
 * What a warm-up sent and found; trial.json has it (docs/results-format.md). The times are means of the last round.
 * @typedef {object} WarmUp
 * @property {number} requests
 * @property {number} writes  among them
 * @property {number} rounds
 * @property {boolean} steady  whether times had stopped falling
 * @property {number} read_mean_ms
 * @property {number | null} write_mean_ms
 */

/**
 * Reads and edits pages, or short links, until the times of both no longer fall (steady.js): until then, the JavaScript
 * engine still compiles the wiki's code. Without the edits, the first ten of a trial took 1.6 times as long as the last
 * ten.
 * @param {object} options
 * @param {Pick<import('../stack/doors.js').Door, 'url' | 'ca_file'>} options.door  that stores nothing
 * @param {import('./warm-up-messages.js').Messages} options.messages
 * @param {Rounds} [options.rounds]
 * @param {AbortSignal} options.signal
 * @returns {Promise<WarmUp>}
 * @throws {Error} when a page does not exist or an edit is refused
 */
export async function warmUp ({ door, messages: { read, edit, editEvery, atOnce }, rounds = ROUNDS, signal }) {
  const send = createSender(door, signal)
  /** @type {number[]} */
  const readMeansMs = []
  /** @type {number[]} */
  const writeMeansMs = []
  let [index, requests, writes] = [0, 0, 0]

  async function sendRound () {
    /** @type {number[]} */
    const readsMs = []
    /** @type {number[]} */
    const writesMs = []
    const end = requests + rounds.requests
    await Promise.all(Array.from({ length: atOnce }, async () => {
      while (requests < end) {
        const number = index++
        const isEdit = edit !== null && number % editEvery === editEvery - 1
        const message = isEdit ? edit() : read(number)
        requests += message.next === undefined ? 1 : 2
        writes += isEdit ? 1 : 0
        const tookMs = await send(message)
        ;(isEdit ? writesMs : readsMs).push(tookMs)
        if (message.next !== undefined) readsMs.push(await send(message.next))
      }
    }))
    readMeansMs.push(mean(readsMs))
    if (writesMs.length > 0) writeMeansMs.push(mean(writesMs))
  }
  const steady = () => isSteady(readMeansMs) && (edit === null || isSteady(writeMeansMs))

  do await sendRound()
  while (readMeansMs.length < rounds.most && (readMeansMs.length < rounds.least || !steady()))
  return {
    requests,
    writes,
    rounds: readMeansMs.length,
    steady: steady(),
    read_mean_ms: readMeansMs[readMeansMs.length - 1],
    write_mean_ms: writeMeansMs[writeMeansMs.length - 1] ?? null
  }
}

/**
 * @param {WarmUp[]} each  of several wikis
 * @returns {WarmUp} of all: sums of requests, the most rounds, and the longest times
 */
export function combine (each) {
  if (each.length === 1) return each[0]
  const of = (/** @type {'requests' | 'writes' | 'rounds' | 'read_mean_ms'} */ name) => each.map((one) => one[name])
  const sum = (/** @type {number[]} */ values) => values.reduce((total, value) => total + value, 0)
  const writesMs = each.flatMap(({ write_mean_ms: meanMs }) => meanMs ?? [])
  return {
    requests: sum(of('requests')),
    writes: sum(of('writes')),
    rounds: Math.max(...of('rounds')),
    steady: each.every(({ steady }) => steady),
    read_mean_ms: Math.max(...of('read_mean_ms')),
    write_mean_ms: writesMs.length === 0 ? null : Math.max(...writesMs)
  }
}

/**
 * @param {Pick<import('../stack/doors.js').Door, 'url' | 'ca_file'>} door
 * @param {AbortSignal} signal
 * @returns {(message: import('./warm-up-messages.js').Message) => Promise<number>} ms that it took
 */
function createSender ({ url, ca_file: caFile }, signal) {
  let unavailable = 0
  return async function send ({ path, statuses, ...message }) {
    const options = { ...message, caFile, timeoutMs: message.body === undefined ? READ_WITHIN_MS : WRITE_TIMEOUT_MS }
    for (;;) {
      signal.throwIfAborted()
      const sentAt = performance.now()
      const { status } = await request(`${url}${path}`, options)
      if (statuses.includes(status)) return performance.now() - sentAt
      if (status !== 503 || ++unavailable > UNAVAILABLE_MAX) {
        throw new Error(`${path} answered ${status} during the warm-up`)
      }
      await delay(UNAVAILABLE_WAIT_MS, undefined, { signal })
    }
  }
}

/** @param {number[]} values  rounded to microseconds, if they are milliseconds */
const mean = (values) => Math.round(1000 * values.reduce((sum, value) => sum + value, 0) / values.length) / 1000

/**
 * Sends so many requests at once that the origin's nginx opens as many connections to the wiki, which it keeps open.
 * Node accepts one new connection per turn of its event loop, and under load a turn takes as long as all waiting work.
 * Without this, the first trial with many clients would measure the minutes that the last clients wait for a
 * connection; later trials would not.
 * @param {object} options
 * @param {import('../stack/doors.js').Door} options.door  one that leads straight to the origin
 * @param {number} options.connections
 * @param {AbortSignal} options.signal
 * @throws {Error} when a page does not exist
 */
export async function openConnections ({ door, connections, signal }) {
  signal.throwIfAborted()
  const options = { caFile: door.ca_file, timeoutMs: CONNECTING_WITHIN_MS }
  await Promise.all(Array.from({ length: connections }, async () => {
    const { status } = await request(`${door.url}/wiki/${pageName(0)}`, options)
    if (status !== 200) {
      throw new Error(`${pageName(0)} answered ${status} to ${connections} requests at once, during the warm-up`)
    }
  }))
}
