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
 * @property {boolean} hit  a cache answers: the origin sees nothing of it
 * @property {number} revision
 * @property {number} [afterMs]  how long the answer takes
 */

/**
 * What a server does, so that what is measured of it is known.
 * @typedef {object} Behaviour
 * @property {(request: {method: string, page: string, index: number}) => Answer} answer  `index` counts the requests of the trial from 0
 * @property {(counter: Counter) => Counter} [count]  what the counter says instead of the truth
 * @property {(lines: object[]) => object[]} [log]  what the origin's log says instead of the truth
 */

/** Headers that cost a server nothing, and k6 the reading: its work for a request is then some twenty times the server's. */
const IDLE_HEADERS = Array.from({ length: 60 }, (_, index) => `X-${index}: ${index}\r\n`).join('')

/** Of the answers to the proof that the caches are cold, where there is one. */
const PROOF_STATUSES = ['MISS', 'HIT', 'MISS']

/**
 * A server that stands for edge, origin and wiki at once, and does what it is told: it answers on both doors, has a counter, and writes the logs that nginx
 * would have written.
 */
export class KnownServer {
  /**
   * @param {string} stackDirectory  gets the logs
   * @param {boolean} caching  whether a cache is said to be on the way
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
    const line = { method, uri: `/wiki/${page}`, status: 200, cache_status: cacheStatus, upstream_status: hit ? '' : '200', page_revision: String(revision) }
    if (this.caching) this.lines.edge.push(line)
    if (!hit) {
      this.lines.origin.push({ ...line, cache_status: '' })
      this.counter.requests += 1
      this.counter[method === 'GET' ? 'reads' : 'writes'] += 1
    }
    return { cacheStatus, revision, afterMs }
  }

  /** @returns {string} what the counter answers, which sets it to 0; the logs are written first, as nginx has them by then */
  readCounter () {
    // The proof is told the truth: what is to be found out is whether the trial is.
    const inTrial = this.index > 0
    const count = inTrial ? this.behaviour.count : undefined
    const log = inTrial ? this.behaviour.log : undefined
    for (const role of LOG_ROLES) {
      const lines = role === 'origin' && log ? log(this.lines[role]) : this.lines[role]
      appendFileSync(path.join(this.stackDirectory, role, 'access.log'), lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
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
        const reply = () => response.writeHead(200, { 'Page-Revision': revision, ...(cacheStatus === '' ? {} : { 'CF-Cache-Status': cacheStatus }), 'Content-Length': 2 }).end('ok')
        if (afterMs > 0) setTimeout(reply, afterMs)
        else reply()
      })
    }))
  }

  /** Listens with as little work for each request as can be, for GETs only: what k6 does for it is several times as much. */
  listenLean () {
    return listenOn(net.createServer((socket) => {
      socket.setNoDelay(true)
      socket.on('error', () => socket.destroy())
      // k6 sends a request when it has the answer to the one before, and each in one piece.
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
