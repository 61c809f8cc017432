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
  return checkedCount(JSON.parse(body), body)
}

/**
 * Reads the counters of several wikis, which resets each to 0.
 * @param {string[]} wikiUrls
 * @returns {Promise<Counter>} their sum
 * @throws {Error} when one of the responses is not from a counter
 */
export async function readCounters (wikiUrls) {
  return sumOf(await Promise.all(wikiUrls.map((url, index) => readCounter(url).catch((/** @type {Error} */ error) => {
    if (wikiUrls.length === 1) throw error
    throw new Error(`wiki ${index + 1} of ${wikiUrls.length} does not answer: ${error.message}`)
  }))))
}

/** @param {Counter[]} counters @returns {Counter} */
export function sumOf (counters) {
  const sum = (/** @type {keyof Counter} */ name) => counters.reduce((total, counter) => total + counter[name], 0)
  return { requests: sum('requests'), reads: sum('reads'), writes: sum('writes') }
}

/**
 * @param {any} count
 * @param {string} body  of the response that has it
 * @returns {Counter}
 * @throws {Error} when it is not a counter's
 */
export function checkedCount (count, body) {
  const { requests, reads, writes } = count ?? {}
  if (![requests, reads, writes].every(Number.isSafeInteger)) throw new Error(`the counter answered ${body}`)
  return { requests, reads, writes }
}
