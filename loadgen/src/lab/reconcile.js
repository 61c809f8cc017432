import { createReadStream, existsSync } from 'node:fs'
import path from 'node:path'
import { pipeline } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { linkPath } from '../../scenarios/short-links.js'
import { countOf } from '../count-of.js'
import { NEVER_SENT } from './failure.js'
import { linesOf, SERVED_BY_CACHE } from './samples.js'

/** Differences named in a sentence; if the logs belong to another trial, there are thousands. */
const NAMED_MAX = 3
/** Of samples.csv.gz; older files lack `failure`. */
const SAMPLE_COLUMNS = ['page', 'method', 'status', 'failure', 'cache_status', 'revision']

/**
 * Counts observations by description, e.g. `GET /wiki/page-000001 200 HIT revision 3`.
 * @typedef {Map<string, number>} Tally
 */

/**
 * Compares what the client, the log of the door's nginx and the origin's log saw, request by request. Counts alone can
 * agree by chance: a foreign request makes up for a lost one, a false hit for a false miss. Comparing method, address,
 * status, cache status and revision of each request excludes that. Reads the kept files, so that anyone can repeat the
 * check later.
 * @param {object} options
 * @param {string} options.directory  of the trial
 * @param {import('./logs.js').LogRole | null} options.doorRole  role whose log has a line for each request through the
 *   door; null: the door's cache keeps no such log
 * @param {import('../../scenarios/short-links.js').Resource} [options.resource]  that was requested; default: pages
 * @param {import('./counter.js').Counter} options.counter
 * @returns {Promise<string[]>} the disagreements, in sentences
 */
export async function reconcile (options) {
  try {
    return await compare(options)
  } catch (error) {
    const { message } = /** @type {Error} */ (error)
    return [message]
  }
}

/** @param {Parameters<typeof reconcile>[0]} options */
async function compare ({ directory, doorRole, resource = 'page', counter }) {
  const isStored = (/** @type {string} */ role) => existsSync(path.join(directory, `${role}.log.gz`))
  if (!isStored('origin')) return []
  const client = await readSamples(directory, resource)
  const origin = await readLog(directory, 'origin')
  /** @type {string[]} */
  const problems = []
  const { reads, writes } = origin
  if (counter.reads !== reads || counter.writes !== writes) {
    problems.push(
      `the origin's log has ${countOf(reads, 'read')} and ${countOf(writes, 'write')}, but the counter says ${counter.reads} and ${counter.writes}`
    )
  }
  const door = doorRole === 'origin'
    ? origin
    : doorRole !== null && isStored(doorRole)
      ? await readLog(directory, doorRole)
      : null
  if (door !== null) {
    // A request without a response may be in the log, with any status, or missing from it.
    const [unseen, alone] = differences(client.seen, door.seen, client.unanswered, new Map())
    if (unseen.length + alone.length > 0) {
      problems.push(
        `the client and the log of its door tell different stories: ${inWords(unseen, 'only the client has')}${unseen.length > 0 && alone.length > 0 ? '; ' : ''}${inWords(alone, 'only the log has')}`
      )
    }
  }
  if (doorRole !== 'origin') {
    const forwarded = door ?? client
    // A failed request may be missing from the origin's log: it never arrived, or did not finish. A renewal behind a
    // stale copy is in the origin's log only.
    const [lost, strange] = differences(
      forwarded.forwarded,
      origin.answered,
      forwarded.failed,
      sum(forwarded.failed, forwarded.renewable)
    )
    if (lost.length + strange.length > 0) {
      problems.push(
        `what went past the cache is not what reached the origin: ${inWords(lost, 'only the former has')}${lost.length > 0 && strange.length > 0 ? '; ' : ''}${inWords(strange, 'only the latter has')}`
      )
    }
  }
  return problems
}

/**
 * @param {Tally} one
 * @param {Tally} other
 * @param {Tally} spareOne  what `other` may lack of `one`, by method and address
 * @param {Tally} spareOther  what `one` may lack of `other`
 * @returns {[[string, number][], [string, number][]]} what only `one` has, and what only `other` has
 */
function differences (one, other, spareOne, spareOther) {
  const onlyOne = excess(one, other)
  const onlyOther = excess(other, one)
  return [excuse(onlyOne, spareOne), excuse(onlyOther, sum(spareOther, spareOne))]
}

/**
 * @param {Tally} one
 * @param {Tally} other
 * @returns {[string, number][]}
 */
function excess (one, other) {
  /** @type {[string, number][]} */
  const found = []
  for (const [key, count] of one) {
    const more = count - (other.get(key) ?? 0)
    if (more > 0) found.push([key, more])
  }
  return found
}

/**
 * @param {[string, number][]} found
 * @param {Tally} spare  tolerated differences, by method and address
 * @returns {[string, number][]} the differences that `spare` does not cover
 */
function excuse (found, spare) {
  const left = new Map(spare)
  return found.flatMap(([key, count]) => {
    const address = addressOf(key)
    const excused = Math.min(count, left.get(address) ?? 0)
    left.set(address, (left.get(address) ?? 0) - excused)
    return excused < count ? [([key, count - excused])] : []
  })
}

/**
 * @param {[string, number][]} found
 * @param {string} who
 */
function inWords (found, who) {
  if (found.length === 0) return ''
  const total = found.reduce((all, [, count]) => all + count, 0)
  const named = found.slice(0, NAMED_MAX).map(([key, count]) => count === 1 ? key : `${count} × ${key}`)
  return `${who} ${total}: ${named.join(', ')}${found.length > NAMED_MAX ? ', …' : ''}`
}

/** @param {string} key */
const addressOf = (key) => key.split(' ', 2).join(' ')

/**
 * @param {Tally} tally
 * @param {string} key
 */
const add = (tally, key) => { tally.set(key, (tally.get(key) ?? 0) + 1) }

/**
 * @param {Tally} one
 * @param {Tally} other
 */
function sum (one, other) {
  const total = new Map(one)
  for (const [key, count] of other) total.set(key, (total.get(key) ?? 0) + count)
  return total
}

/**
 * The observations of one witness.
 * @typedef {object} Witness
 * @property {Tally} seen  method, address, status, cache status and revision of each request
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
 *   forwarded: number}} request
 */
function witnessed (witness, { method, uri, status, cacheStatus, revision, forwarded }) {
  const address = `${method} ${uri}`
  add(
    witness.seen,
    `${address} ${status}${cacheStatus && ` ${cacheStatus}`}${revision && ` revision ${revision}`}`
  )
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
 */
async function readSamples (directory, resource) {
  const witness = newWitness()
  const uriOf = resource === 'short-link' ? linkPath : (/** @type {string} */ _, /** @type {string} */ page) => `/wiki/${page}`
  for (const name of ['samples.csv.gz', 'background.csv.gz']) {
    /** @type {number[] | null} */
    let positions = null
    await eachLine(path.join(directory, name), (line) => {
      const cells = line.split(',')
      if (positions === null) {
        positions = SAMPLE_COLUMNS.map((name) => cells.indexOf(name))
        return
      }
      const [page, method, status, failure, cacheStatus, revision] = positions.map((position) => cells[position])
      if (failure === NEVER_SENT) return
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
async function readLog (directory, role) {
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
