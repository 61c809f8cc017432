import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { MongoClient } from 'mongodb'
import { createRandom } from '@stevec/harness/random'
import { waitUntil } from '@stevec/harness/processes'
import { createClient } from './client.js'
import { createEditors } from './editors.js'
import { holds, judge } from './oracle.js'
import { createTestbed } from './testbed.js'
import { differingWords } from './words.js'

const EDITORS = 16
const READERS = 4
const TRIAL_MAX_MS = 300_000
/** Kills hit any moment of an edit, which takes some milliseconds. */
const MOMENT_MAX_MS = 25
const BETWEEN_MAX_MS = 5
/** A killed process's claim lasts a minute. */
const COUNTED_MAX_MS = 300_000

export const VICTIMS = /** @type {const} */ (['wiki', 'mongod', 'both'])
/** In a wiki of several processes, one may die alone. */
export const WORKERS_VICTIMS = /** @type {const} */ ([...VICTIMS, 'worker'])

/**
 * @typedef {object} Trial
 * @property {typeof WORKERS_VICTIMS[number]} killed
 * @property {number} acknowledged  edits in this trial
 * @property {number} killed_after  acknowledged edits in this trial before the kill
 * @property {number} unknown  edits whose outcome the client does not know
 * @property {boolean} held  whether, at its end, every promise about all edits so far was kept
 * @property {number} back_after_ms  from the kill to the next acknowledged edit, restart included
 */

/**
 * Kills the wiki, its database, or both with SIGKILL at random moments while people edit, and restarts them. Checks
 * after each trial whether every promise about edits was kept, and at the end whether search finds what is stored.
 * @param {object} options
 * @param {number} options.trials  at least one
 * @param {number} options.edits  the least number of acknowledged edits in all trials together
 * @param {number} options.seed
 * @param {number} [options.workers]  processes of the wiki; of several, one is killed alone in every fourth trial
 * @param {string} [options.strategy]  WRITE_STRATEGY of the wiki
 * @param {AbortSignal} [options.signal]  ends it early; all processes that it started are stopped
 * @param {(trial: Trial, number: number) => void} [options.onTrial]
 * @returns {Promise<{
 *   trials: Trial[],
 *   edits: number,
 *   acknowledged: number,
 *   unknown: number,
 *   reads: number,
 *   unexpected: string[],
 *   findings: import('./oracle.js').Findings,
 *   words: string[]
 * }>} `words`: where the index of words differs from one that is built from scratch
 * @throws {Error} when something does not come back in time
 */
export async function torture (options) {
  const { trials: count, edits: wanted, seed, workers = 1, strategy = 'sync', signal, onTrial = () => {} } = options
  const { testbed, words, remove } = await createPlace({ WORKERS: String(workers), WRITE_STRATEGY: strategy })
  const victims = workers > 1 ? WORKERS_VICTIMS : VICTIMS
  const client = createClient(testbed.url, EDITORS + READERS)
  const editors = createEditors({ client, seed, editors: EDITORS, readers: READERS })
  const random = createRandom(seed + 1)
  /** @type {Trial[]} */
  const trials = []
  try {
    await testbed.start()
    for (let number = 0; number < count; number++) {
      const before = editors.acknowledged()
      const target = Math.ceil(wanted * (number + 1) / count)
      const killAt = before + Math.max(1, Math.round((target - before) * (0.1 + 0.8 * random())))
      const killed = victims[number % victims.length]
      editors.start()
      await reach(killAt)
      await delay(MOMENT_MAX_MS * random())
      const [killedAt, killedAfter] = [performance.now(), editors.acknowledged()]
      await kill(testbed, killed, random(), BETWEEN_MAX_MS * random())
      await startAgain(testbed, killed)
      await reach(editors.acknowledged() + 1)
      const backAt = performance.now()
      await reach(target)
      await editors.stop()
      const held = holds(judge(editors.edits, editors.reads, await stored(testbed.uri)))
      trials.push({
        killed,
        acknowledged: editors.acknowledged() - before,
        killed_after: killedAfter - before,
        unknown: editors.edits.filter(({ outcome }) => outcome === 'unknown').length - sum(trials, 'unknown'),
        back_after_ms: Math.round(backAt - killedAt),
        held
      })
      onTrial(trials[number], number + 1)
    }
    return {
      trials,
      edits: editors.edits.length,
      acknowledged: editors.acknowledged(),
      unknown: sum(trials, 'unknown'),
      reads: editors.reads.length,
      unexpected: [...editors.unexpected, ...testbed.mistakes()],
      findings: judge(editors.edits, editors.reads, await countedAtLast(testbed.uri)),
      words: await differingWords(testbed.uri, words)
    }
  } finally {
    await editors.stop()
    client.close()
    await remove()
  }

  /** @param {number} acknowledged */
  async function reach (acknowledged) {
    const reached = await waitUntil(() => signal?.aborted || editors.acknowledged() >= acknowledged, TRIAL_MAX_MS, 1)
    signal?.throwIfAborted()
    if (reached) return
    throw new Error(`only ${editors.acknowledged()} of ${acknowledged} edits were acknowledged within ${TRIAL_MAX_MS / 1000} s; the end of the wiki's log:\n${testbed.log()}`)
  }
}

/** @param {Record<string, string>} settings  of a wiki that keeps its index of words in `words` */
async function createPlace (settings) {
  const words = mkdtempSync(path.join(tmpdir(), 'stevec-torture-'))
  const testbed = await createTestbed({ settings: { ...settings, SEARCH_DIRECTORY: words } })
  const remove = async () => {
    await testbed.remove()
    rmSync(words, { recursive: true, force: true })
  }
  return { testbed, words, remove }
}

/**
 * @param {import('./testbed.js').Testbed} testbed
 * @param {Trial['killed']} victim
 * @param {number} chance  from 0 to 1: which worker, or which of both first
 * @param {number} betweenMs
 */
async function kill (testbed, victim, chance, betweenMs) {
  const [wiki, mongod] = [() => testbed.killWiki(), () => testbed.killMongod()]
  if (victim === 'wiki') return wiki()
  if (victim === 'mongod') return mongod()
  if (victim === 'worker') return testbed.killWorker(chance)
  const [first, second] = chance < 0.5 ? [wiki, mongod] : [mongod, wiki]
  await Promise.all([first(), delay(betweenMs).then(second)])
}

/** @param {import('./testbed.js').Testbed} testbed @param {Trial['killed']} victim */
const startAgain = (testbed, victim) => Promise.all([
  (victim === 'mongod' || victim === 'both') && testbed.startDatabase(),
  (victim === 'wiki' || victim === 'both') && testbed.startWiki()
])

/**
 * What a killed process was counting waits for the end of its claim.
 * @param {string} uri @returns {Promise<import('./oracle.js').Stored>} once nothing is left to count
 */
async function countedAtLast (uri) {
  let last = await stored(uri)
  const isCounted = await waitUntil(async () => {
    last = await stored(uri)
    return last.queue?.length === 0
  }, COUNTED_MAX_MS, 500)
  if (!isCounted) {
    throw new Error(`${last.queue?.length} edits are not counted ${COUNTED_MAX_MS / 1000} s after the last one`)
  }
  return last
}

/**
 * Reads a snapshot of all that `judge` checks.
 * @param {string} uri
 * @returns {Promise<import('./oracle.js').Stored>}
 */
export async function stored (uri) {
  const client = new MongoClient(uri)
  const session = client.startSession({ snapshot: true })
  const all = (/** @type {string} */ name) => /** @type {Promise<any>} */ (
    client.db().collection(name).find({}, { session }).project({ html: 0 }).toArray()
  )
  try {
    return {
      revisions: await all('revisions'),
      pages: await all('pages'),
      targets: await all('targets'),
      tags: await all('tags'),
      queue: await all('queue')
    }
  } finally {
    await session.endSession()
    await client.close()
  }
}

/**
 * @param {Trial[]} trials
 * @param {'unknown'} key
 */
const sum = (trials, key) => trials.reduce((total, trial) => total + trial[key], 0)
