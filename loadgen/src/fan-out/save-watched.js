import { setTimeout as sleep } from 'node:timers/promises'
import { waitUntil } from '@stevec/harness/processes'
import { cpuSeconds } from '../lab/child-cpu.js'
import { readCounter } from '../lab/counter.js'
import { isMongod, watchProcessorTime } from '../lab/processor-time.js'
import { generateLoad } from '../lab/trial-load.js'
import { look, watchFeeds } from './feeds.js'
import { AUTHOR } from './people.js'
import { warmUpWatched } from './warm-up.js'

/** Of each of the watchers that look. A change is seen half of that late, on average. */
const LOOK_EVERY_MS = 100
const SHOWN_WITHIN_MS = 60_000
const DONE_WITHIN_MS = 120_000
/** The wiki's queue looks once more 5 s after each edit: not for those of the warm-up while the trial is measured. */
const QUEUE_LOOKS_MS = 5_500
/** To know what a look costs. */
const LOOKS_COSTED = 100

/** @typedef {import('./place.js').Place} Place */
/** @typedef {import('../lab/samples.js').Source} Source */

/**
 * @typedef {object} WatchedTrial
 * @property {Place} place
 * @property {import('../lab/matrix.js').PlannedTrial} trial
 * @property {string} directory
 * @property {string} mark
 * @property {Map<string, number>} acknowledged
 * @property {(sources: Source[]) => Promise<import('../lab/samples.js').Counts>} read  fills `acknowledged`
 */

/**
 * Saves watched pages as planned while a few watchers look at their lists, until these show all and the queue is empty.
 * @param {import('../lab/trial.js').TrialContext} context
 * @param {WatchedTrial} options
 */
export async function saveWatched (context, { place, trial, directory, mark, acknowledged, read }) {
  const { settings, plan: { plan } } = trial
  const { wiki, db, tokenOf, looking } = place
  const warmUp = await warmUpWatched(place, context.signal)
  await sleep(QUEUE_LOOKS_MS, undefined, { signal: context.signal })
  await untilDone(db)
  const [before, site] = [await itemsIn(db), { ...context.site }]
  site.processes = () => [...context.site.processes(), wiki.watched]
  await readCounter(wiki.url)
  const cpuSince = watchCpu(context.site, wiki)
  const watchers = looking.map((name) => ({ name, token: tokenOf(name) }))
  const feeds = watchFeeds({ url: wiki.url, watchers, everyMs: LOOK_EVERY_MS })
  try {
    const load = await generateLoad({
      ...context,
      site,
      settings,
      probeSettings: {
        ...{ ...settings, url: wiki.url, plan, mark, picture_markdown: null, until_url: null },
        headers: { Authorization: `Bearer ${tokenOf(AUTHOR)}` }
      },
      logStarts: { edge: 0, origin: 0, local: 0 },
      directory
    })
    const samples = await read(load.sources)
    await waitUntil(() => showAll(feeds.seen, acknowledged), SHOWN_WITHIN_MS)
    const done = await untilDone(db)
    await feeds.stop()
    const used = cpuSince()
    const { looks, failed } = feeds.counts
    const { requests, reads, writes } = await readCounter(wiki.url)
    return {
      ...{ load, samples, warmUp, seen: feeds.seen },
      // The looks went to the same wiki.
      counter: { requests: requests - looks, reads: reads - looks, writes },
      facts: {
        ...used,
        ...done,
        looks,
        looks_failed: failed,
        look_cpu_ms: await costOfLook(context.site, place),
        items_written: await itemsIn(db) - before
      }
    }
  } finally {
    await feeds.stop()
  }
}

/** @param {import('./feeds.js').Feeds['seen']} seen @param {Map<string, number>} acknowledged */
const showAll = (seen, acknowledged) => seen.every(({ at }) => [...acknowledged.keys()].every((key) => at.has(key)))

/** @param {import('mongodb').Db} db */
const itemsIn = (db) => db.collection('feed_items').countDocuments()

/**
 * Waits until the queue of what edits leave to do is empty, but for what it gave up.
 * @param {import('mongodb').Db} db
 */
async function untilDone (db) {
  const queue = db.collection('queue')
  const waiting = { set_aside_at: { $exists: false }, kind: { $ne: 'purge' } }
  const isEmpty = async () => await queue.countDocuments(waiting) === 0
  return {
    is_done: Boolean(await waitUntil(isEmpty, DONE_WITHIN_MS)),
    set_aside: await queue.countDocuments({ set_aside_at: { $exists: true } })
  }
}

/**
 * @param {import('../lab/site.js').Site} site
 * @param {Place['wiki']} wiki
 * @returns {() => {wiki_cpu_s: number, database_cpu_s: number | null}} used since then
 */
function watchCpu (site, wiki) {
  const databaseCpuS = watchProcessorTime(site, isMongod)
  const beforeS = cpuSeconds(wiki.pid)
  return () => ({
    wiki_cpu_s: Math.round(1000 * (cpuSeconds(wiki.pid) - beforeS)) / 1000, database_cpu_s: databaseCpuS()
  })
}

/**
 * @param {import('../lab/site.js').Site} site
 * @param {Place} place
 * @returns {Promise<number | null>} processor time of wiki and database for a look, milliseconds
 */
async function costOfLook (site, { wiki, looking, tokenOf }) {
  const cpuSince = watchCpu(site, wiki)
  for (let count = 0; count < LOOKS_COSTED; count++) await look(wiki.url, tokenOf(looking[count % looking.length]))
  const { wiki_cpu_s: wikiS, database_cpu_s: databaseS } = cpuSince()
  return databaseS === null ? null : Math.round(1000 * 1000 * (wikiS + databaseS) / LOOKS_COSTED) / 1000
}
