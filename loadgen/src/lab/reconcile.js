import { existsSync } from 'node:fs'
import path from 'node:path'
import { countOf } from '../count-of.js'
import { EDGE_NAMES, edgePlace } from '../stack/edge-names.js'
import { readLog, readSamples } from './witness.js'

/** @import {Tally, Witness} from './witness.js' */

/** Differences named in a sentence; if the logs belong to another trial, there are thousands. */
const NAMED_MAX = 3
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
 * @param {boolean} [options.editsApart]  whether edits went to the origin past the door
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
async function compare ({ directory, doorRole, resource = 'page', editsApart = false, counter }) {
  const isStored = (/** @type {string} */ role) => existsSync(path.join(directory, `${role}.log.gz`))
  if (!isStored('origin')) return []
  const isRead = (/** @type {string} */ method) => method === 'GET'
  const client = await readSamples(directory, resource, editsApart ? isRead : undefined)
  const edits = editsApart ? await readSamples(directory, resource, (method) => !isRead(method)) : null
  const origin = await readLog(directory, 'origin')
  /** @type {string[]} */
  const problems = []
  const { reads, writes } = origin
  if (counter.reads !== reads || counter.writes !== writes) {
    problems.push(
      `the origin's log has ${countOf(reads, 'read')} and ${countOf(writes, 'write')}, but the counter says ${counter.reads} and ${counter.writes}`
    )
  }
  const edges = EDGE_NAMES.filter(isStored)
  const isPlaced = doorRole === 'edge' && edges.length > 1
  const logs = doorRole === 'origin'
    ? [{ witness: origin, seen: client.seen, name: 'its door' }]
    : await Promise.all((isPlaced ? edges : [doorRole].flatMap((role) => role ?? [])).filter(isStored)
      .map(async (role, index) => ({
        witness: await readLog(directory, role),
        seen: isPlaced ? client.seenAt.get(edgePlace(index)) ?? new Map() : client.seen,
        name: isPlaced ? role : 'its door'
      })))
  for (const { witness, seen, name } of logs) {
    // A request without a response may be in the log, with any status, or missing from it.
    const [unseen, alone] = differences(seen, witness.seen, client.unanswered, new Map())
    const found = [inWords(unseen, 'only the client has'), inWords(alone, 'only the log has')].filter(Boolean)
    if (found.length > 0) problems.push(`the client and the log of ${name} differ: ${found.join('; ')}`)
  }
  if (isPlaced) problems.push(...placelessOf(client, edges.length))
  if (doorRole !== 'origin') {
    const passed = logs.length === 0 ? [client] : logs.map(({ witness }) => witness)
    const forwarded = together(edits === null ? passed : [...passed, edits])
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
 * @param {Witness} client
 * @param {number} edges
 * @returns {string[]} a sentence if a response names no edge, or none of these
 */
function placelessOf ({ seenAt }, edges) {
  const places = Array.from({ length: edges }, (_, index) => edgePlace(index))
  const strange = [...seenAt].filter(([place]) => !places.includes(place)).flatMap(([, seen]) => [...seen])
  if (strange.length === 0) return []
  return [`responses that none of ${edges} edges gave: ${inWords(strange, 'the client has')}`]
}

/**
 * @param {Witness[]} each  of one edge
 * @returns {Pick<Witness, 'forwarded' | 'failed' | 'renewable'>} of all
 */
function together (each) {
  const of = (/** @type {'forwarded' | 'failed' | 'renewable'} */ name) =>
    each.reduce((total, witness) => sum(total, witness[name]), /** @type {Tally} */ (new Map()))
  return { forwarded: of('forwarded'), failed: of('failed'), renewable: of('renewable') }
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
 * @param {Tally} one
 * @param {Tally} other
 */
function sum (one, other) {
  const total = new Map(one)
  for (const [key, count] of other) total.set(key, (total.get(key) ?? 0) + count)
  return total
}
