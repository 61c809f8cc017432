import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { lockHolder } from '@stevec/harness/machine-lock'
import { holds, parseCondition, valueOf } from '../load/condition.js'
import { hgrmOf } from '../load/hgrm.js'
import {
  ELSEWHERE, HERE, isLoopback, OPEN_VUS, parseUrl, readPaths, refuseUnwritable, settingsOf
} from '../load/options.js'
import { inWords, isLimited, warningsOf } from '../load/outcome.js'
import { searchRate } from '../load/search.js'
import { send } from '../load/send.js'
import { readConfig } from '../config.js'
import { countOf } from '../count-of.js'
import { EXIT } from '../exit-codes.js'
import { stackProcesses } from '../stack/stack-processes.js'
import { readState } from '../stack/state.js'
import { UsageError } from '../usage-error.js'
import { integerOption, interruptSignal, refuseMore } from './options.js'

const PROGRESS_MS = 5_000
const SEARCH_S = 10

/** @type {import('../cli.js').Command} */
export const command = {
  summary: 'send a load to a wiki, and show response times',
  help: `Usage: stevec load --url URL [options]

Sends requests to pages drawn at random from /wiki/page-000001 … below the URL, or to --urls. By
default in a closed loop: each of --parallel clients waits for its response. With --rate the model
is open: requests are sent at planned times, whatever the server does, and response times count
from the plan. Each request has a connection of its own.

  --url URL            of a door, such as http://wiki.localhost:8080
  --pages N            number of different pages (default 100)
  --urls FILE          paths to request instead, one a line: /wiki/Home
  --requests N         requests of all clients together (default 1000; unlimited with --duration)
  --duration SECONDS   time after which no request starts; requests in flight are awaited. With
                       --rate: how long the plan is; late requests are sent for --timeout longer
  --method GET|POST    read pages (default), or create and replace them
  --writes SHARE       share of requests that are POSTs, 0 to 1 (default 0; --method POST: 1)
  --length N           characters of each POST (default 5000)
  --parallel N         clients; with --rate the most requests in flight (default 1, or ${OPEN_VUS})
  --pause SECONDS      how long a client waits after each response; may be fractional (default 0)
  --rate N             requests a second, in the open model
  --arrivals KIND      with --rate: constant (default) or poisson
  --keepalive          use connections again. Each client has its own, so with --rate the first
                       ${OPEN_VUS} requests open one each: a smaller --parallel opens fewer
  --seed N             the same seed requests the same pages in the same order (default 1)
  --timeout SECONDS    a request is given up after this time (default 60; of a search 5)
  --fail-if CONDITION  exit with 1 if it holds: "p99>200ms", "mean>1s", "max>2s", "failed>1%",
                       "rate<100/s"; may be given several times. For pN and max a failed request is
                       slower than any; mean is of answered requests
  --search CONDITION   finds the highest rate at which it holds, such as "p99<200ms", by
                       doubling and halving, ${SEARCH_S} s each (or --duration), twice where it does not hold
  --samples FILE       a row for each request, CSV, compressed (docs/results-format.md)
  --hgrm FILE          the response times as HdrHistogram's percentile distribution
  --json               the result as JSON
  --quiet              no progress
  --i-run-that-host    confirms that a URL on another machine is yours; the load is then at most
                       ${ELSEWHERE.requests} requests, ${ELSEWHERE.parallel} clients, ${ELSEWHERE.duration_s} seconds, ${ELSEWHERE.rate_per_s} a second

A POST changes pages of the wiki. If the wiki has a counter, it is read before and after.
Exit code: 0 done, even if requests failed; 1 a --fail-if held, or no rate of a --search held;
2 wrong usage; 3 broken: the load could not be sent; 130 interrupted.

Examples:
  stevec load --url http://source.localhost:8081 --method POST --pages 100 --requests 300
  stevec load --url http://wiki.localhost:8080 --parallel 50 --duration 10 --json
  stevec load --url http://wiki.localhost:8080 --rate 200 --duration 30 --fail-if "p99>50ms"
  stevec load --url http://source.localhost:8081 --search "p99<200ms"`,
  options: {
    ...Object.fromEntries([
      'url', 'pages', 'urls', 'requests', 'pause', 'method', 'writes', 'length', 'parallel', 'duration', 'rate',
      'arrivals', 'seed', 'timeout', 'search', 'samples', 'hgrm'
    ].map((name) => [name, { type: /** @type {const} */ ('string') }])),
    'fail-if': { type: 'string', multiple: true },
    keepalive: { type: 'boolean' },
    json: { type: 'boolean' },
    quiet: { type: 'boolean' },
    'i-run-that-host': { type: 'boolean' }
  },
  async run ({ values, positionals }) {
    refuseMore(positionals, 0)
    const url = parseUrl(values.url)
    const elsewhere = !await isLoopback(url.hostname)
    if (elsewhere && !values['i-run-that-host']) {
      throw new UsageError(`${url.hostname} is not this machine. Load only machines that are yours; if it is yours, ` +
        'add --i-run-that-host')
    }
    for (const name of ['samples', 'hgrm']) if (values[name] !== undefined) refuseUnwritable(values[name], `--${name}`)
    const failIf = (values['fail-if'] ?? []).map((/** @type {string} */ text) => parseCondition(text, '--fail-if'))
    const paths = values.urls === undefined ? null : readPaths(values.urls)
    const load = {
      url: url.origin,
      settings: settingsOf(values, elsewhere ? ELSEWHERE : HERE, paths),
      seed: integerOption(values.seed, '--seed', { least: 0, most: 2 ** 32 - 1 }) ?? 1,
      paths,
      servers: ownServers(),
      signal: interruptSignal()
    }
    const measuring = await lockHolder()
    if (measuring !== null) process.stderr.write(`warning: ${distorts(measuring)}\n`)
    if (values.search !== undefined) return search(load, values, elsewhere ? ELSEWHERE : HERE)

    if (!values.json) process.stdout.write(`${describe(load, values.duration !== undefined, elsewhere)}\n`)
    const stopProgress = values.quiet || values.json ? () => {} : showProgress(load.settings)
    const { outcome, responsesMs } = await send({ ...load, samplesFile: values.samples }).finally(stopProgress)
    if (values.hgrm !== undefined && responsesMs.length > 0) writeFileSync(values.hgrm, hgrmOf(responsesMs))
    else if (values.hgrm !== undefined) process.stderr.write(`no request was answered, so there is no ${values.hgrm}\n`)
    for (const text of warningsOf(outcome, load.settings)) process.stderr.write(`warning: ${text}\n`)
    const broken = failIf.filter((/** @type {import('../load/condition.js').Condition} */ each) => holds(each, outcome))
    const violated = broken.map((/** @type {import('../load/condition.js').Condition} */ { text }) => text)
    process.stdout.write(values.json
      ? `${JSON.stringify({ ...outcome, violated })}\n`
      : `${inWords(outcome).join('\n')}\n`)
    for (const { text, measure } of broken) {
      const value = valueOf(measure, outcome)
      const shown = value === Infinity ? `${outcome.failed} of ${countOf(outcome.requests, 'request')} failed` : value.toFixed(3)
      process.stderr.write(`--fail-if ${text}: it is so, ${measure} ${value === Infinity ? '' : 'is '}${shown}\n`)
    }
    return violated.length > 0 ? EXIT.violated : EXIT.good
  }
}

/** Returns the processes of `stevec up`: without them, the wiki would count as somebody else's work. */
function ownServers () {
  const state = readState(path.join(readConfig().stateDirectory, 'wiki'))
  return state === null ? [] : stackProcesses(state)
}

/** @param {string} holder  of the lock of measurements */
const distorts = (holder) =>
  `a measurement is under way on this machine: ${holder}. This load and it distort each other's times`

/**
 * @param {Omit<import('../load/send.js').Load, 'samplesFile'>} load
 * @param {Record<string, any>} values
 * @param {typeof HERE | typeof ELSEWHERE} most
 */
async function search (load, values, most) {
  for (const name of ['rate', 'requests', 'fail-if', 'samples', 'hgrm', 'pause']) {
    if (values[name] !== undefined) throw new UsageError(`--search chooses the load itself: leave out --${name}`)
  }
  const condition = parseCondition(values.search, '--search')
  const durationS = values.duration === undefined ? SEARCH_S : load.settings.duration_max_s
  const measure = async (/** @type {number} */ rate, /** @type {number} */ seconds) => {
    const settings = { ...load.settings, rate_per_s: rate, requests: rate * seconds, duration_max_s: seconds }
    return (await send({ ...load, settings })).outcome
  }
  /** @type {(rate: number, outcome: import('../load/outcome.js').Outcome, held: boolean) => void} */
  const note = (rate, outcome, held) => {
    if (values.quiet) return
    const { response_percentiles_ms: percentiles, failed, schedule, saturation } = outcome
    const limit = isLimited(saturation) ? ` (the ${saturation?.limit} was at its limit)` : ''
    process.stderr.write(`${rate} a second: p50 ${percentiles.p50} ms, p99 ${percentiles.p99}, lag p99 ` +
      `${schedule?.lag_p99_ms}, ${failed} failed: ${held ? 'held' : 'not held'}${limit}\n`)
  }
  const limits = { seconds: durationS, mostPerS: most.rate_per_s, requestsMax: most.requests }
  const found = await searchRate({ condition, measure, note, ...limits })
  process.stdout.write(values.json ? `${JSON.stringify(found)}\n` : `${inWordsOf(found, condition.text)}\n`)
  return found.held_per_s === null ? EXIT.violated : EXIT.good
}

/**
 * @param {{held_per_s: number | null, broken_per_s: number | null}} found
 * @param {string} text
 */
function inWordsOf ({ held_per_s: held, broken_per_s: broken }, text) {
  if (held === null) {
    const rate = countOf(broken ?? 0, 'request')
    return `${text} did not hold at ${rate} a second, the lowest rate that was tried`
  }
  const above = broken === null ? ', the highest rate that was tried' : `, and did not at ${broken}`
  return `${text} held at ${countOf(held, 'request')} a second${above}`
}

/**
 * @param {Pick<import('../load/send.js').Load, 'url' | 'settings' | 'paths'>} load
 * @param {boolean} isTimed
 * @param {boolean} elsewhere
 */
function describe ({ url, settings, paths }, isTimed, elsewhere) {
  const { pages, vus, requests, edit_ratio: writes, rate_per_s: rate, arrivals, duration_max_s: durationS } = settings
  const what = writes === 0 ? 'GET' : writes === 1 ? 'POST' : `${100 * writes} % POST`
  const how = rate !== null
    ? `${rate} a second${arrivals === 'poisson' ? ', Poisson arrivals' : ''}`
    : vus === 1 ? 'one request after the other' : `${vus} at a time`
  const length = isTimed ? `for ${durationS} s` : countOf(requests, 'request')
  const where = paths === null ? `${url}/wiki/page-000001 … ${countOf(pages, 'page')}` : `${url}, ${pages} address${pages === 1 ? '' : 'es'}`
  return `${what} ${where}, ${how}, ${length}${elsewhere ? ' (not this machine)' : ''}`
}

/**
 * Shows on a terminal how long the load has run, and will.
 * @param {import('../lab/definition.js').Settings} settings
 * @returns {() => void} ends it
 */
function showProgress ({ requests, rate_per_s: rate, duration_max_s: durationS }) {
  if (!process.stderr.isTTY) return () => {}
  const totalS = rate !== null ? requests / rate : durationS < HERE.duration_s ? durationS : null
  const startedAt = performance.now()
  const timer = setInterval(() => {
    const elapsedS = Math.round((performance.now() - startedAt) / 1000)
    const left = totalS === null ? '' : `, about ${Math.max(0, Math.round(totalS) - elapsedS)} s left`
    process.stderr.write(`… ${elapsedS} s${left}\n`)
  }, PROGRESS_MS)
  return () => clearInterval(timer)
}
