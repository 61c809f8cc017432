import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { lookup } from 'node:dns/promises'
import { BlockList, isIP } from 'node:net'
import { DEFAULT_SETTINGS } from '../lab/definition.js'
import { holds, parseCondition } from '../load/condition.js'
import { hgrmOf } from '../load/hgrm.js'
import { inWords } from '../load/outcome.js'
import { searchRate } from '../load/search.js'
import { send } from '../load/send.js'
import { UsageError } from '../usage-error.js'
import { integerOption, interruptSignal, numberOption, refuseMore } from './options.js'

/** Limits of the load on any other machine, even if the user owns it. */
const ELSEWHERE = Object.freeze({ requests: 20_000, parallel: 100, duration_s: 600, rate_per_s: 100 })
const HERE = Object.freeze({ requests: 10_000_000, parallel: 2_000, duration_s: 86_400, rate_per_s: 100_000 })
const URLS_MAX = 100_000
const PROGRESS_MS = 5_000
/** VUs of an open load: as many requests may be in flight at once. */
const OPEN_VUS = 500
const SEARCH_S = 10

const LOOPBACK = new BlockList()
LOOPBACK.addSubnet('127.0.0.0', 8, 'ipv4')
LOOPBACK.addAddress('::1', 'ipv6')

/** @type {import('../cli.js').Command} */
export const command = {
  summary: 'send a load to a wiki, and show response times',
  help: `Usage: stevec load --url URL [options]

Sends requests to pages drawn at random from /wiki/page-000001 … below the URL, or to --urls. By
default in a closed loop: each of --parallel clients waits for its response, on a connection of its
own for each request, as in the study. With --rate in the open model: requests are sent at planned
times, whatever the server does, and response times count from the plan.

  --url URL            of a door, such as http://wiki.localhost:8080
  --pages N            number of different pages (default 100)
  --urls FILE          paths to request instead, one a line: /wiki/Home
  --requests N         requests of all clients together (default 1000; unlimited with --duration)
  --duration SECONDS   time after which no request starts; requests in flight are awaited
  --method GET|POST    read pages (default), or create and replace them
  --writes SHARE       share of requests that are POSTs, 0 to 1 (default 0; --method POST: 1)
  --length N           characters of each POST (default 5000)
  --parallel N         clients; with --rate the most requests in flight (default 1, or ${OPEN_VUS})
  --pause SECONDS      of each client after each request; may be fractional (default 0)
  --rate N             requests a second, in the open model
  --arrivals KIND      with --rate: constant (default) or poisson
  --keepalive          use connections again
  --seed N             the same seed requests the same pages in the same order (default 1)
  --timeout SECONDS    a request is given up after this time (default 60)
  --fail-if CONDITION  exit with 1 if it holds: "p99>200ms", "mean>1s", "max>2s", "failed>1%",
                       "rate<100/s"; may be given several times. A failed request is slower than any
  --search CONDITION   instead: the highest rate at which it holds, such as "p99<200ms", by
                       doubling and halving, ${SEARCH_S} s each (or --duration)
  --samples FILE       a row for each request, CSV, compressed (docs/results-format.md)
  --hgrm FILE          the response times as HdrHistogram's percentile distribution
  --json               the result as JSON
  --quiet              no progress
  --i-run-that-host    confirms that a URL on another machine is yours; the load is then at most
                       ${ELSEWHERE.requests} requests, ${ELSEWHERE.parallel} clients, ${ELSEWHERE.duration_s} seconds, ${ELSEWHERE.rate_per_s} a second

A POST changes pages of the wiki. If the wiki has a counter, it is read before and after.
Exit code: 0 done, even if requests failed; 1 a --fail-if held, or the load could not be sent;
2 wrong usage; 130 interrupted.

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
      throw new UsageError(`${url.hostname} is not this machine. Load only machines that are yours; if it is yours, add --i-run-that-host`)
    }
    const failIf = (values['fail-if'] ?? []).map((/** @type {string} */ text) => parseCondition(text, '--fail-if'))
    const paths = values.urls === undefined ? null : readPaths(values.urls)
    const load = {
      url: url.origin,
      settings: settingsOf(values, elsewhere ? ELSEWHERE : HERE, paths),
      seed: integerOption(values.seed, '--seed', { least: 0, most: 2 ** 32 - 1 }) ?? 1,
      paths,
      signal: interruptSignal()
    }
    if (values.search !== undefined) return search(load, values, elsewhere ? ELSEWHERE : HERE)

    if (!values.json) process.stdout.write(`${describe(load, elsewhere)}\n`)
    const stopProgress = values.quiet || values.json ? () => {} : showProgress(load.settings)
    const { outcome, responsesMs } = await send({ ...load, samplesFile: values.samples }).finally(stopProgress)
    if (values.hgrm !== undefined && responsesMs.length > 0) writeFileSync(values.hgrm, hgrmOf(responsesMs))
    const broken = failIf.filter((/** @type {import('../load/condition.js').Condition} */ each) => holds(each, outcome))
    const violated = broken.map((/** @type {import('../load/condition.js').Condition} */ { text }) => text)
    process.stdout.write(values.json
      ? `${JSON.stringify({ ...outcome, violated })}\n`
      : `${inWords(outcome, load.settings).join('\n')}\n`)
    for (const text of violated) process.stderr.write(`--fail-if ${text}: it is so\n`)
    return violated.length > 0 ? 1 : 0
  }
}

/**
 * @param {Record<string, any>} values
 * @param {typeof HERE | typeof ELSEWHERE} most
 * @param {string[] | null} paths
 * @returns {import('../lab/definition.js').Settings}
 * @throws {UsageError}
 */
function settingsOf (values, most, paths) {
  const method = values.method ?? 'GET'
  if (method !== 'GET' && method !== 'POST') throw new UsageError(`--method is GET or POST, not "${method}"`)
  const writes = numberOption(values.writes, '--writes', { least: 0, most: 1 }) ?? (method === 'POST' ? 1 : 0)
  if (values.length !== undefined && writes === 0) {
    throw new UsageError('--length is for --method POST; a GET reads pages as they are')
  }
  const rate = values.search !== undefined
    ? 1
    : numberOption(values.rate, '--rate', { least: 0.01, most: most.rate_per_s })
  const { arrivals = 'constant' } = values
  if (arrivals !== 'constant' && arrivals !== 'poisson') {
    throw new UsageError(`--arrivals is constant or poisson, not "${arrivals}"`)
  }
  if (arrivals !== 'constant' && rate === undefined) throw new UsageError('--arrivals is for --rate')
  if (rate !== undefined && values.pause !== undefined) throw new UsageError('--pause is for a load without --rate')
  const duration = integerOption(values.duration, '--duration', { least: 1, most: most.duration_s })
  const requests = integerOption(values.requests, '--requests', { least: 1, most: most.requests })
  const inTime = duration === undefined ? 1000 : rate === undefined ? most.requests : Math.ceil(rate * duration)
  return {
    ...DEFAULT_SETTINGS,
    pages: paths?.length ?? integerOption(values.pages, '--pages', { least: 1, most: 100_000 }) ?? 100,
    requests: Math.min(requests ?? inTime, rate === undefined ? Infinity : Math.max(inTime, requests ?? 0)),
    model: rate === undefined ? 'closed' : 'open',
    rate_per_s: rate ?? null,
    arrivals,
    pause_s: numberOption(values.pause, '--pause', { least: 0, most: 3600 }) ?? 0,
    page_size_chars: integerOption(values.length, '--length', { least: 32, most: 1_000_000 }) ?? 5000,
    vus: integerOption(values.parallel, '--parallel', { least: 1, most: most.parallel }) ??
      (rate === undefined ? 1 : Math.min(OPEN_VUS, most.parallel)),
    connection_reuse: values.keepalive === true,
    edit_ratio: writes,
    duration_max_s: duration ?? most.duration_s,
    timeout_s: integerOption(values.timeout, '--timeout', { least: 1, most: 600 }) ?? DEFAULT_SETTINGS.timeout_s
  }
}

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
  const measure = async (/** @type {number} */ rate) => {
    const settings = { ...load.settings, rate_per_s: rate, requests: rate * durationS, duration_max_s: durationS }
    return (await send({ ...load, settings })).outcome
  }
  const found = await searchRate(condition, measure, most.rate_per_s, (rate, outcome, held) => {
    if (values.quiet) return
    const { response_percentiles_ms: percentiles, failed, schedule, generator_limited: limited } = outcome
    process.stderr.write(`${rate} a second: p50 ${percentiles.p50} ms, p99 ${percentiles.p99}, lag p99 ` +
      `${schedule?.lag_p99_ms}, ${failed} failed: ${held ? 'held' : 'not held'}${limited ? ' (the generator was at its limit)' : ''}\n`)
  })
  process.stdout.write(values.json ? `${JSON.stringify(found)}\n` : `${inWordsOf(found, condition.text)}\n`)
  return found.held_per_s === null ? 1 : 0
}

/**
 * @param {{held_per_s: number | null, broken_per_s: number | null}} found
 * @param {string} text
 */
function inWordsOf ({ held_per_s: held, broken_per_s: broken }, text) {
  if (held === null) return `${text} did not hold at ${broken} requests a second, the lowest rate that was tried`
  return `${text} held at ${held} requests a second${broken === null ? ', the highest rate that was tried' : `, and did not at ${broken}`}`
}

/**
 * @param {Pick<import('../load/send.js').Load, 'url' | 'settings' | 'paths'>} load
 * @param {boolean} elsewhere
 */
function describe ({ url, settings, paths }, elsewhere) {
  const { pages, vus, requests, edit_ratio: writes, rate_per_s: rate, arrivals, duration_max_s: durationS } = settings
  const what = writes === 0 ? 'GET' : writes === 1 ? 'POST' : `${100 * writes} % POST`
  const how = rate !== null
    ? `${rate} a second${arrivals === 'poisson' ? ', Poisson arrivals' : ''}`
    : vus === 1 ? 'one request after the other' : `${vus} at a time`
  const length = requests === HERE.requests || requests === ELSEWHERE.requests ? `for ${durationS} s` : `${requests} requests`
  const where = paths === null ? `${url}/wiki/page-000001 … ${pages} pages` : `${url}, ${pages} addresses`
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

/**
 * @param {string} file
 * @returns {string[]}
 * @throws {UsageError}
 */
function readPaths (file) {
  if (!existsSync(file)) throw new UsageError(`--urls: there is no file ${file}`)
  const paths = readFileSync(file, 'utf8').split('\n').map((line) => line.trim()).filter(Boolean)
  const bad = paths.find((line) => !/^\/[\x21-\x7e]*$/.test(line))
  if (bad !== undefined) throw new UsageError(`--urls ${file}: each line is a path such as /wiki/Home, not "${bad}"`)
  if (paths.length === 0 || paths.length > URLS_MAX) {
    throw new UsageError(`--urls ${file} must have 1 to ${URLS_MAX} lines, not ${paths.length}`)
  }
  return paths
}

/** @param {string | undefined} text */
function parseUrl (text) {
  if (text === undefined) throw new UsageError('--url is missing, for example --url http://wiki.localhost:8080')
  const url = URL.canParse(text) ? new URL(text) : null
  if (
    url === null ||
    (url.protocol !== 'http:' && url.protocol !== 'https:') ||
    url.pathname !== '/' ||
    url.search !== '' ||
    url.hash !== '' ||
    url.username !== ''
  ) {
    throw new UsageError(
      `--url is an http or https URL without a path, such as http://wiki.localhost:8080, not "${text}"`
    )
  }
  return url
}

/**
 * @param {string} hostname
 * @returns {Promise<boolean>} whether all of its addresses are this machine's loopback
 * @throws {UsageError} when the name is not known
 */
async function isLoopback (hostname) {
  // Loopback by RFC 6761 §6.3, even if the resolver does not know it.
  if (hostname === 'localhost' || hostname.endsWith('.localhost')) return true
  const host = hostname.replace(/^\[|\]$/g, '')
  const addresses = isIP(host)
    ? [{ address: host, family: isIP(host) }]
    : await lookup(host, { all: true })
      .catch((error) => { throw new UsageError(`--url: ${host} cannot be resolved (${error.code})`) })
  return addresses.every(({ address, family }) => LOOPBACK.check(address, family === 6 ? 'ipv6' : 'ipv4'))
}
