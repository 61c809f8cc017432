import { request } from '@stevec/harness/request'

/** @typedef {{requests: number, reads: number, writes: number}} Counter */

/**
 * Reads the wiki's counter, which resets it to 0. Asks the wiki directly: no cache can answer.
 * @param {string} wikiUrl
 * @returns {Promise<Counter>} requests that reached the wiki since the last reading
 * @throws {Error} when the response is not from the counter
 */
export async function readCounter (wikiUrl) {
  const { status, body } = await request(`${wikiUrl}/wiki/stevec`)
  if (status !== 200) throw new Error(`the counter answered ${status}: ${body}`)
  const { requests, reads, writes } = JSON.parse(body)
  if (![requests, reads, writes].every(Number.isSafeInteger)) throw new Error(`the counter answered ${body}`)
  return { requests, reads, writes }
}

/**
 * Reads the counters of several wikis, which resets each to 0.
 * @param {string[]} wikiUrls
 * @returns {Promise<Counter>} their sum
 * @throws {Error} when one of the responses is not from a counter
 */
export async function readCounters (wikiUrls) {
  const counters = await Promise.all(wikiUrls.map(readCounter))
  const sum = (/** @type {keyof Counter} */ name) => counters.reduce((total, counter) => total + counter[name], 0)
  return { requests: sum('requests'), reads: sum('reads'), writes: sum('writes') }
}
