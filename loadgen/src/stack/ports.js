import { createServer } from 'node:net'

/** Below the kernel's ephemeral range (32768 and up), so that no outgoing connection can take a port between the check and its use. */
const FREE_RANGE = { first: 20_000, last: 29_999 }
const ATTEMPTS_MAX = 200

/**
 * @param {number} port
 * @returns {Promise<boolean>} whether 127.0.0.1:port can be bound now
 */
export function isFree (port) {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => server.close(() => resolve(true)))
  })
}

/**
 * @param {number} count
 * @param {number[]} [except]  ports that are free still but spoken for
 * @returns {Promise<number[]>} different ports that nobody listens on
 * @throws {Error} when too few are found in a bounded number of attempts
 */
export async function freePorts (count, except = []) {
  /** @type {Set<number>} */
  const found = new Set()
  for (let attempt = 0; attempt < ATTEMPTS_MAX && found.size < count; attempt++) {
    const port = FREE_RANGE.first + Math.floor(Math.random() * (FREE_RANGE.last - FREE_RANGE.first + 1))
    if (!found.has(port) && !except.includes(port) && await isFree(port)) found.add(port)
  }
  if (found.size < count) throw new Error(`fewer than ${count} free ports between ${FREE_RANGE.first} and ${FREE_RANGE.last}`)
  return [...found]
}
