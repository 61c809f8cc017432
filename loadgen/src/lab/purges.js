import { createReadStream, existsSync, statSync } from 'node:fs'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { MongoClient } from 'mongodb'
import { waitUntil } from '@stevec/harness/processes'
import { EDGE_NAMES } from '../stack/edge-names.js'

/** Longer than the wiki needs to send all purges of a trial, each edit's twice, to caches that respond. */
const QUEUE_EMPTY_TIMEOUT_MS = 60_000

/**
 * The purges that the wiki sent to the edges during a trial.
 * @typedef {object} Purges
 * @property {number} calls  of the purge API
 * @property {number} failed  calls with a status of 400 or above; the wiki repeats those
 * @property {number} urls  named in the calls; each edit's URLs count twice
 * @property {number} tags
 * @property {number} hosts
 * @property {Record<string, number>} [confirmed]  calls that succeeded, by edge, if there are several
 */

/**
 * A trial's `purges` (docs/results-format.md). `told`: whether the wiki's queue of purges became empty in time.
 * @typedef {Purges & {told: boolean}} TrialPurges
 */

/**
 * Waits until the wiki has sent every edit's purges twice, so that nothing of one trial reaches into the next.
 * @param {string} mongodbUri  of the wiki's database, which has its queue of purges
 * @returns {Promise<boolean>} whether the queue became empty within a minute
 */
export async function waitUntilPurged (mongodbUri) {
  const client = new MongoClient(mongodbUri, { serverSelectionTimeoutMS: QUEUE_EMPTY_TIMEOUT_MS })
  try {
    const purges = () => client.db().collection('queue').countDocuments({ kind: 'purge' })
    return await waitUntil(async () => await purges() === 0, QUEUE_EMPTY_TIMEOUT_MS, 50) ?? false
  } finally {
    await client.close()
  }
}

/**
 * Returns the current sizes of the logs of the edges' control listeners.
 * @param {string} stackDirectory
 * @returns {Record<string, number>} bytes, by edge
 */
export const purgeLogEnds = (stackDirectory) => Object.fromEntries(EDGE_NAMES
  .filter((name) => existsSync(path.join(stackDirectory, name)))
  .map((name) => {
    const file = purgeLog(stackDirectory, name)
    return [name, existsSync(file) ? statSync(file).size : 0]
  }))

/**
 * Counts the purges in the logs since then, without the lab's own calls, which purge everything.
 * @param {string} stackDirectory
 * @param {Record<string, number>} starts  bytes, from purgeLogEnds
 * @returns {Promise<Purges>} at all edges
 */
export async function purgesSince (stackDirectory, starts) {
  const total = { calls: 0, failed: 0, urls: 0, tags: 0, hosts: 0 }
  /** @type {Record<string, number>} */
  const confirmed = {}
  for (const [name, start] of Object.entries(starts)) {
    const { calls, failed, ...named } = await readPurges(purgeLog(stackDirectory, name), start)
    total.calls += calls
    total.failed += failed
    total.urls += named.urls
    total.tags += named.tags
    total.hosts += named.hosts
    confirmed[name] = calls - failed
  }
  return Object.keys(confirmed).length === 1 ? total : { ...total, confirmed }
}

/**
 * @param {string} file
 * @param {number} start  bytes
 * @returns {Promise<Omit<Purges, 'confirmed'>>}
 */
async function readPurges (file, start) {
  const purges = { calls: 0, failed: 0, urls: 0, tags: 0, hosts: 0 }
  for await (const line of createInterface({ input: createReadStream(file, { start }) })) {
    const { kind, items, status } = JSON.parse(line)
    if (kind === 'everything') continue
    purges.calls += 1
    if (status >= 400) purges.failed += 1
    else if (kind === 'files') purges.urls += items
    else if (kind === 'tags') purges.tags += items
    else if (kind === 'hosts') purges.hosts += items
  }
  return purges
}

/**
 * @param {string} stackDirectory
 * @param {string} edge
 */
const purgeLog = (stackDirectory, edge) => path.join(stackDirectory, edge, 'control.log')
