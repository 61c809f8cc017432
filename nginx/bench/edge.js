// Compares the edge with stock proxy_cache on the same nginx, with one worker each and in alternation in one run.
// Only the ratios are meaningful.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import http from 'node:http'
import net from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { prepareRole } from '@stevec/nginx'
import { claimMachine } from '@stevec/harness/machine-lock'
import { freePorts } from '@stevec/harness/ports'
import { startProcess, stopProcess, waitUntil } from '@stevec/harness/processes'
import { nginxModulesDirectory, requireTool } from '@stevec/harness/tools/locate'

const BODY = 'x'.repeat(5_000)
const ROUNDS = 7
const HIT_CONNECTIONS = 16
const HIT_ROUND_MS = 1_500
const MISSES_PER_ROUND = 400
const COLLAPSED = 20
const COLLAPSE_TRIES = 20
const COLLAPSE_ORIGIN_MS = 50
const KEYS = 100_000
const TICKS_PER_S = 100

await claimMachine()
const directory = mkdtempSync(path.join(tmpdir(), 'stevec-bench-'))
const [originPort, edgePort, controlPort, stockPort] = await freePorts(4)
const origin = http.createServer((request, response) => {
  const answer = () => response.setHeader('Cache-Control', 'max-age=3600').end(BODY)
  if (request.url?.startsWith('/slow')) setTimeout(answer, COLLAPSE_ORIGIN_MS)
  else answer()
})
await new Promise((resolve) => origin.listen(originPort, '127.0.0.1', () => resolve(undefined)))
const processes = []
try {
  const binary = requireTool('nginx').path
  for (const name of ['edge', 'stock']) mkdirSync(path.join(directory, name))
  const prepared = await prepareRole(
    {
      role: 'edge',
      port: edgePort,
      origin: { addresses: ['127.0.0.1'], port: originPort, host: '127.0.0.1', tls: false },
      controlPort,
      controlToken: 'bench'
    },
    { directory: path.join(directory, 'edge'), binary, modulesDirectory: nginxModulesDirectory(binary) ?? '' })
  const edge = await startProcess({
    name: 'edge',
    command: prepared.command,
    args: prepared.args,
    logFile: path.join(directory, 'edge.log')
  })
  processes.push(edge)
  const stockConfiguration = path.join(directory, 'stock/nginx.conf')
  writeFileSync(stockConfiguration, stock(path.join(directory, 'stock')))
  const stockNginx = await startProcess({
    name: 'stock',
    command: binary,
    args: ['-p', path.join(directory, 'stock'), '-c', stockConfiguration],
    logFile: path.join(directory, 'stock.log')
  })
  processes.push(stockNginx)
  for (const port of [edgePort, stockPort]) {
    await waitUntil(() => timed(port, '/warm').then(() => true, () => false), 10_000)
  }

  const hits = {
    edge: /** @type {number[]} */ ([]),
    stock: /** @type {number[]} */ ([]),
    edgeCpuUs: /** @type {number[]} */ ([]),
    stockCpuUs: /** @type {number[]} */ ([])
  }
  const misses = { edge: /** @type {number[]} */ ([]), stock: /** @type {number[]} */ ([]) }
  for (let round = 0; round < ROUNDS; round++) {
    for (const [name, port, pid] of /** @type {const} */ ([
      ['stock', stockPort, workerOf(stockNginx.pid)],
      ['edge', edgePort, workerOf(edge.pid)]
    ])) {
      const cpuBefore = cpuSeconds(pid)
      const count = await hitRound(port)
      hits[name].push(count / HIT_ROUND_MS * 1000)
      hits[`${name}CpuUs`].push((cpuSeconds(pid) - cpuBefore) / count * 1e6)
    }
    for (const [name, port] of /** @type {const} */ ([['stock', stockPort], ['edge', edgePort]])) {
      for (let count = 0; count < MISSES_PER_ROUND; count++) {
        misses[name].push(await timed(port, `/miss-${round}-${count}`))
      }
    }
  }
  /** @type {Record<'edge' | 'stock', number[]>} */
  const collapse = { edge: [], stock: [] }
  for (let count = 0; count < COLLAPSE_TRIES; count++) {
    for (const [name, port] of /** @type {const} */ ([['stock', stockPort], ['edge', edgePort]])) {
      const durations = await Promise.all(Array.from({ length: COLLAPSED }, () => timed(port, `/slow-${count}`)))
      collapse[name].push(Math.max(...durations))
    }
  }
  const memory = []
  for (let filled = 0; filled < KEYS; filled += KEYS / 4) {
    await fill(edgePort, filled, filled + KEYS / 4)
    memory.push(privateMiB(workerOf(edge.pid)))
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
    'HIT, worker CPU, µs/request',
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
    `worker memory of its own after ${[1, 2, 3, 4].map((part) => part * KEYS / 4).join(', ')} keys, MiB`,
    '',
    memory.join(', '),
    ''
  )
  console.log(JSON.stringify(figures))
} finally {
  for (const process of processes) await stopProcess(process)
  origin.close()
  origin.closeAllConnections()
  rmSync(directory, { recursive: true, force: true })
}

/** The configuration of an ordinary proxy_cache, with a log of the same size. @param {string} home */
function stock (home) {
  return `pid ${home}/nginx.pid;
error_log ${home}/error.log warn;
daemon off;
worker_processes 1;
${process.getuid?.() === 0 ? 'user root;' : ''}
events { worker_connections 4096; }
http {
  log_format json escape=json '{"time_s":$msec,"host":"$host","method":"$request_method","uri":"$request_uri","status":$status,"cache_status":"$upstream_cache_status","sent_bytes":$body_bytes_sent,"duration_s":$request_time}';
  access_log ${home}/access.log json;
  client_body_temp_path ${home}/body; proxy_temp_path ${home}/proxy; fastcgi_temp_path ${home}/fastcgi; uwsgi_temp_path ${home}/uwsgi; scgi_temp_path ${home}/scgi;
  keepalive_requests 1000000;
  proxy_cache_path ${home}/cache levels=1:2 keys_zone=pages:16m max_size=1g use_temp_path=off;
  upstream origin { server 127.0.0.1:${originPort}; keepalive 64; keepalive_timeout 4s; }
  server {
    listen 127.0.0.1:${stockPort};
    add_header CF-Cache-Status $upstream_cache_status always;
    location / {
      proxy_http_version 1.1; proxy_set_header Connection ""; proxy_set_header Host $http_host;
      proxy_cache pages; proxy_cache_lock on; proxy_cache_revalidate on;
      proxy_pass http://origin;
    }
  }
}
`
}

/** The one worker: the first child, and the only one that is not a cache manager. @param {number} master */
function workerOf (master) {
  const children = readFileSync(`/proc/${master}/task/${master}/children`, 'utf8').trim().split(' ').map(Number)
  return children.find((pid) => readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('worker process')) ?? children[0]
}

/** @param {number} pid */
function cpuSeconds (pid) {
  const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_S
}

/** Without shared memory: the zones have a fixed size. @param {number} pid */
function privateMiB (pid) {
  const rollup = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8')
  return Math.round(Number(/^Anonymous:\s+(\d+) kB/m.exec(rollup)?.[1]) / 1024)
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

/** @param {number} value */
function round (value) {
  return Math.round(value * 100) / 100
}
