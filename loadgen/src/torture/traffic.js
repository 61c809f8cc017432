import { setTimeout as delay } from 'node:timers/promises'
import { createClient } from '@stevec/wiki-app/torture/client'
import { createAcknowledgements } from './acknowledgements.js'

/** @typedef {import('@stevec/wiki-app/torture/client').Client} Client */

const READ_EVERY_MS = 100
const PAGES_URL = /^\/api\/v1\/pages\/([^?]+)/

/**
 * Sends edits in turn through the edge and to the origin, and remembers when each was acknowledged. What the editors
 * read comes from the origin: a cache may be a purge behind.
 * @param {Pick<import('./cluster.js').Cluster, 'urls' | 'edgeHost'>} cluster
 * @param {number} connections
 */
export function createTraffic ({ urls, edgeHost }, connections) {
  const [origin, edge] = [createClient(urls.origin, connections), createClient(urls.edge, connections + 1)]
  const headers = { host: edgeHost }
  const { note, ...acknowledgements } = createAcknowledgements()
  /** Page names, as the API's address has them. @type {Set<string>} */
  const pages = new Set()
  let turn = 0
  let reading = Promise.resolve()
  const stopping = new AbortController()

  /** @type {Client['ask']} */
  async function ask (method, path, options = {}) {
    if (method === 'GET') return origin.ask(method, path, options)
    pages.add(PAGES_URL.exec(path)?.[1] ?? '')
    const sentMs = performance.now()
    const answer = turn++ % 2 === 0
      ? await origin.ask(method, path, options)
      : await edge.ask(method, path, { ...options, headers })
    if (answer.status < 300) note(sentMs, performance.now())
    return answer
  }

  /** @param {string} page */
  const shown = (page) => `/wiki/${decodeURIComponent(page)}`

  /** Keeps the edge's cache full, so that purges have something to purge. */
  async function readAtTheEdge () {
    while (!stopping.signal.aborted) {
      const page = [...pages][turn % Math.max(1, pages.size)]
      if (page !== undefined) await edge.ask('GET', shown(page), { headers }).catch(() => {})
      await delay(READ_EVERY_MS)
    }
  }

  return {
    client: /** @type {Client} */ ({ ask, close () {} }),
    read () { reading = readAtTheEdge() },

    ...acknowledgements,

    /** @returns {Promise<string[]>} pages that the edge shows otherwise than the wiki */
    async staleAtTheEdge () {
      const stale = []
      for (const page of pages) {
        const fromEdge = await edge.ask('GET', shown(page), { headers })
        const fromOrigin = await origin.ask('GET', shown(page), { headers })
        const same = fromEdge.status === fromOrigin.status &&
          (fromOrigin.status !== 200 || fromEdge.body === fromOrigin.body)
        if (!same) stale.push(page)
      }
      return stale
    },

    async stop () {
      stopping.abort()
      await reading
    },

    close () {
      origin.close()
      edge.close()
    }
  }
}
