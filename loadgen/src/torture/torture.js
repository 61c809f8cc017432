import { setTimeout as delay } from 'node:timers/promises'
import { MongoClient } from 'mongodb'
import { waitUntil } from '@stevec/harness/processes'
import { createEditors } from '@stevec/wiki-app/torture/editors'
import { judge } from '@stevec/wiki-app/torture/oracle'
import { stored } from '@stevec/wiki-app/torture/torture'
import { startCluster } from './cluster.js'
import { aim, planFaults } from './faults.js'
import { createTraffic } from './traffic.js'

const EDITORS = 8
const READERS = 2
/** Of anything that has to come back, on a machine with much else to do. */
const BACK_MAX_MS = 180_000

/**
 * @typedef {object} Outcome  of one fault
 * @property {string} target
 * @property {import('./faults.js').Kind} kind
 * @property {string} name  what was hit
 * @property {boolean} alone  whether no second fault hit another service at once
 * @property {number} lasts_ms  as planned
 * @property {number} accepted_after_ms  from the begin of its injection to the first acknowledgement of an edit that
 *   was sent after the injection's end
 * @property {number} gap_ms  longest time without an acknowledged edit, from the begin of its injection until it was
 *   healed
 */

/**
 * Kills, holds up and cuts off the parts of a cluster while people edit, and compares what was acknowledged with what
 * is stored at the end.
 * @param {object} options
 * @param {number} options.faults
 * @param {number} options.seed
 * @param {AbortSignal} [options.signal]  ends it early; all that it started is stopped
 * @param {(outcome: Outcome, number: number) => void} [options.onFault]
 * @throws {Error} when something does not come back in time
 */
export async function tortureCluster ({ faults: count, seed, signal, onFault = () => {} }) {
  const cluster = await startCluster()
  const traffic = createTraffic(cluster, EDITORS + READERS)
  const editors = createEditors({ client: traffic.client, seed, editors: EDITORS, readers: READERS })
  /** @type {Outcome[]} */
  const outcomes = []
  try {
    editors.start()
    traffic.read()
    await until('edits are acknowledged', () => editors.acknowledged() >= 50)
    for (const step of planFaults({ count, seed })) {
      await until('the database is whole', () => cluster.set.isWhole(), 100)
      await delay(step.after_ms)
      const alone = step.faults.length === 1
      for (const suffered of await allEnded(step.faults.map((fault) => suffer(cluster, traffic, fault, until)))) {
        const outcome = { ...suffered, alone }
        outcomes.push(outcome)
        onFault(outcome, outcomes.length)
      }
    }
    await until('the database is whole', () => cluster.set.isWhole(), 100)
    await editors.stop()
    await traffic.stop()
    await until('all purges are done', () => isPurged(cluster.set.uri), 200)
    return {
      outcomes,
      edits: editors.edits.length,
      acknowledged: editors.acknowledged(),
      unknown: editors.edits.filter(({ outcome }) => outcome === 'unknown').length,
      reads: editors.reads.length,
      findings: judge(editors.edits, editors.reads, await stored(cluster.set.uri)),
      stale_at_the_edge: await traffic.staleAtTheEdge(),
      unexpected: [...editors.unexpected, ...cluster.mistakes()]
    }
  } finally {
    await editors.stop()
    await traffic.stop()
    traffic.close()
    await cluster.remove()
  }

  /** @param {string} what @param {() => boolean | Promise<boolean>} condition @param {number} [intervalMs] */
  async function until (what, condition, intervalMs) {
    const met = await waitUntil(() => signal?.aborted || condition(), BACK_MAX_MS, intervalMs)
    signal?.throwIfAborted()
    if (!met) throw new Error(`timed out after ${BACK_MAX_MS / 1000} s of waiting until ${what}`)
  }
}

/**
 * Waits for all, also when one fails: until the others have healed, they start parts of the cluster.
 * @template T @param {Promise<T>[]} promises @returns {Promise<T[]>}
 * @throws {unknown} the first one's reason
 */
async function allEnded (promises) {
  await Promise.allSettled(promises)
  return Promise.all(promises)
}

/**
 * @param {import('./cluster.js').Cluster} cluster
 * @param {ReturnType<typeof createTraffic>} traffic
 * @param {import('./faults.js').Fault} fault
 * @param {(what: string, condition: () => boolean) => Promise<void>} until
 * @returns {Promise<Omit<Outcome, 'alone'>>}
 */
async function suffer (cluster, traffic, fault, until) {
  const { target, kind, lasts_ms: lastsMs } = fault
  const { name, inject, heal } = await aim(cluster, fault)
  const startedMs = performance.now()
  await inject()
  const injectedMs = performance.now()
  await delay(startedMs + lastsMs - performance.now())
  await heal()
  const endedMs = performance.now()
  await until(`edits are acknowledged after ${kind} of ${name}`, () =>
    traffic.acceptedAfterMs(startedMs, injectedMs) !== null && traffic.hasAcknowledgedSince(endedMs))
  return {
    target,
    kind,
    name,
    lasts_ms: lastsMs,
    accepted_after_ms: Math.round(Number(traffic.acceptedAfterMs(startedMs, injectedMs))),
    gap_ms: Math.round(traffic.gapMs(startedMs, endedMs))
  }
}

/** @param {string} uri */
async function isPurged (uri) {
  const client = new MongoClient(uri)
  try {
    return await client.db().collection('queue').countDocuments({ kind: 'purge' }) === 0
  } finally {
    await client.close()
  }
}
