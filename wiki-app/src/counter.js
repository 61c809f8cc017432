import { randomUUID } from 'node:crypto'

/** @typedef {{requests: number, reads: number, writes: number}} Count */

const READS = new Set(['GET', 'HEAD', 'OPTIONS'])

/** The counter's own URL; as a page name it is reserved. */
export const COUNTER_NAME = 'stevec'

/**
 * Counts requests. Each step is synchronous, so no request is lost or counted twice in one process.
 */
export function createCounter () {
  let count = { requests: 0, reads: 0, writes: 0 }
  return {
    /** Another one with each process: whoever reads another than last time knows that what the former had counted since then is lost. */
    instance: randomUUID(),
    /** @param {string} method */
    add (method) {
      count.requests++
      if (READS.has(method)) count.reads++
      else count.writes++
    },
    /** @returns {Count} what was counted since the last `take` */
    peek: () => count,
    /** @returns {Count} the same, and starts again at 0 */
    take () {
      const taken = count
      count = { requests: 0, reads: 0, writes: 0 }
      return taken
    }
  }
}

/** @typedef {ReturnType<typeof createCounter>} Counter */

/**
 * `GET /wiki/stevec`: how many requests reached the application since the last reading, which is what no cache answered.
 * @type {import('fastify').FastifyPluginAsync<{counter: Counter}>}
 */
export async function counterRoute (app, { counter }) {
  const config = { counted: false, database: false, otherMethods: `The name “${COUNTER_NAME}” is reserved: it is the counter of requests, not a page.` }
  app.get(`/wiki/${COUNTER_NAME}`, { config }, async (request, reply) => {
    reply.headers({ 'cache-control': 'private, no-store', 'counter-instance': counter.instance })
    return request.method === 'HEAD' ? counter.peek() : counter.take()
  })
}
