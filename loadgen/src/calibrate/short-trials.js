import { setTimeout as delay } from 'node:timers/promises'
import { createEdge } from '@stevec/cdn/edge'
import { pageName } from '../../scenarios/plan.js'
import { readProcessorTimes } from '@stevec/harness/proc'
import { request } from '@stevec/harness/request'

/** Each a tenth of E1's, so that a tenth of the requests misses the cache, as there. */
const PAGES = 10
const REQUESTS = 100
/** Without a cache all requests are alike, so fewer are enough. */
const REQUESTS_UNCACHED = 40
/** 5000 characters; the content does not matter. */
const PAGE = 'word '.repeat(1_000)
const WARM_UP_REQUESTS = 3_000
const WARM_UP_CONCURRENCY = 8
const SATURATION_CONCURRENCY = 24
/**
 * Each reader has pages of its own: the wiki answers readers who want the same page together from one read of its
 * database, and the study's readers have a thousand pages.
 */
const PAGES_OF_READER = 10
const SATURATION_PAGES = SATURATION_CONCURRENCY * PAGES_OF_READER
const SATURATION_SETTLE_MS = 1_500
const SATURATION_MS = 6_000
const REQUEST_TIMEOUT_MS = 60_000

/** @typedef {import('../stack/state.js').StackState} StackState */

/**
 * Writes the pages and reads them until the wiki's code is compiled. Without the profile in force, this takes seconds.
 * @param {StackState} stack
 * @param {AbortSignal} signal
 * @returns {Promise<number>} bytes of a response body
 */
export async function preparePages (stack, signal) {
  const wikiUrl = `http://127.0.0.1:${stack.ports.wiki}`
  for (let page = 0; page < SATURATION_PAGES; page++) {
    const { status, body } = await request(`${wikiUrl}/wiki/${pageName(page)}`, {
      method: 'POST',
      headers: { 'content-type': 'text/markdown' },
      body: PAGE
    })
    if (status !== 201 && status !== 200) throw new Error(`the wiki refused ${pageName(page)} with ${status}: ${body}`)
  }
  let sent = 0
  await Promise.all(Array.from({ length: WARM_UP_CONCURRENCY }, async () => {
    while (sent < WARM_UP_REQUESTS) {
      signal.throwIfAborted()
      await read(stack.doors.nocache.url, sent++ % SATURATION_PAGES)
    }
  }))
  return Buffer.byteLength((await request(`${wikiUrl}/wiki/${pageName(0)}`)).body)
}

/**
 * Runs a short trial like E1's: cold caches, one reader, a new connection for each request.
 * @param {StackState} stack
 * @param {import('../stack/doors.js').DoorName} door
 * @param {AbortSignal} signal
 * @returns {Promise<number>} mean duration, milliseconds
 */
export async function meanDuration (stack, door, signal) {
  await Promise.all(Object.values(stack.controls).map((control) => createEdge(control).purgeEverything()))
  const requests = stack.doors[door].caching ? REQUESTS : REQUESTS_UNCACHED
  const startedAt = performance.now()
  for (let index = 0; index < requests; index++) {
    signal.throwIfAborted()
    await read(stack.doors[door].url, index % PAGES)
  }
  return (performance.now() - startedAt) / requests
}

/**
 * Reads at the door `source` with more readers than the origin can serve at once, none the page of another.
 * @param {StackState} stack
 * @param {AbortSignal} signal
 * @returns {Promise<number>} responses per second: the origin's capacity
 */
export async function capacity (stack, signal) {
  let answers = 0
  const stop = new AbortController()
  const readers = Promise.all(Array.from({ length: SATURATION_CONCURRENCY }, async (_, reader) => {
    for (let index = 0; !stop.signal.aborted && !signal.aborted; index++) {
      await read(stack.doors.source.url, reader * PAGES_OF_READER + index % PAGES_OF_READER)
      answers += 1
    }
  }))
  try {
    await Promise.race([delay(SATURATION_SETTLE_MS, undefined, { signal }), readers])
    const [answersBefore, startedAt] = [answers, performance.now()]
    await Promise.race([delay(SATURATION_MS, undefined, { signal }), readers])
    return (answers - answersBefore) / ((performance.now() - startedAt) / 1000)
  } finally {
    stop.abort()
    await readers
  }
}

/**
 * Measures the machine's load.
 * @param {number} periodMs
 * @param {AbortSignal} signal
 * @returns {Promise<number>} share of all cores that was not idle, 0 to 1
 */
export async function busyShare (periodMs, signal) {
  const before = processorTimes()
  await delay(periodMs, undefined, { signal })
  const after = processorTimes()
  const idleS = after.idle_s - before.idle_s
  const totalS = idleS + after.busy_s - before.busy_s
  // A kernel that reports no times at all counts as busy.
  return 1 - idleS / Math.max(0.01, totalS)
}

const processorTimes = () =>
  /** @type {import('@stevec/harness/proc').ProcessorTimes} */ (readProcessorTimes())

/**
 * @param {string} url
 * @param {number} page
 */
async function read (url, page) {
  const { status } = await request(`${url}/wiki/${pageName(page)}`, { timeoutMs: REQUEST_TIMEOUT_MS })
  if (status !== 200) throw new Error(`${url}/wiki/${pageName(page)} answered ${status}`)
}
