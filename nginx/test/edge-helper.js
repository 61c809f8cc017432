import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import http from 'node:http'
import net from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { prepareRole } from '@stevec/nginx'
import { freePorts } from '@stevec/harness/ports'
import { readProcessStat } from '@stevec/harness/proc'
import { isAlive, startProcess, stopProcess, waitUntil } from '@stevec/harness/processes'
import { nginxModulesDirectory, requireTool } from '@stevec/harness/tools/locate'

const LUA = fileURLToPath(new URL('../lua', import.meta.url))
const TOKEN = 'a-token-for-this-test'
/** As many as an edge has on a machine of two cores. EDGE_WORKERS=4 runs a test file against four. */
const WORKERS = Number(process.env.EDGE_WORKERS ?? 2)
/** Far longer than any wait here needs, for slow and busy machines. */
export const WAIT_MAX_MS = 60_000

/**
 * @typedef {object} Answer
 * @property {number} status
 * @property {http.IncomingHttpHeaders} headers
 * @property {string[]} rawHeaders
 * @property {string} body
 * @property {string} cache
 * @property {number | undefined} age
 * @property {number} durationMs
 */

/**
 * Answers a request; count: how many requests for this URL have arrived, this one included.
 * @typedef {(request: http.IncomingMessage, response: http.ServerResponse, count: number) => void} Script
 */

/**
 * @typedef {object} HelperOptions
 * @property {Partial<import('@stevec/nginx').Origin>} [origin]
 * @property {string} [originListens]  the address of the origin
 * @property {(text: string) => string} [configure]  changes the text of nginx's configuration
 * @property {[file: string, from: string, to: string][]} [edits]  replacements in a copy of lua/
 */

/**
 * Starts the real edge in front of a scripted origin, and stops both after the test.
 * @param {import('node:test').TestContext | null} t  null: the caller has to call `stop`
 * @param {Script | net.Server} script  an HTTP handler, or a server that sends raw bytes
 * @param {import('@stevec/nginx').EdgeOptions & HelperOptions} [options]
 */
export async function startEdge (
  t,
  script,
  { origin, originListens = '127.0.0.1', configure = (text) => text, edits = [], ...options } = {}
) {
  const directory = mkdtempSync(path.join(tmpdir(), 'stevec-edge-'))
  const [port, controlPort, originPort] = await freePorts(3)
  /** @type {http.IncomingMessage[]} */
  const arrived = []
  const counts = new Map()
  const server = typeof script === 'function'
    ? http.createServer((request, response) => {
      arrived.push(request)
      counts.set(request.url, (counts.get(request.url) ?? 0) + 1)
      script(request, response, counts.get(request.url))
    })
    : script
  /** @type {Set<net.Socket>} */
  const sockets = new Set()
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  await new Promise((resolve) => server.listen(originPort, originListens, () => resolve(undefined)))
  const closeOrigin = () => new Promise((resolve) => {
    server.close(() => resolve(undefined))
    for (const socket of sockets) socket.destroy()
  })
  /** @type {Awaited<ReturnType<typeof startProcess>> | undefined} */
  let nginx
  const stop = async () => {
    if (nginx) await stopProcess(nginx)
    await closeOrigin()
    rmSync(directory, { recursive: true, force: true })
  }
  t?.after(stop)

  const binary = requireTool('nginx').path
  /** @type {Parameters<typeof prepareRole>[0]} */
  const role = {
    role: 'edge',
    port,
    origin: { addresses: ['127.0.0.1'], port: originPort, host: '127.0.0.1', tls: false, ...origin },
    controlPort,
    controlToken: TOKEN,
    // As `stevec edge` starts it.
    warm: true,
    workers: WORKERS,
    ...options
  }
  const errors = () => readFileSync(path.join(directory, 'error.log'), 'utf8')
  const start = async () => {
    const prepared = await prepareRole(
      role,
      { directory, binary, modulesDirectory: nginxModulesDirectory(binary) ?? '' }
    )
    const text = configure(readFileSync(prepared.configuration, 'utf8'))
    writeFileSync(prepared.configuration, edits.length === 0 ? text : withLua(editLua(directory, edits), text))
    nginx = await startProcess({
      name: 'nginx edge',
      command: prepared.command,
      args: prepared.args,
      logFile: path.join(directory, 'nginx.log')
    })
    let ended = false
    nginx.exited.then(() => { ended = true })
    const up = await waitUntil(() => ended || send(controlPort, '/').then(() => true, () => false), WAIT_MAX_MS)
    if (ended || !up) throw new Error(`the edge did not start: ${errors()}`)
    return nginx
  }
  await start().catch(async (error) => {
    if (!t) await stop()
    throw error
  })
  const workers = () => readFileSync(`/proc/${nginx?.pid}/task/${nginx?.pid}/children`, 'utf8')
    .trim()
    .split(' ')
    .map(Number)

  return {
    port,
    originPort,
    host: `127.0.0.1:${port}`,
    directory,
    arrived,
    closeOrigin,
    stop,
    control: { url: `http://127.0.0.1:${controlPort}`, token: TOKEN },
    /** Counts the requests for a path that have reached the origin. @param {string} url */
    reached: (url) => arrived.filter((request) => request.url === url).length,
    /**
     * @param {string} url
     * @param {Record<string, string | string[]>} [headers]
     * @param {string} [method]
     * @param {string} [body]
     */
    get: (url, headers, method, body) => send(port, url, headers, method, body),
    /**
     * Sends a purge call.
     * @param {object | string} body
     * @param {{path?: string, method?: string, token?: string}} [options]
     */
    async purge (body, { path = '/client/v4/zones/any/purge_cache', method = 'POST', token = TOKEN } = {}) {
      const text = method === 'GET' ? undefined : typeof body === 'string' ? body : JSON.stringify(body)
      const answer = await send(controlPort, path, { authorization: `Bearer ${token}` }, method, text)
      return { ...answer, answer: JSON.parse(answer.body) }
    },
    /** Sends bytes to the edge and returns all that it sends until it closes. @param {string} bytes */
    raw: (bytes) => exchange(port, bytes),
    /** Returns the last log line of a path. @param {string} url */
    async logged (url) {
      const line = () => readFileSync(path.join(directory, 'access.log'), 'utf8')
        .split('\n')
        .slice(0, -1)
        .map((text) => JSON.parse(text))
        .filter(({ uri }) => uri === url)
        .at(-1)
      return waitUntil(line, WAIT_MAX_MS)
    },
    /** Counts the background refreshes in the edge's log. */
    async countRefreshes () {
      const lines = () => readFileSync(path.join(directory, 'access.log'), 'utf8').split('\n').slice(0, -1)
      return waitUntil(() => lines().reduce((sum, line) => sum + JSON.parse(line).refreshes, 0), WAIT_MAX_MS)
    },
    errors,
    workers,
    isAlive: () => nginx !== undefined && isAlive(nginx),
    async reload () {
      const before = workers().join()
      process.kill(/** @type {NonNullable<typeof nginx>} */ (nginx).pid, 'SIGHUP')
      const count = options.workers ?? WORKERS
      await waitUntil(() => workers().join() !== before && workers().length === count, WAIT_MAX_MS)
    },
    /** @param {Partial<import('@stevec/nginx').LoneEdgeRole>} [changed]  options of the role from now on */
    async restart (changed = {}) {
      if (nginx) await stopProcess(nginx)
      Object.assign(role, changed)
      await start()
    },
    /** Ends nginx and its worker at once, and starts it again. */
    async crash () {
      const { pid: master } = /** @type {NonNullable<typeof nginx>} */ (nginx)
      const pids = [master, ...workers()]
      for (const pid of pids) process.kill(pid, 'SIGKILL')
      // Before it is a zombie, a process that ends still holds its ports.
      const isOver = (/** @type {number} */ pid) => (readProcessStat(pid)?.state ?? 'Z') === 'Z'
      if (!await waitUntil(() => pids.every(isOver), WAIT_MAX_MS)) {
        throw new Error('nginx outlived SIGKILL')
      }
      await start()
    }
  }
}

/**
 * @param {string} lua  folder
 * @param {string} text  of a configuration
 */
const withLua = (lua, text) => text.replace(/lua_package_path "[^;]*;/, `lua_package_path "${lua}/?.lua;`)

/**
 * @param {string} directory
 * @param {[file: string, from: string, to: string][]} edits
 * @returns {string} the folder of the edited copy of lua/
 * @throws {Error} when a file does not contain the text to replace
 */
function editLua (directory, edits) {
  const copy = path.join(directory, 'lua')
  cpSync(LUA, copy, { recursive: true })
  for (const [file, from, to] of edits) {
    const text = readFileSync(path.join(copy, file), 'utf8')
    if (!text.includes(from)) throw new Error(`lua/${file} has no "${from}" any more; update the edit that replaces it`)
    writeFileSync(path.join(copy, file), text.replace(from, () => to))
  }
  return copy
}

/**
 * @param {number} port
 * @param {string} url
 * @param {Record<string, string | string[]>} [headers]
 * @param {string} [method]
 * @param {string} [body]
 * @returns {Promise<Answer>}
 */
function send (port, url, headers = {}, method = 'GET', body) {
  const startedAt = performance.now()
  return new Promise((resolve, reject) => {
    const signal = AbortSignal.timeout(WAIT_MAX_MS)
    const options = { host: '127.0.0.1', port, path: url, method, headers, agent: false, signal }
    const request = http.request(options, (response) => {
      /** @type {Buffer[]} */
      const chunks = []
      response.on('data', (chunk) => chunks.push(chunk))
      response.on('error', reject)
      response.on('end', () => resolve({
        status: response.statusCode ?? 0,
        headers: response.headers,
        rawHeaders: response.rawHeaders,
        body: Buffer.concat(chunks).toString('latin1'),
        cache: String(response.headers['cf-cache-status'] ?? ''),
        age: response.headers.age === undefined ? undefined : Number(response.headers.age),
        durationMs: performance.now() - startedAt
      }))
    })
    request.on('error', reject)
    request.end(body)
  })
}

/**
 * @param {number} port
 * @param {string} bytes
 * @returns {Promise<string>}
 */
export function exchange (port, bytes) {
  return new Promise((resolve, reject) => {
    let text = ''
    const socket = net.connect(port, '127.0.0.1', () => socket.write(bytes, 'latin1'))
    socket.setTimeout(WAIT_MAX_MS, () => socket.destroy(new Error('the response did not end in time')))
    socket.setEncoding('latin1').on('data', (chunk) => { text += chunk })
    socket.on('end', () => { socket.end(); resolve(text) })
    socket.on('error', (error) => text ? resolve(text) : reject(error))
  })
}

/**
 * Creates a server that sends raw bytes, for an origin that violates HTTP.
 * @param {(socket: net.Socket, head: string) => void} onRequest  called for each request head
 */
export function byteServer (onRequest) {
  return net.createServer((socket) => {
    let text = ''
    socket.on('error', () => {})
    socket.setEncoding('latin1').on('data', (chunk) => {
      text += chunk
      for (let end = text.indexOf('\r\n\r\n'); end !== -1; end = text.indexOf('\r\n\r\n')) {
        const head = text.slice(0, end)
        text = text.slice(end + 4)
        onRequest(socket, head)
      }
    })
  })
}

/** @param {number} offsetS  from now */
export const httpDate = (offsetS) => new Date(Date.now() + offsetS * 1000).toUTCString()

/** The preferred form of HTTP dates, RFC 9110 §5.6.7. @param {Date} date */
export const imfDate = (date) => date.toUTCString()

const DAYS = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday']

/** An obsolete form: Sunday, 06-Nov-94 08:49:37 GMT. @param {Date} date */
export const rfc850Date = (date) => date.toUTCString()
  .replace(/^\w+, (\d+) (\w+) \d\d(\d\d)/, `${DAYS[date.getUTCDay()]}, $1-$2-$3`)

/** An obsolete form: Sun Nov  6 08:49:37 1994. @param {Date} date */
export const asctimeDate = (date) => date.toUTCString()
  .replace(/^(\w+), (\d)(\d) (\w+) (\d+) ([\d:]+) GMT/, (_all, day, tens, ones, month, year, time) =>
    `${day} ${month} ${tens === '0' ? ' ' : tens}${ones} ${time} ${year}`)

/** Waits until a lifetime of a second or two has passed. @param {number} ms */
export const passing = (ms) => new Promise((resolve) => setTimeout(resolve, ms))
