import { mkdtempSync, rmSync } from 'node:fs'
import { lookup } from 'node:dns/promises'
import { BlockList, isIP } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { DEFAULT_SETTINGS } from '../lab/definition.js'
import { createGenerators, round } from '../lab/generator.js'
import { percentileOf } from '../lab/percentile.js'
import { extractSamples } from '../lab/samples.js'
import { logTail } from '@stevec/harness/processes'
import { UsageError } from '../usage-error.js'
import { integerOption, interruptSignal, numberOption, refuseMore } from './options.js'

/** Limits of the load on any other machine, even if the user owns it. */
const ELSEWHERE = Object.freeze({ requests: 20_000, parallel: 100, duration_s: 600 })
const DURATION_MAX_S = 86_400
const PERCENTILES = [50, 90, 95, 99, 99.9]

const LOOPBACK = new BlockList()
LOOPBACK.addSubnet('127.0.0.0', 8, 'ipv4')
LOOPBACK.addAddress('::1', 'ipv6')

/** @type {import('../cli.js').Command} */
export const command = {
  summary: 'send the study\'s load to a wiki, and show response times',
  help: `Usage: stevec load --url URL [options]

Sends the load of the study to a wiki: requests to pages drawn at random from /wiki/page-000001 …
below the URL, each on a connection of its own. By default one request follows the other; with
--parallel N, N clients send at the same time. Ends after --requests or --duration.

  --url URL            of a door, such as http://wiki.localhost:8080
  --pages N            number of different pages (default 100)
  --requests N         requests of all clients together (default 1000; unlimited with --duration)
  --pause SECONDS      of each client after each request; may be fractional (default 0)
  --method GET|POST    read pages (default), or create and replace them
  --length N           characters of each POST (default 5000)
  --parallel N         clients (default 1)
  --duration SECONDS   time after which no request starts; requests in flight are awaited
  --seed N             the same seed requests the same pages in the same order (default 1)
  --json               the result as JSON
  --i-run-that-host    confirms that a URL on another machine is yours; the load is then at most
                       ${ELSEWHERE.requests} requests, ${ELSEWHERE.parallel} clients, ${ELSEWHERE.duration_s} seconds

A POST changes pages of the wiki.
Exit code: 0 done, even if requests failed; 1 the load could not be sent; 2 wrong usage;
130 interrupted.

Examples:
  stevec up
  stevec load --url http://source.localhost:8081 --method POST --pages 100 --requests 300
  stevec load --url http://wiki.localhost:8080 --pages 100 --requests 1000
  stevec load --url http://wiki.localhost:8080 --parallel 50 --duration 10 --json`,
  options: {
    url: { type: 'string' },
    pages: { type: 'string' },
    requests: { type: 'string' },
    pause: { type: 'string' },
    method: { type: 'string' },
    length: { type: 'string' },
    parallel: { type: 'string' },
    duration: { type: 'string' },
    seed: { type: 'string' },
    json: { type: 'boolean' },
    'i-run-that-host': { type: 'boolean' }
  },
  async run ({ values, positionals }) {
    refuseMore(positionals, 0)
    const url = parseUrl(values.url)
    const elsewhere = !await isLoopback(url.hostname)
    if (elsewhere && !values['i-run-that-host']) {
      throw new UsageError(`${url.hostname} is not this machine. Load only machines that are yours; if it is yours, add --i-run-that-host`)
    }
    const most = elsewhere ? ELSEWHERE : { requests: 10_000_000, parallel: 2_000, duration_s: DURATION_MAX_S }
    const method = values.method ?? 'GET'
    if (method !== 'GET' && method !== 'POST') throw new UsageError(`--method is GET or POST, not "${method}"`)
    const duration = integerOption(values.duration, '--duration', { least: 1, most: most.duration_s })
    const vus = integerOption(values.parallel, '--parallel', { least: 1, most: most.parallel }) ?? 1
    const settings = {
      ...DEFAULT_SETTINGS,
      pages: integerOption(values.pages, '--pages', { least: 1, most: 100_000 }) ?? 100,
      requests: integerOption(values.requests, '--requests', { least: 1, most: most.requests }) ??
        (duration === undefined ? 1000 : most.requests),
      pause_s: numberOption(values.pause, '--pause', { least: 0, most: 3600 }) ?? 0,
      page_size_chars: integerOption(values.length, '--length', { least: 32, most: 1_000_000 }) ?? 5000,
      vus,
      edit_ratio: method === 'POST' ? 1 : 0,
      duration_max_s: duration ?? most.duration_s
    }
    const seed = integerOption(values.seed, '--seed', { least: 0, most: 2 ** 32 - 1 }) ?? 1
    if (values.length !== undefined && method === 'GET') {
      throw new UsageError('--length is for --method POST; a GET reads pages as they are')
    }

    if (!values.json) {
      process.stdout.write(`${method} ${url.origin}/wiki/page-000001 … ${settings.pages} pages, ${vus === 1 ? 'one request after the other' : `${vus} at a time`}, ${duration === undefined ? `${settings.requests} requests` : `for ${duration} s`}${elsewhere ? ' (not this machine)' : ''}\n`)
    }
    const outcome = await send({ url: url.origin, settings, seed, signal: interruptSignal() })
    process.stdout.write(values.json ? `${JSON.stringify(outcome)}\n` : `${inWords(outcome).join('\n')}\n`)
    return 0
  }
}

/**
 * @param {{url: string, settings: import('../lab/definition.js').Settings, seed: number, signal: AbortSignal}} options
 * @throws {Error} when k6 does not end well
 */
async function send ({ url, settings, seed, signal }) {
  const directory = mkdtempSync(path.join(tmpdir(), 'stevec-load-'))
  try {
    const plan = {
      seed,
      stream: 1,
      requests: settings.requests,
      pages: settings.pages,
      edit_ratio: settings.edit_ratio
    }
    const generator = await createGenerators(signal).start({
      name: 'k6', directory, settings: { ...settings, url, plan, mark: Date.now().toString(36), until_url: null }
    })
    const k6 = await generator.done
    signal.throwIfAborted()
    if (k6.exit_code !== 0) {
      throw new Error(`k6 ended with exit code ${k6.exit_code}:\n${logTail(path.join(directory, 'k6.log'))}`)
    }
    /** @type {number[]} */
    const durations = []
    const counts = await extractSamples({
      source: generator.csvFile,
      target: path.join(directory, 'samples.csv.gz'),
      plan,
      onSample: ({ durationMs, failure }) => { if (failure === '') durations.push(durationMs) }
    })
    durations.sort((a, b) => a - b)
    const spanS = ((counts.last_done_at_us ?? 0) - (counts.first_sent_at_us ?? 0)) / 1e6
    const perS = spanS > 0 ? counts.requests_sent / spanS : null
    return {
      url,
      requests: counts.requests_sent,
      failed: counts.requests_failed,
      unanswered: counts.requests_unanswered,
      failures: counts.failures,
      duration_s: round(spanS),
      requests_per_s: perS === null ? null : round(perS),
      requests_per_min: perS === null ? null : round(perS * 60),
      duration_mean_ms: roundOrNull(counts.duration_mean_ms),
      duration_max_ms: roundOrNull(durations.at(-1) ?? null),
      duration_percentiles_ms: Object.fromEntries(
        PERCENTILES.map((percent) => [`p${percent}`, roundOrNull(percentileOf(durations, percent))])
      ),
      served_by_cache: counts.served_by_cache,
      cache_statuses: counts.cache_statuses,
      generator_limited: k6.generator_limited
    }
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

/** @param {number | null} value */
const roundOrNull = (value) => value === null ? null : round(value)

/** @param {Awaited<ReturnType<typeof send>>} outcome */
function inWords (outcome) {
  const statuses = Object.entries(outcome.cache_statuses)
    .map(([status, count]) => `${status || 'none'} ${count}`)
    .join(', ')
  const failures = Object.entries(outcome.failures).map(([failure, count]) => `${failure} ${count}`).join(', ')
  const hint = outcome.failed > outcome.unanswered ? ' (does every page exist? --method POST writes them)' : ''
  return [
    `requests      ${outcome.requests}, ${outcome.failed} failed${failures && `: ${failures}`}${hint}`,
    `time          ${outcome.duration_s} s, ${outcome.requests_per_s} a second, ${outcome.requests_per_min} a minute`,
    `response      ${outcome.duration_max_ms === null ? 'none: no request was answered' : timesOf(outcome)}`,
    `cache status  ${statuses}`,
    ...(outcome.generator_limited
      ? ['The load generator used more than 70 % of this machine\'s cores: the times may be its own.']
      : [])
  ]
}

/** @param {Awaited<ReturnType<typeof send>>} outcome */
function timesOf ({ duration_mean_ms: mean, duration_percentiles_ms: percentiles, duration_max_ms: max, failed }) {
  const levels = Object.entries(percentiles).map(([name, value]) => `${name} ${value}`).join(', ')
  return `mean ${mean} ms, ${levels}, max ${max}${failed > 0 ? ', of answered requests only' : ''}`
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
