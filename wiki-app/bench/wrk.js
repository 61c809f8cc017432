import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { locateTool } from '@stevec/harness/tools/locate'
import { DURATION_S } from './load.js'
import { cpuSeconds, endedChildrenCpuSeconds } from './process.js'

/**
 * The script's last line: requests, µs, socket errors (connecting, reading, writing, timeouts), status errors (400 and
 * above). https://github.com/wg/wrk/blob/master/SCRIPTING
 */
const RESULT = /^stevec (\d+) (\d+) (\d+) (\d+)$/m

/**
 * Measures with wrk how many requests a second a server answers. Each connection waits for its response before it sends
 * the next request, which is drawn at random. wrk takes less than half the processor time of a generator in JavaScript:
 * on two cores, beside a fast server and a database, the measurement would be of that generator.
 * @param {object} options
 * @param {string} options.directory  for the script of the load
 * @param {string} options.url
 * @param {number} options.connections
 * @param {{path: string, headers?: Record<string, string>}[]} options.requests  all are GET
 * @param {number} [options.expected]  the status of the responses, which is checked before the load; under load, 400
 *   and above is an error
 * @param {number} [options.duration_s]  whole seconds
 * @param {number} options.pid  of the process whose processor time is measured
 * @returns {Promise<import('./load.js').Load>}
 * @throws {Error} when wrk is missing, with the command that installs it, or a response had another status
 */
export async function loadWithWrk ({
  directory,
  url,
  connections,
  requests,
  expected = 200,
  duration_s: duration = DURATION_S,
  pid
}) {
  const wrk = locateTool('wrk')
  if (wrk === null) throw new Error('wrk is missing, which makes the load; `./stevec setup --with wrk` installs it')
  // wrk itself accepts every status below 400.
  for (const { path, headers } of [requests[0], requests[requests.length - 1]]) {
    const { status } = await fetch(url + path, { headers: { 'cache-control': 'max-age=0', ...headers } })
    if (status !== expected) throw new Error(`${url}${path}: ${status} instead of ${expected}`)
  }
  const script = path.join(directory, 'load.lua')
  writeFileSync(script, scriptOf(requests))
  const [serverBefore, wrkBefore] = [cpuSeconds(pid), endedChildrenCpuSeconds()]
  const startedAt = performance.now()
  const child = spawn(
    wrk.path,
    ['--threads', '1', '--connections', String(connections), '--duration', `${duration}s`, '--script', script, url],
    { stdio: ['ignore', 'pipe', 'inherit'] }
  )
  const output = (await child.stdout.setEncoding('utf8').toArray()).join('')
  if (child.exitCode === null) await once(child, 'exit')
  const elapsedMs = performance.now() - startedAt
  const [, answers, durationUs, socketErrors, statusErrors] = (RESULT.exec(output) ?? []).map(Number)
  if (child.exitCode !== 0 || !(answers > 1) || socketErrors + statusErrors > 0) {
    throw new Error(`${url}: wrk ended with ${child.exitCode} and said:\n${output}`)
  }
  return {
    requests: answers,
    refused: 0,
    rate_per_s: answers / durationUs * 1e6,
    cpu_us: [(cpuSeconds(pid) - serverBefore) / answers * 1e6],
    generator_cpu_share: (endedChildrenCpuSeconds() - wrkBefore) / (elapsedMs / 1000)
  }
}

/**
 * JSON strings of plain ASCII are Lua strings, too.
 * @param {{path: string, headers?: Record<string, string>}[]} requests
 */
const scriptOf = (requests) => `
local asked = {}
function init()
  math.randomseed(${Date.now() % 1e9})
${requests.map(({ path, headers = {} }) => `  asked[#asked + 1] = wrk.format("GET", ${JSON.stringify(path)}, {${Object.entries(headers).map(([name, value]) => `[${JSON.stringify(name)}] = ${JSON.stringify(value)}`).join(', ')}})`).join('\n')}
end
function request() return asked[math.random(#asked)] end
function done(summary)
  local errors = summary.errors
  io.write(string.format("stevec %d %d %d %d\\n", summary.requests, summary.duration, errors.connect + errors.read + errors.write + errors.timeout, errors.status))
end
`
