import { createReadStream, existsSync, statSync } from 'node:fs'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { MongoClient } from 'mongodb'
import { waitUntil } from '@stevec/harness/processes'

/** Longer than the wiki needs to send all purges of a trial, each edit's twice, to caches that respond. */
const QUEUE_EMPTY_TIMEOUT_MS = 60_000

/**
 * The purges that the wiki sent to the edge during a trial.
 * @typedef {object} Purges
 * @property {number} calls  of the purge API
 * @property {number} failed  calls with a status of 400 or above; the wiki repeats those
 * @property {number} urls  named in the calls; each edit's URLs count twice
 * @property {number} tags
 * @property {number} hosts
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
    const queue = client.db().collection('purges')
    return await waitUntil(async () => await queue.countDocuments() === 0, QUEUE_EMPTY_TIMEOUT_MS, 50) ?? false
  } finally {
    await client.close()
  }
}

/**
 * Returns the current size of the log of the edge's control listener.
 * @param {string} stackDirectory
 * @returns {number} bytes
 */
export function purgeLogEnd (stackDirectory) {
  const file = purgeLog(stackDirectory)
  return existsSync(file) ? statSync(file).size : 0
}

/**
 * Counts the purges in the log since then, without the lab's own calls, which purge everything.
 * @param {string} stackDirectory
 * @param {number} start  bytes, from purgeLogEnd
 * @returns {Promise<Purges>}
 */
export async function purgesSince (stackDirectory, start) {
  const purges = { calls: 0, failed: 0, urls: 0, tags: 0, hosts: 0 }
  for await (const line of createInterface({ input: createReadStream(purgeLog(stackDirectory), { start }) })) {
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

/** @param {string} stackDirectory */
const purgeLog = (stackDirectory) => path.join(stackDirectory, 'edge/control.log')
