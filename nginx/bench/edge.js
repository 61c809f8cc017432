// Compares the edge with stock proxy_cache on the same nginx, in alternation in one run: node nginx/bench/edge.js.
// `--help` says what exactly. Only the ratios are meaningful.
import { mkdtempSync, rmSync } from 'node:fs'
import http from 'node:http'
import net from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { claimMachine } from '@stevec/harness/machine-lock'
import { startPair } from './pair.js'
import { cpuSeconds, privateMiB, workersOf } from './worker.js'

const BODY = 'x'.repeat(5_000)
const ROUNDS = 7
const HIT_CONNECTIONS = 16
const HIT_ROUND_MS = 1_500
const MISSES_PER_ROUND = 400
const COLLAPSED = 20
const COLLAPSE_TRIES = 20
const COLLAPSE_ORIGIN_MS = 50
const KEYS = 100_000

const WORKERS_MAX = 16

const HELP = `Usage: node nginx/bench/edge.js [--workers N]

The edge, with the settings of \`stevec edge\`, and nginx's proxy_cache: HITs of one URL (${HIT_CONNECTIONS} connections),
MISSes one after the other, ${COLLAPSED} simultaneous requests for a URL of an origin that takes ${COLLAPSE_ORIGIN_MS} ms,
and memory.

  --workers N   of each, 1 (default) to ${WORKERS_MAX}
`

const { values } = parseArgs({
  options: { workers: { type: 'string', default: '1' }, help: { type: 'boolean', short: 'h' } }
})
const workers = Number(values.workers)
if (values.help) {
  process.stdout.write(HELP)
  process.exit()
}
if (!Number.isInteger(workers) || workers < 1 || workers > WORKERS_MAX) {
  process.stderr.write(`--workers must be a whole number from 1 to ${WORKERS_MAX}\n`)
  process.exit(2)
}
await claimMachine()
const directory = mkdtempSync(path.join(tmpdir(), 'stevec-bench-'))
const pair = await startPair({
  directory,
  workers,
  answer (request, response) {
    const answer = () => response.setHeader('Cache-Control', 'max-age=3600').end(BODY)
    if (request.url?.startsWith('/slow')) setTimeout(answer, COLLAPSE_ORIGIN_MS)
    else answer()
  }
}).catch((error) => {
  rmSync(directory, { recursive: true, force: true })
  throw error
})
try {
  const { edge, stock } = pair
  const hits = {
    edge: /** @type {number[]} */ ([]),
    stock: /** @type {number[]} */ ([]),
    edgeCpuUs: /** @type {number[]} */ ([]),
    stockCpuUs: /** @type {number[]} */ ([])
  }
  const misses = { edge: /** @type {number[]} */ ([]), stock: /** @type {number[]} */ ([]) }
  for (let round = 0; round < ROUNDS; round++) {
    for (const [name, port, pids] of /** @type {const} */ ([
      ['stock', stock.port, workersOf(stock.pid)],
      ['edge', edge.port, workersOf(edge.pid)]
    ])) {
      const cpuBefore = sum(pids.map(cpuSeconds))
      const count = await hitRound(port)
      hits[name].push(count / HIT_ROUND_MS * 1000)
      hits[`${name}CpuUs`].push((sum(pids.map(cpuSeconds)) - cpuBefore) / count * 1e6)
    }
    for (const [name, port] of /** @type {const} */ ([['stock', stock.port], ['edge', edge.port]])) {
      for (let count = 0; count < MISSES_PER_ROUND; count++) {
        misses[name].push(await timed(port, `/miss-${round}-${count}`))
      }
    }
  }
  /** @type {Record<'edge' | 'stock', number[]>} */
  const collapse = { edge: [], stock: [] }
  for (let count = 0; count < COLLAPSE_TRIES; count++) {
    for (const [name, port] of /** @type {const} */ ([['stock', stock.port], ['edge', edge.port]])) {
      const durations = await Promise.all(Array.from({ length: COLLAPSED }, () => timed(port, `/slow-${count}`)))
      collapse[name].push(Math.max(...durations))
    }
  }
  const memory = []
  for (let filled = 0; filled < KEYS; filled += KEYS / 4) {
    await fill(edge.port, filled, filled + KEYS / 4)
    memory.push(sum(workersOf(edge.pid).map(privateMiB)))
  }

  const figures = {
    hit_vs_stock: round(median(hits.edge.map((value, index) => value / hits.stock[index]))),
    miss_p50_vs_stock: round(median(misses.edge) / median(misses.stock)),
    collapse_max_ms: round(Math.max(...collapse.edge))
  }
  const row = (/** @type {(string | number)[]} */ ...cells) => console.log(`| ${cells.join(' | ')} |`)
  row('', 'stock proxy_cache', 'edge', 'ratio')
  row('---', '---', '---', '---')
  row(
    'HIT, requests/s (median of rounds)',
    Math.round(median(hits.stock)),
    Math.round(median(hits.edge)),
    figures.hit_vs_stock
  )
  row(
    'HIT, CPU of the workers, µs/request',
    round(median(hits.stockCpuUs)),
    round(median(hits.edgeCpuUs)),
    round(median(hits.stockCpuUs) / median(hits.edgeCpuUs))
  )
  row('MISS, p50, ms', round(median(misses.stock)), round(median(misses.edge)), figures.miss_p50_vs_stock)
  row(
    `${COLLAPSED} cold requests, ${COLLAPSE_ORIGIN_MS} ms origin, slowest of ${COLLAPSE_TRIES} tries, ms`,
    round(Math.max(...collapse.stock)),
    figures.collapse_max_ms,
    round(figures.collapse_max_ms / Math.max(...collapse.stock))
  )
  row(
    `memory of the workers alone after ${[1, 2, 3, 4].map((part) => part * KEYS / 4).join(', ')} keys, MiB`,
    '',
    memory.join(', '),
    ''
  )
  console.log(JSON.stringify(figures))
} finally {
  await pair.stop()
  rmSync(directory, { recursive: true, force: true })
}

/**
 * Counts the answered requests of a round; each connection has one request in flight.
 * @param {number} port
 */
function hitRound (port) {
  let answered = 0
  const request = Buffer.from(`GET /warm HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n\r\n`)
  const connections = Array.from({ length: HIT_CONNECTIONS }, () => {
    const socket = net.connect(port, '127.0.0.1', () => socket.write(request))
    let left = -1
    socket.on('data', (chunk) => {
      if (left === -1) left = chunk.indexOf('\r\n\r\n') + 4 + BODY.length
      left -= chunk.length
      if (left > 0) return
      answered += 1
      left = -1
      socket.write(request)
    })
    socket.on('error', () => {})
    return socket
  })
  return new Promise((resolve) => setTimeout(() => {
    for (const socket of connections) socket.destroy()
    resolve(answered)
  }, HIT_ROUND_MS))
}

/** @param {number} port @param {string} url @returns {Promise<number>} ms */
function timed (port, url) {
  const startedAt = performance.now()
  return new Promise((resolve, reject) => {
    http.get({ host: '127.0.0.1', port, path: url, agent: false }, (response) => {
      response.resume().on('end', () => resolve(performance.now() - startedAt))
    }).on('error', reject)
  })
}

/** @param {number} port @param {number} first @param {number} end */
async function fill (port, first, end) {
  const agent = new http.Agent({ keepAlive: true, maxSockets: 16 })
  let next = first
  const worker = async () => {
    while (next < end) {
      const url = `/key-${next++}`
      await new Promise((resolve, reject) => http.get(
        { host: '127.0.0.1', port, path: url, agent },
        (response) => response.resume().on('end', resolve)
      ).on('error', reject))
    }
  }
  await Promise.all(Array.from({ length: 16 }, worker))
  agent.destroy()
}

/** @param {number[]} values */
function median (values) {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)]
}

/** @param {number[]} values */
function sum (values) {
  return values.reduce((before, value) => before + value, 0)
}

/** @param {number} value */
function round (value) {
  return Math.round(value * 100) / 100
}
