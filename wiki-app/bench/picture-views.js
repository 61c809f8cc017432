import http from 'node:http'
import { cpuSeconds } from './process.js'

/**
 * @typedef {object} Views
 * @property {number} mean_ms
 * @property {number} p50_ms
 * @property {number} p99_ms
 * @property {number[]} cpu_us  user and system time of a view, of each of `pids`
 */

/**
 * Reads pictures in turn, each connection one after the other. The time is that until the last byte.
 * @param {{url: string, paths: string[], bytes: number, amount: number, connections: number, pids: number[]}} options
 *   `bytes`: the length that each response must have
 * @returns {Promise<Views>} @throws {Error} when a response is another than it must be
 */
export async function measureViews ({ url, paths, bytes, amount, connections, pids }) {
  const agent = new http.Agent({ keepAlive: true, maxSockets: connections })
  /** @type {number[]} */
  const times = []
  let next = 0
  const client = async () => {
    while (next < amount) {
      const path = paths[next++ % paths.length]
      const startedAt = performance.now()
      const { status, length } = await view(`${url}${path}`, agent)
      if (status !== 200 || length !== bytes) throw new Error(`${path} was answered ${status} with ${length} bytes`)
      times.push(performance.now() - startedAt)
    }
  }
  const before = pids.map(cpuSeconds)
  try {
    await Promise.all(Array.from({ length: connections }, client))
  } finally {
    agent.destroy()
  }
  times.sort((a, b) => a - b)
  return {
    mean_ms: times.reduce((sum, time) => sum + time, 0) / times.length,
    p50_ms: times[Math.floor(times.length / 2)],
    p99_ms: times[Math.floor(times.length * 0.99)],
    cpu_us: pids.map((pid, index) => (cpuSeconds(pid) - before[index]) / amount * 1e6)
  }
}

/** @param {string} url @param {http.Agent} agent @returns {Promise<{status: number | undefined, length: number}>} */
const view = (url, agent) => new Promise((resolve, reject) => {
  http.get(url, { agent }, (response) => {
    let length = 0
    response.on('data', (piece) => { length += piece.length })
    response.on('end', () => resolve({ status: response.statusCode, length })).on('error', reject)
  }).on('error', reject)
})
