import { once } from 'node:events'
import { createServer } from 'node:http'
import { BEGIN_MS } from '../../scenarios/arrivals.js'

/** @typedef {Awaited<ReturnType<typeof listenForBegin>>} CommonBegin */

/**
 * Listens on loopback. The generators of a trial call it when they are ready, and wait for the response: the last call
 * releases all of them. The response is when the plan begins, so that all have one begin, whenever their k6 started.
 * @param {number} generators
 */
export async function listenForBegin (generators) {
  /** By generator. @type {Map<number, import('node:http').ServerResponse>} */
  const waiting = new Map()
  let isOver = false
  /** By how much each generator's clock is ahead of this machine's, µs. @type {number[]} */
  const aheadUs = Array.from({ length: generators }, () => 0)

  function release () {
    isOver = true
    const beginAtUs = (Date.now() + BEGIN_MS) * 1000
    for (const [index, response] of waiting) response.end(String(Math.round(beginAtUs + aheadUs[index])))
  }

  const server = createServer((request, response) => {
    const index = Number(/^\/(\d)$/.exec(request.url ?? '')?.[1] ?? NaN)
    if (isOver || !(index < generators)) return response.writeHead(isOver ? 503 : 404).end()
    waiting.set(index, response)
    if (waiting.size === generators) release()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address())
  return {
    port,
    /** @param {number} index  of a generator */
    urlOf: (index) => `http://127.0.0.1:${port}/${index}`,

    /**
     * @param {number} index  of a generator
     * @param {number} us  by how much its clock is ahead of this machine's
     */
    setAhead (index, us) {
      aheadUs[index] = us
    },

    /** How many generators wait. */
    waiting: () => isOver ? 0 : waiting.size,

    /** One of the generators has ended: none that still waits begins. */
    fail () {
      if (isOver) return
      isOver = true
      for (const response of waiting.values()) response.writeHead(503).end()
    },

    close () {
      server.close()
      server.closeAllConnections()
    }
  }
}
