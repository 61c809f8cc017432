import { closeSync, existsSync, openSync, readFileSync, rmSync } from 'node:fs'
import { lookup } from 'node:dns/promises'
import { BlockList, isIP } from 'node:net'
import { arrivalsIn, stagesOf } from '../../scenarios/arrivals.js'
import { integerOption, numberOption, siteOption } from '../commands/options.js'
import { DEFAULT_SETTINGS } from '../lab/settings.js'
import { UsageError } from '../usage-error.js'

/** Limits of the load on any other machine, even if the user owns it. */
export const ELSEWHERE = Object.freeze({ requests: 20_000, parallel: 100, duration_s: 600, rate_per_s: 100 })
export const HERE = Object.freeze({ requests: 10_000_000, parallel: 2_000, duration_s: 86_400, rate_per_s: 100_000 })
const URLS_MAX = 100_000
/** VUs of an open load: as many requests may be in flight at once. */
export const OPEN_VUS = 500
/** Of a search: beyond it a rate is too high anyway, and each step would wait for the late requests. */
const SEARCH_TIMEOUT_S = 5

const LOOPBACK = new BlockList()
LOOPBACK.addSubnet('127.0.0.0', 8, 'ipv4')
LOOPBACK.addAddress('::1', 'ipv6')

/**
 * @param {Record<string, any>} values
 * @param {typeof HERE | typeof ELSEWHERE} most
 * @param {string[] | null} paths
 * @returns {import('../lab/definition.js').Settings}
 * @throws {UsageError}
 */
export function settingsOf (values, most, paths) {
  const method = values.method ?? 'GET'
  if (method !== 'GET' && method !== 'POST') throw new UsageError(`--method is GET or POST, not "${method}"`)
  if (values.method !== undefined && values.writes !== undefined) {
    throw new UsageError('--method and --writes say the same: give one of them')
  }
  if (paths !== null && values.pages !== undefined) throw new UsageError('--pages is for a load without --urls')
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
  return {
    ...DEFAULT_SETTINGS,
    pages: paths?.length ?? integerOption(values.pages, '--pages', { least: 1, most: 100_000 }) ?? 100,
    requests: requestsOf({ requests, duration, rate, most }),
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
    timeout_s: integerOption(values.timeout, '--timeout', { least: 1, most: 600 }) ??
      (values.search === undefined ? DEFAULT_SETTINGS.timeout_s : SEARCH_TIMEOUT_S)
  }
}

/**
 * @param {{requests?: number, duration?: number, rate?: number, most: typeof HERE | typeof ELSEWHERE}} options
 * @returns {number} of the whole load
 * @throws {UsageError} when a rate and a duration make more than is allowed
 */
function requestsOf ({ requests, duration, rate, most }) {
  if (duration === undefined) return requests ?? 1000
  if (rate === undefined) return requests ?? most.requests
  const planned = Math.max(1, Math.min(requests ?? Infinity, arrivalsIn(stagesOf(rate, null, duration))))
  if (planned > most.requests) {
    throw new UsageError(
      `${rate} a second for ${duration} s are ${planned} requests; at most ${most.requests} are allowed`
    )
  }
  return planned
}

/** @param {string} file @param {string} flag @throws {UsageError} now, and not after the load */
export function refuseUnwritable (file, flag) {
  try {
    const isNew = !existsSync(file)
    // An existing file stays as it is until there is something to replace it with.
    closeSync(openSync(file, 'a'))
    if (isNew) rmSync(file)
  } catch (error) {
    throw new UsageError(`${flag} ${file} cannot be written: ${/** @type {Error} */ (error).message}`)
  }
}

/** @param {string} text */
function isDecodable (text) {
  try {
    return decodeURI(text) !== ''
  } catch {
    return false
  }
}

/**
 * @param {string} file
 * @returns {string[]}
 * @throws {UsageError}
 */
export function readPaths (file) {
  if (!existsSync(file)) throw new UsageError(`--urls: there is no file ${file}`)
  const paths = readFileSync(file, 'utf8').split('\n').map((line) => line.trim()).filter(Boolean)
  // A comma or a quote would end a cell of --samples.
  const bad = paths.find((line) => !/^\/[\x21-\x7e]*$/.test(line) || /[,"]/.test(line) || !isDecodable(line))
  if (bad !== undefined) {
    throw new UsageError(
      `--urls ${file}: each line is a path such as /wiki/Home, without commas and quotes, not "${bad}"`
    )
  }
  if (paths.length === 0 || paths.length > URLS_MAX) {
    throw new UsageError(`--urls ${file} must have 1 to ${URLS_MAX} lines, not ${paths.length}`)
  }
  return paths
}

/** @param {string | undefined} text @throws {UsageError} */
export function parseUrl (text) {
  if (text === undefined) throw new UsageError('--url is missing, for example --url http://wiki.localhost:8080')
  return siteOption(text, '--url', 'http://wiki.localhost:8080')
}

/**
 * @param {string} hostname
 * @returns {Promise<boolean>} whether all of its addresses are this machine's loopback
 * @throws {UsageError} when the name is not known
 */
export async function isLoopback (hostname) {
  // Loopback by RFC 6761 §6.3, even if the resolver does not know it.
  if (hostname === 'localhost' || hostname.endsWith('.localhost')) return true
  const host = hostname.replace(/^\[|\]$/g, '')
  const addresses = isIP(host)
    ? [{ address: host, family: isIP(host) }]
    : await lookup(host, { all: true })
      .catch((error) => { throw new UsageError(`--url: ${host} cannot be resolved (${error.code})`) })
  return addresses.every(({ address, family }) => LOOPBACK.check(address, family === 6 ? 'ipv6' : 'ipv4'))
}
