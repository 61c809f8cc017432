import http from 'node:http'
import { createRandom } from '@stevec/harness/random'

const DRAWN = 200_000
const SEED = 24
const CONNECTIONS = 16

/**
 * Zipf's law: the key of rank r is drawn with a chance in proportion to r^-s.
 * @param {number} keys @param {number} s @returns {number[]}
 */
export function draw (keys, s) {
  const random = createRandom(SEED)
  const sums = new Float64Array(keys)
  for (let rank = 0, sum = 0; rank < keys; rank++) sums[rank] = sum += (rank + 1) ** -s
  return Array.from({ length: DRAWN }, () => {
    const wanted = random() * sums[keys - 1]
    let [low, high] = [0, keys - 1]
    while (low < high) {
      const middle = (low + high) >> 1
      if (sums[middle] < wanted) low = middle + 1
      else high = middle
    }
    return low
  })
}

/**
 * Asks for each, and reads the response.
 * @param {number} port
 * @param {string[]} lines  see wrk-load.js; at most one header line, Accept-Encoding
 * @returns {Promise<Record<string, number>>} how many responses had which CF-Cache-Status
 */
export async function fill (port, lines) {
  const agent = new http.Agent({ keepAlive: true, maxSockets: CONNECTIONS })
  /** @type {Record<string, number>} */
  const statuses = {}
  let next = 0
  await Promise.all(Array.from({ length: CONNECTIONS }, async () => {
    while (next < lines.length) {
      const [, url, field] = /^GET (\S+) HTTP\/1\.1(?:\|Accept-Encoding: (\S+))?$/.exec(lines[next++]) ?? []
      const headers = field === undefined ? {} : { 'accept-encoding': field }
      await new Promise((resolve, reject) => http.get({ host: '127.0.0.1', port, path: url, agent, headers },
        (response) => {
          const status = String(response.headers['cf-cache-status'])
          statuses[status] = (statuses[status] ?? 0) + 1
          response.resume().once('end', resolve)
        }).once('error', reject))
    }
  }))
  agent.destroy()
  return statuses
}
