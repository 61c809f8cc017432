// Reads pages at a constant rate, in a process of its own, so that no other load delays its measurements. Forked with
// the URL of a wiki and its number of pages. After `start` and `stop` it sends the duration of each read.
import { Agent, get } from 'node:http'
import { viewUrl } from '../src/pages/name.js'
import { nameOf } from './fill.js'

const RATE_PER_S = 50
const TIMEOUT_MS = 30_000

const [url, pages] = process.argv.slice(2)
const agent = new Agent({ keepAlive: true })

/** @type {Promise<number>[]} */
let reads = []
/** @type {NodeJS.Timeout | undefined} */
let timer

/**
 * @param {number} plannedMs  when its time begins: on a busy machine the request may be sent later, and a reader waits
 *   for that, too
 * @returns {Promise<number>} milliseconds; Infinity when the response was not a page
 */
const read = (plannedMs) => new Promise((resolve) => {
  const name = nameOf(Math.floor(Math.random() * Number(pages)))
  const request = get(url + viewUrl(name), { agent, timeout: TIMEOUT_MS }, (response) => {
    response.on('error', () => resolve(Infinity)).resume()
    response.on('end', () => resolve(response.statusCode === 200 ? performance.now() - plannedMs : Infinity))
  })
  request.on('timeout', () => request.destroy()).on('error', () => resolve(Infinity))
})

function start () {
  reads = []
  const startedAt = performance.now()
  timer = setInterval(() => {
    while (reads.length < (performance.now() - startedAt) / 1000 * RATE_PER_S) {
      reads.push(read(startedAt + reads.length * 1000 / RATE_PER_S))
    }
  }, 1000 / RATE_PER_S / 2)
}

process.on('message', async (message) => {
  if (message === 'start') return start()
  clearInterval(timer)
  process.send?.(await Promise.all(reads))
})
