import { createReadStream, existsSync } from 'node:fs'
import path from 'node:path'
import { pipeline } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { linkPath } from '../../scenarios/short-links.js'
import { NEVER_SENT } from './failure.js'
import { linesOf, SERVED_BY_CACHE } from './samples.js'

/** Of samples.csv.gz; older files lack `failure`, and most lack `pop`. */
const SAMPLE_COLUMNS = ['page', 'method', 'status', 'failure', 'cache_status', 'revision', 'pop']

/**
 * Counts observations by description, e.g. `GET /wiki/page-000001 200 HIT revision 3`.
 * @typedef {Map<string, number>} Tally
 */

/**
 * The observations of one witness.
 * @typedef {object} Witness
 * @property {Tally} seen  method, address, status, cache status and revision of each request
 * @property {Map<string, Tally>} seenAt  the same by the point of presence that responded, '' where none is named
 * @property {Tally} forwarded  method and address of each request that a cache sent on
 * @property {Tally} answered  method and address of each request with a response
 * @property {Tally} failed  the same of each with a 5xx, or that the client gave up (499 in nginx's log)
 * @property {Tally} renewable  the same of each that got a copy while the cache renews it (RFC 5861)
 * @property {Tally} unanswered  the same of each without a response
 * @property {number} reads
 * @property {number} writes
 */

/** @returns {Witness} */
const newWitness = () => ({
  seen: new Map(),
  seenAt: new Map(),
  forwarded: new Map(),
  answered: new Map(),
  failed: new Map(),
  renewable: new Map(),
  unanswered: new Map(),
  reads: 0,
  writes: 0
})

/**
 * @param {Witness} witness
 * @param {{method: string, uri: string, status: number, cacheStatus: string, revision: string,
 *   forwarded: number, place?: string}} request
 */
function witnessed (witness, { method, uri, status, cacheStatus, revision, forwarded, place }) {
  const address = `${method} ${uri}`
  const seen = `${address} ${status}${cacheStatus && ` ${cacheStatus}`}${revision && ` revision ${revision}`}`
  add(witness.seen, seen)
  if (place !== undefined) {
    if (!witness.seenAt.has(place)) witness.seenAt.set(place, new Map())
    add(/** @type {Tally} */ (witness.seenAt.get(place)), seen)
  }
  add(witness.answered, address)
  for (let times = 0; times < forwarded; times++) add(witness.forwarded, address)
  if (status >= 499) add(witness.failed, address)
  if (cacheStatus === 'UPDATING' || cacheStatus === 'STALE') add(witness.renewable, address)
  if (method === 'GET' || method === 'HEAD') witness.reads += 1
  else witness.writes += 1
}

/**
 * @param {string} directory
 * @param {import('../../scenarios/short-links.js').Resource} resource
 * @param {(method: string) => boolean} [takes]  default: all
 */
export async function readSamples (directory, resource, takes = () => true) {
  const witness = newWitness()
  const uriOf = resource === 'short-link'
    ? linkPath
    : (/** @type {string} */ _, /** @type {string} */ page) => `/wiki/${page}`
  for (const name of ['samples.csv.gz', 'background.csv.gz']) {
    /** @type {number[] | null} */
    let positions = null
    await eachLine(path.join(directory, name), (line) => {
      const cells = line.split(',')
      if (positions === null) {
        positions = SAMPLE_COLUMNS.map((name) => cells.indexOf(name))
        return
      }
      const [page, method, status, failure, cacheStatus, revision, place] = positions.map((position) => cells[position])
      if (failure === NEVER_SENT || !takes(method)) return
      const uri = uriOf(method, page)
      if (status === '0') {
        add(witness.unanswered, `${method} ${uri}`)
        add(witness.failed, `${method} ${uri}`)
      } else {
        witnessed(witness, {
          method,
          uri,
          status: Number(status),
          cacheStatus,
          revision,
          place,
          forwarded: SERVED_BY_CACHE.has(cacheStatus) ? 0 : 1
        })
      }
    })
  }
  return witness
}

/**
 * @param {string} directory
 * @param {string} role
 */
export async function readLog (directory, role) {
  const witness = newWitness()
  await eachLine(path.join(directory, `${role}.log.gz`), (line) => {
    const {
      method,
      uri,
      status,
      cache_status: cacheStatus,
      upstream_status: upstream = '',
      page_revision: revision = ''
    } = JSON.parse(line)
    // Commas and colons separate tries of several servers (ngx_http_upstream_module, $upstream_status).
    witnessed(witness, {
      method,
      uri,
      status,
      cacheStatus,
      revision,
      forwarded: upstream.split(/[,:]/).filter(Boolean).length
    })
  })
  return witness
}

/**
 * @param {string} file  compressed; a missing file has no lines
 * @param {(line: string) => void} take
 * @throws {Error} when the file is truncated, or `take` cannot read a line
 */
async function eachLine (file, take) {
  if (!existsSync(file)) return
  const text = createGunzip()
  // Reading `text` below throws the pipeline's error.
  pipeline(createReadStream(file), text, () => {})
  try {
    for await (const lines of linesOf(text)) for (const line of lines) if (line !== '') take(line)
  } catch (error) {
    throw new Error(`${path.basename(file)} cannot be read: ${/** @type {Error} */ (error).message}`)
  }
}

/**
 * @param {Tally} tally
 * @param {string} key
 */
const add = (tally, key) => { tally.set(key, (tally.get(key) ?? 0) + 1) }
