import { randomUUID } from 'node:crypto'

/** @typedef {{requests: number, reads: number, writes: number}} Count */

/**
 * `instance` changes when something counted is lost. `count`: since the last taking; `total`: since the instance began,
 * whatever was taken.
 * @typedef {{instance: string, count: Count, total: Count}} Reading
 */

/**
 * `take` starts again at 0.
 * @typedef {(options: {take: boolean}) => Reading | Promise<Reading>} ReadCounter
 * @typedef {{add: (method: string) => void, read: ReadCounter}} Counter
 */

const READS = new Set(['GET', 'HEAD', 'OPTIONS'])

/** A reserved page name. */
export const COUNTER_NAME = 'stevec'

/** Each step is synchronous, so no request is lost or counted twice. */
export function createCount () {
  let count = noneCounted()
  return {
    /** @param {string} method */
    add (method) {
      count.requests++
      if (READS.has(method)) count.reads++
      else count.writes++
    },
    peek: () => count,
    /** @returns {Count} */
    take () {
      const taken = count
      count = noneCounted()
      return taken
    }
  }
}

/** @returns {Count} */
export const noneCounted = () => ({ requests: 0, reads: 0, writes: 0 })

/** @param {Count} one @param {Count} other @returns {Count} */
export const sumOf = (one, other) => ({
  requests: one.requests + other.requests,
  reads: one.reads + other.reads,
  writes: one.writes + other.writes
})

/** For a wiki of one process. @returns {Counter} */
export function createCounter () {
  const { add, peek, take } = createCount()
  const instance = randomUUID()
  let taken = noneCounted()
  return {
    add,
    read (options) {
      const total = sumOf(taken, peek())
      if (options.take) taken = total
      return { instance, count: options.take ? take() : peek(), total }
    }
  }
}

/**
 * Requests since the last reading that no cache answered. Several wikis count apart: `Counter-Wikis` says how many
 * there are, to a client that adds them up.
 * @type {import('fastify').FastifyPluginAsync<{counter: Counter, presence?: import('./shared/presence.js').Presence}>}
 */
export async function counterRoute (app, { counter, presence }) {
  const config = {
    counted: false,
    database: false,
    otherMethods: `The name “${COUNTER_NAME}” is reserved: it is the counter of requests, not a page.`
  }
  app.get(`/wiki/${COUNTER_NAME}`, { config }, async (request, reply) => {
    const { instance, count } = await counter.read({ take: request.method !== 'HEAD' })
    reply.headers({ 'cache-control': 'private, no-store', 'counter-instance': instance })
    const wikis = presence?.count() ?? null
    if (wikis !== null) reply.header('counter-wikis', wikis)
    return count
  })
}
