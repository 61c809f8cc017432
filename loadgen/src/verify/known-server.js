import { appendFileSync, mkdirSync } from 'node:fs'
import http from 'node:http'
import net from 'node:net'
import path from 'node:path'
import { PROBE_PAGE } from '../lab/cold.js'
import { LOG_ROLES } from '../lab/logs.js'

/** @typedef {import('../lab/counter.js').Counter} Counter */

/**
 * How a known server answers one request for a page.
 * @typedef {object} Answer
 * @property {boolean} hit  true: a cache serves the response, and the origin does not see the request
 * @property {number} revision
 * @property {number} [afterMs]  response time
 */

/**
 * How a known server behaves, and so what the lab must measure.
 * @typedef {object} Behaviour
 * @property {(request: {method: string, page: string, index: number}) => Answer} answer  `index` counts the requests of
 *   the trial from 0
 * @property {(counter: Counter) => Counter} [count]  falsifies the counter
 * @property {(lines: object[]) => object[]} [log]  falsifies the origin's log
 */

/** Headers that cost only k6 work, to read them: its work per request is then about twenty times the server's. */
const IDLE_HEADERS = Array.from({ length: 60 }, (_, index) => `X-${index}: ${index}\r\n`).join('')

/** Cache statuses of the responses to the cold proof, in a loop, if there is a cache. */
const PROOF_STATUSES = ['MISS', 'HIT', 'MISS']

/**
 * Replaces edge, origin and wiki by one server with a given behaviour: it serves pages, has a counter, and writes the
 * logs that nginx would write.
 */
export class KnownServer {
  /**
   * @param {string} stackDirectory  gets the logs
   * @param {boolean} caching  whether the responses say that there is a cache
   * @param {Behaviour} behaviour
   */
  constructor (stackDirectory, caching, behaviour) {
    this.stackDirectory = stackDirectory
    this.caching = caching
    this.behaviour = behaviour
    this.index = 0
    this.proofs = 0
    /** @type {Counter} */
    this.counter = { requests: 0, reads: 0, writes: 0 }
    /** @type {Record<string, object[]>} */
    this.lines = { edge: [], local: [], origin: [] }
    for (const role of LOG_ROLES) {
      mkdirSync(path.join(stackDirectory, role), { recursive: true })
      appendFileSync(path.join(stackDirectory, role, 'access.log'), '')
    }
  }

  /**
   * Counts and logs one request for a page.
   * @param {string} method
   * @param {string} page
   * @returns {{cacheStatus: string, revision: number, afterMs: number}}
   */
  take (method, page) {
    const proof = page === PROBE_PAGE
    const { hit, revision, afterMs = 0 } = proof
      ? { hit: this.caching && PROOF_STATUSES[this.proofs++ % PROOF_STATUSES.length] === 'HIT', revision: 1 }
      : this.behaviour.answer({ method, page, index: this.index++ })
    const cacheStatus = !this.caching ? '' : hit ? 'HIT' : method === 'GET' ? 'MISS' : 'DYNAMIC'
    const line = {
      method,
      uri: `/wiki/${page}`,
      status: 200,
      cache_status: cacheStatus,
      upstream_status: hit ? '' : '200',
      page_revision: String(revision)
    }
    if (this.caching) this.lines.edge.push(line)
    if (!hit) {
      this.lines.origin.push({ ...line, cache_status: '' })
      this.counter.requests += 1
      this.counter[method === 'GET' ? 'reads' : 'writes'] += 1
    }
    return { cacheStatus, revision, afterMs }
  }

  /**
   * Returns the counter as JSON and resets it to 0. Writes the logs first, as nginx has written them by then.
   * @returns {string}
   */
  readCounter () {
    // The cold proof gets true counts: only the trial must detect the false ones.
    const inTrial = this.index > 0
    const count = inTrial ? this.behaviour.count : undefined
    const log = inTrial ? this.behaviour.log : undefined
    for (const role of LOG_ROLES) {
      const lines = role === 'origin' && log ? log(this.lines[role]) : this.lines[role]
      appendFileSync(
        path.join(this.stackDirectory, role, 'access.log'),
        lines.map((line) => `${JSON.stringify(line)}\n`).join('')
      )
      this.lines[role] = []
    }
    const said = JSON.stringify(count ? count(this.counter) : this.counter)
    this.counter = { requests: 0, reads: 0, writes: 0 }
    if (inTrial) this.index = 0
    return said
  }

  /** Listens with Node's HTTP. @returns {Promise<{url: string, close: () => void}>} */
  listen () {
    return listenOn(http.createServer((request, response) => {
      const { method = 'GET', url = '/' } = request
      if (url === '/wiki/stevec') {
        response.end(this.readCounter())
        return
      }
      request.resume().once('end', () => {
        const { cacheStatus, revision, afterMs } = this.take(method, url.slice('/wiki/'.length))
        const reply = () => response.writeHead(200, {
          'Page-Revision': revision,
          ...(cacheStatus === '' ? {} : { 'CF-Cache-Status': cacheStatus }),
          'Content-Length': 2
        }).end('ok')
        if (afterMs > 0) setTimeout(reply, afterMs)
        else reply()
      })
    }))
  }

  /** Listens with as little work per request as possible, for GETs only; k6 works several times as much per request. */
  listenLean () {
    return listenOn(net.createServer((socket) => {
      socket.setNoDelay(true)
      socket.on('error', () => socket.destroy())
      // k6 sends each request in one piece, and only after the response to the previous one.
      socket.on('data', (data) => {
        const head = data.toString('latin1')
        const page = head.slice('GET /wiki/'.length, head.indexOf(' HTTP/'))
        const body = page === 'stevec' ? this.readCounter() : 'ok'
        const { revision } = page === 'stevec' ? { revision: 0 } : this.take('GET', page)
        const ends = /\r\nconnection: close\r\n/i.test(head)
        socket.write(`HTTP/1.1 200 OK\r\nPage-Revision: ${revision}\r\nContent-Length: ${body.length}\r\nConnection: ${ends ? 'close' : 'keep-alive'}\r\n${IDLE_HEADERS}\r\n${body}`)
        if (ends) socket.end()
      })
    }))
  }
}

/**
 * @param {http.Server | net.Server} server
 * @returns {Promise<{url: string, close: () => void}>}
 */
async function listenOn (server) {
  await new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, '127.0.0.1', () => resolve(undefined))
  })
  return {
    url: `http://127.0.0.1:${/** @type {net.AddressInfo} */ (server.address()).port}`,
    close () {
      server.close()
      if (server instanceof http.Server) server.closeAllConnections()
    }
  }
}
