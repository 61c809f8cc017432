import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { locateTool } from '@stevec/harness/tools/locate'

const CONNECTIONS = 16
/** Requests, µs, errors, median and 99th percentile in µs. https://github.com/wg/wrk/blob/master/SCRIPTING */
const RESULT = /^stevec (\d+) (\d+) (\d+) (\d+) (\d+)$/m

/** @typedef {{requests: number, rate_per_s: number, p50_ms: number, p99_ms: number}} Load */

/**
 * Sends requests in a closed loop, from the second core where there is one.
 * @param {object} options
 * @param {string} options.directory  for the script
 * @param {number} options.port
 * @param {string[]} options.lines  start line and header lines of each request, without Host; sent in this order from a
 *   random one on. `{n}` is a number that no request had before.
 * @param {number} options.duration_s
 * @param {number} options.unique  where these numbers begin
 * @returns {Promise<Load>}
 * @throws {Error} when wrk is missing, or when a response is none or has a status of 400 or above
 */
export async function loadWithWrk ({ directory, port, lines, duration_s: durationS, unique }) {
  const wrk = locateTool('wrk')
  if (wrk === null) throw new Error('wrk is missing, which makes the load; `./stevec setup --with wrk` installs it')
  const [script, requests] = ['load.lua', 'requests.txt'].map((name) => path.join(directory, name))
  writeFileSync(requests, lines.join('\n'))
  writeFileSync(script, scriptOf({ requests, port, unique }))
  const child = spawn('taskset', [
    '--cpu-list', '1', wrk.path, '--threads', '1', '--connections', String(CONNECTIONS), '--duration', `${durationS}s`,
    '--script', script, `http://127.0.0.1:${port}`
  ], { stdio: ['ignore', 'pipe', 'inherit'] })
  const output = (await child.stdout.setEncoding('utf8').toArray()).join('')
  if (child.exitCode === null) await once(child, 'exit')
  const [, answers, durationUs, errors, p50Us, p99Us] = (RESULT.exec(output) ?? []).map(Number)
  if (child.exitCode !== 0 || !(answers > 1) || errors > 0) {
    throw new Error(`wrk ended with ${child.exitCode} and said:\n${output}`)
  }
  return { requests: answers, rate_per_s: answers / durationUs * 1e6, p50_ms: p50Us / 1e3, p99_ms: p99Us / 1e3 }
}

/** @param {{requests: string, port: number, unique: number}} parts */
const scriptOf = ({ requests, port, unique }) => `
local lines, at, unique = {}, 0, ${unique}
function init()
  math.randomseed(${unique} + 1)
  for line in io.lines(${JSON.stringify(requests)}) do lines[#lines + 1] = line end
  at = math.random(#lines)
end
function request()
  at = at % #lines + 1
  local line = lines[at]
  if line:find("{n}", 1, true) then
    unique = unique + 1
    line = line:gsub("{n}", unique)
  end
  local start, fields = line:match("^([^|]*)|?(.*)$")
  return start .. "\\r\\nHost: 127.0.0.1:${port}\\r\\n" .. (fields ~= "" and fields .. "\\r\\n" or "") .. "\\r\\n"
end
function done(summary, latency)
  local errors = summary.errors
  io.write(string.format("stevec %d %d %d %d %d\\n", summary.requests, summary.duration,
    errors.connect + errors.read + errors.write + errors.timeout + errors.status,
    latency:percentile(50), latency:percentile(99)))
end
`
