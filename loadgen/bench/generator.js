// Measures the processor time that a request takes k6: `node loadgen/bench/generator.js`. Two minutes.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import http from 'node:http'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { ROOT } from '@stevec/harness/config'
import { claimMachine } from '@stevec/harness/machine-lock'
import { readProcessStat } from '@stevec/harness/proc'
import { requireTool } from '@stevec/harness/tools/locate'
import { DEFAULT_SETTINGS } from '../src/lab/settings.js'
import { GARBAGE_COLLECTION } from '../src/lab/generator.js'

const REQUESTS = 20_000
const ROUNDS = 5
const VUS = 8
const SCRIPT = path.join(ROOT, 'loadgen/scenarios/requests.js')
const QUIET = ['run', '--quiet', '--no-usage-report', '--address', '', '--no-thresholds']
/**
 * By name: k6's options, whether connections are used again, and variables of the environment.
 * @type {Record<string, [string[], boolean, Record<string, string>?]>}
 */
const VARIANTS = {
  'as the lab runs it': [['--summary-mode=disabled', '--out', 'stevec='], false, GARBAGE_COLLECTION],
  'garbage collected as by default': [['--summary-mode=disabled', '--out', 'stevec='], false],
  'k6\'s own CSV': [['--summary-mode=disabled', '--out', 'csv='], false],
  'k6\'s own CSV and summary': [['--out', 'csv='], false],
  'as the lab, connections used again': [['--summary-mode=disabled', '--out', 'stevec='], true, GARBAGE_COLLECTION],
  'CSV, connections used again': [['--summary-mode=disabled', '--out', 'csv='], true]
}

await claimMachine()
const directory = mkdtempSync(path.join(tmpdir(), 'stevec-bench-'))
const server = http.createServer((_request, response) => {
  response.writeHead(200, { 'CF-Cache-Status': 'HIT', 'Page-Revision': '1', 'Content-Length': '4' }).end('page')
})
await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(undefined)))
const url = `http://127.0.0.1:${/** @type {import('node:net').AddressInfo} */ (server.address()).port}`

/**
 * @param {string[]} options
 * @param {boolean} reuse
 * @param {Record<string, string>} [env]
 * @returns {Promise<number>} µs of processor time a request
 */
async function measure (options, reuse, env = {}) {
  const settings = {
    ...DEFAULT_SETTINGS,
    url,
    vus: VUS,
    requests: REQUESTS,
    connection_reuse: reuse,
    plan: { seed: 1, stream: 1, requests: REQUESTS, pages: 100, edit_ratio: 0 },
    mark: 'bench',
    until_url: null
  }
  const before = childrenCpuS()
  const file = path.join(directory, 'rows.csv.gz')
  const args = options.map((option) => option.endsWith('=') ? `${option}${file}` : option)
  const k6 = spawn(requireTool('k6').path, [...QUIET, ...args, SCRIPT], {
    env: { ...process.env, ...env, K6_CSV_TIME_FORMAT: 'unix_micro', STEVEC_GENERATOR: JSON.stringify(settings) },
    stdio: ['ignore', 'ignore', 'inherit']
  })
  const [exitCode] = await once(k6, 'exit')
  if (exitCode !== 0) throw new Error(`k6 ended with ${exitCode}`)
  return (childrenCpuS() - before) / REQUESTS * 1e6
}

const childrenCpuS = () => readProcessStat('self')?.ended_children_cpu_s ?? 0

try {
  /** @type {Record<string, number[]>} */
  const found = {}
  for (let round = 0; round < ROUNDS; round++) {
    for (const [name, [options, reuse, env]] of Object.entries(VARIANTS)) {
      (found[name] ??= []).push(await measure(options, reuse, env))
    }
  }
  console.log(`µs of processor time a request, ${ROUNDS} rounds of ${REQUESTS} requests, k6's start included`)
  for (const [name, values] of Object.entries(found)) {
    values.sort((a, b) => a - b)
    const [median, least, most] = [values[ROUNDS >> 1], values[0], values[ROUNDS - 1]].map((value) => value.toFixed(0))
    console.log(`${name.padEnd(34)}${median.padStart(5)} (${least} … ${most})`)
  }
} finally {
  server.close()
  rmSync(directory, { recursive: true, force: true })
}
