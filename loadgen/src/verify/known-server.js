import { appendFileSync, mkdirSync } from 'node:fs'
import http from 'node:http'
import net from 'node:net'
import path from 'node:path'
import { setImmediate as turn, setTimeout as delay } from 'node:timers/promises'
import { PROBE_PAGE } from '../lab/cold.js'
import { LOG_ROLES } from '../lab/logs.js'

/** @typedef {import('../lab/counter.js').Counter} Counter */

/**
 * How a known server answers one request for a page.
 * @typedef {object} Answer
 * @property {boolean} hit  true: a cache serves the response, and the origin does not see the request
 * @property {number} revision
 * @property {number} [afterMs]  response time
 * @property {number} [status]  default: 200
 * @property {'reset' | 'close' | 'none'} [fails]  instead of a response: the connection is reset, closed, or stays open
 */

/**
 * How a known server behaves, and so what the lab must measure.
 * @typedef {object} Behaviour
 * @property {(request: {method: string, page: string, index: number}) => Answer} answer  `index` counts the requests of
 *   the trial from 0
 * @property {() => Promise<void>} [work]  done before each response
 * @property {number} [refuseFrom]  from this request on, connections are refused, until the trial has ended
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
   * @returns {{cacheStatus: string, revision: number, afterMs: number, status: number, fails: Answer['fails'],
   *   isLast: boolean}}  `isLast`: connections are refused from now on
   */
  take (method, page) {
    const proof = page === PROBE_PAGE
    const { hit, revision, afterMs = 0, status = 200, fails } = proof
      ? { hit: this.caching && PROOF_STATUSES[this.proofs++ % PROOF_STATUSES.length] === 'HIT', revision: 1 }
      : this.behaviour.answer({ method, page, index: this.index++ })
    const cacheStatus = !this.caching ? '' : hit ? 'HIT' : method === 'GET' ? 'MISS' : 'DYNAMIC'
    const line = {
      method,
      uri: `/wiki/${page}`,
      status,
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
    return { cacheStatus, revision, afterMs, status, fails, isLast: this.index === this.behaviour.refuseFrom }
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

  /**
   * Listens with Node's HTTP, at one port for the requests of trials and at another for the counter.
   * @returns {Promise<{url: string, counterUrl: string, close: () => void}>}
   */
  async listen () {
    const pages = http.createServer((request, response) => {
      const { method = 'GET', url = '/' } = request
      request.resume().once('end', () => this.#reply(method, url.slice('/wiki/'.length), response, pages))
    })
    const door = await listenOn(pages)
    const { port } = new URL(door.url)
    const counter = await listenOn(http.createServer((_, response) => {
      response.end(this.readCounter())
      // A trial is over when its counter is read.
      if (!pages.listening) pages.listen(Number(port), '127.0.0.1')
    }))
    return {
      url: door.url,
      counterUrl: counter.url,
      close () {
        door.close()
        counter.close()
      }
    }
  }

  /**
   * @param {string} method
   * @param {string} page
   * @param {http.ServerResponse} response
   * @param {http.Server} pages
   */
  async #reply (method, page, response, pages) {
    const { cacheStatus, revision, afterMs, status, fails, isLast } = this.take(method, page)
    const dueMs = performance.now() + afterMs
    if (isLast) pages.close()
    if (page !== PROBE_PAGE) await this.behaviour.work?.()
    await waitUntilMs(dueMs)
    if (fails === 'reset') response.socket?.resetAndDestroy()
    else if (fails === 'close') response.socket?.destroy()
    else if (fails !== 'none') {
      response.writeHead(status, {
        'Page-Revision': revision,
        ...(cacheStatus === '' ? {} : { 'CF-Cache-Status': cacheStatus }),
        'Content-Length': 2
      }).end('ok')
    }
  }

  /**
   * Listens with as little work per request as possible, for GETs only; k6 works several times as much per request.
   * @returns {Promise<{url: string, counterUrl: string, close: () => void}>}
   */
  async listenLean () {
    const { url, close } = await listenOn(net.createServer((socket) => {
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
    return { url, counterUrl: url, close }
  }
}

/** Timers of Node have whole milliseconds; the rest of the time the event loop turns. */
async function waitUntilMs (/** @type {number} */ dueMs) {
  const waitMs = Math.floor(dueMs - performance.now()) - 1
  if (waitMs > 0) await delay(waitMs)
  while (performance.now() < dueMs) await turn()
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
