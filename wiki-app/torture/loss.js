import { setTimeout as delay } from 'node:timers/promises'
import { MongoClient } from 'mongodb'
import { createRandom } from '@stevec/harness/random'
import { isAlive, waitUntil } from '@stevec/harness/processes'
import { WRITE_BEHIND } from '../src/deferred/strategy-names.js'
import { createClient } from './client.js'
import { createLossRedis } from './loss-redis.js'
import { createTestbed } from './testbed.js'

/** As many pages as a small wiki has. */
const PAGES = 500
const WORDS = 'the wiki keeps the texts of its authors and shows them to each reader'.split(' ')
const TEXT_WORDS = 200
/** A trial ends at a random moment after its first acknowledged saves, when the wiki knows its pace. */
const [FIRST_ACKNOWLEDGED, MOMENT_MIN_MS, MOMENT_MAX_MS] = [50, 4_000, 8_000]
const WAIT_MAX_MS = 120_000
/** A commit that was sent before the kill may still be made. */
const SETTLE_MS = 1_000
/** While a part is away. */
const PAUSE_MS = 20

/** The death of the Redis in which saves wait: its replica takes over, which was cut off in the last second, or not. */
export const FAILOVERS = /** @type {const} */ (['FAILOVER', 'FAILOVER-LATE'])
/** What ends a trial: a signal to the wiki, or a failover. */
export const ENDINGS = /** @type {const} */ (['SIGTERM', 'SIGKILL', ...FAILOVERS])
const CUT_OFF_MS = 1_000

/**
 * @typedef {object} Trial
 * @property {number} acknowledged  saves that the wiki answered with 2xx
 * @property {number} lost  of these, neither stored nor shown as failed
 * @property {number} doubled  of these, stored twice
 * @property {number} refused  503
 */

/**
 * Counts what a wiki has acknowledged and does not have after an end under load.
 * @param {object} options
 * @param {string} options.strategy  WRITE_STRATEGY
 * @param {(typeof ENDINGS)[number]} options.ending
 * @param {number} options.trials
 * @param {number} options.seed
 * @param {number} [options.writers]  at once
 * @param {number} [options.workers]  processes of the wiki
 * @param {[number, number]} [options.momentMs]  the least and the most time of load before the end
 * @param {AbortSignal} [options.signal]  ends it early
 * @param {(trial: Trial, number: number) => void} [options.onTrial]
 * @returns {Promise<{trials: Trial[]}>}
 */
export async function measureLoss ({
  strategy, ending, trials: count, seed, writers = 16, workers = 1, momentMs = [MOMENT_MIN_MS, MOMENT_MAX_MS], signal,
  onTrial = () => {}
}) {
  const failsOver = FAILOVERS.some((each) => each === ending)
  const redis = strategy === WRITE_BEHIND ? createLossRedis({ replicated: failsOver }) : null
  if (failsOver && redis === null) throw new Error(`${strategy} keeps nothing in Redis`)
  /** @type {Record<string, string>} */
  const settings = { WRITE_STRATEGY: strategy, WORKERS: String(workers) }
  const testbed = await createTestbed({ settings })
  const random = createRandom(seed)
  /** @type {Trial[]} */
  const trials = []
  try {
    await testbed.startDatabase()
    for (let number = 1; number <= count && !signal?.aborted; number++) {
      if (redis !== null) settings.REDIS_URL = await redis.start()
      await testbed.startWiki(0, '/readyz')
      const load = createLoad({ url: testbed.url, writers, random })
      try {
        await untilAcknowledged(FIRST_ACKNOWLEDGED)
        await delay(momentMs[0] + (momentMs[1] - momentMs[0]) * random())
        if (ending === 'SIGTERM') await testbed.stopWiki(0)
        else if (ending === 'SIGKILL') await testbed.killWiki()
        else {
          if (ending === 'FAILOVER-LATE') {
            await redis?.cutReplica()
            await delay(CUT_OFF_MS)
          }
          await redis?.killMaster()
          await untilAcknowledged(load.acknowledged.length + FIRST_ACKNOWLEDGED)
        }
      } finally {
        await load.stop()
      }
      await delay(SETTLE_MS)
      if (redis !== null) await storeRest(testbed, redis)
      const trial = { ...await judge(testbed.uri, load.acknowledged), refused: load.refused() }
      trials.push(trial)
      onTrial(trial, number)

      /** @param {number} count */
      async function untilAcknowledged (count) {
        if (await waitUntil(() => load.acknowledged.length >= count, WAIT_MAX_MS, 5)) return
        throw new Error(`only ${load.acknowledged.length} saves were acknowledged:\n${testbed.log()}`)
      }
    }
    signal?.throwIfAborted()
    return { trials }
  } finally {
    await testbed.remove()
    await redis?.stop()
  }
}

/**
 * What waits in Redis is not lost: a wiki that starts again stores it.
 * @param {import('./testbed.js').Testbed} testbed @param {import('./loss-redis.js').LossRedis} redis
 */
async function storeRest (testbed, redis) {
  const wiki = testbed.wiki()
  if (wiki === undefined || !isAlive(wiki)) await testbed.startWiki(0, '/readyz')
  if (!await waitUntil(async () => await redis.waiting() === 0, WAIT_MAX_MS)) {
    throw new Error(`saves still wait in Redis:\n${testbed.log()}`)
  }
  await testbed.stopWiki(0)
}

/**
 * `id`: of a save that is answered before it is stored; of others, `revision` is the answer.
 * @typedef {{name: string, id?: string, revision: number | null}} Acknowledged
 */

/** @param {{url: string, writers: number, random: () => number}} options */
function createLoad ({ url, writers, random }) {
  const client = createClient(url, writers)
  /** @type {Acknowledged[]} */
  const acknowledged = []
  let refused = 0
  const stopping = new AbortController()
  const pick = (/** @type {number} */ below) => Math.floor(random() * below)

  async function write () {
    const name = `page ${pick(PAGES)}`
    const content = Array.from({ length: TEXT_WORDS }, () => WORDS[pick(WORDS.length)]).join(' ')
    const { status, body } = await client.ask('PUT', `/api/v1/pages/${encodeURIComponent(name)}`, { json: { content } })
    if (status >= 200 && status < 300) {
      const { id, revision } = JSON.parse(body)
      acknowledged.push({ name, id, revision })
      return
    }
    refused++
    await delay(PAUSE_MS)
  }

  const loops = Array.from({ length: writers }, async () => {
    while (!stopping.signal.aborted) await write().catch(() => delay(PAUSE_MS))
  })

  return {
    acknowledged,
    refused: () => refused,
    async stop () {
      stopping.abort()
      await Promise.all(loops)
      client.close()
    }
  }
}

/** @param {string} uri @param {Acknowledged[]} acknowledged */
async function judge (uri, acknowledged) {
  const client = await MongoClient.connect(uri)
  try {
    const db = client.db()
    /** @type {Map<string, number>} */
    const stored = new Map()
    const keysOf = (/** @type {any} */ { page, revision, save_id: id }) => [`${page} ${revision}`, ...id ? [id] : []]
    const fields = { page: 1, revision: 1, save_id: 1 }
    for await (const each of db.collection('revisions').find({}, { projection: fields })) {
      for (const key of keysOf(each)) stored.set(key, (stored.get(key) ?? 0) + 1)
    }
    const failed = new Set(await db.collection('failed_saves').distinct('_id').then((ids) => ids.map(String)))
    const times = acknowledged.map(({ name, id, revision }) =>
      id !== undefined && failed.has(id) ? 1 : stored.get(id ?? `${name} ${revision}`) ?? 0)
    return {
      acknowledged: acknowledged.length,
      lost: times.filter((count) => count === 0).length,
      doubled: times.filter((count) => count > 1).length
    }
  } finally {
    await client.close()
  }
}
