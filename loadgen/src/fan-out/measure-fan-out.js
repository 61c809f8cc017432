import path from 'node:path'
import { arrivalTimesOf } from '../../scenarios/arrivals.js'
import { pageName, requestAt } from '../../scenarios/plan.js'
import { problemsOf } from '../lab/judge.js'
import { keepMachineUse } from '../lab/machine-use.js'
import { markOf } from '../lab/matrix.js'
import { extractSamples } from '../lab/samples.js'
import { probeFacts } from '../lab/trial-facts.js'
import { delaysOf, showingsOf } from './delays.js'
import { changeOf, wholeList } from './feeds.js'
import { compareLists, problemsOfFeeds } from './judge-feeds.js'
import { openPlace } from './place.js'
import { saveWatched } from './save-watched.js'
import { writeShowings } from './showings-file.js'

/** No cache is between the client and the wiki. */
const NO_CACHE = Object.freeze({ cold: true, observed: [], origin_requests: 0 })
const ACKNOWLEDGED = [200, 201]
/** Lists that are compared with what was acknowledged. */
const JUDGED_MAX = 20

/** @typedef {import('../lab/matrix.js').PlannedTrial} PlannedTrial */
/** @typedef {Awaited<ReturnType<typeof saveWatched>>} Saved */

/**
 * What a trial of watched pages found besides its samples; trial.json has it as `fan_out` (docs/results-format.md).
 * @typedef {Saved['facts'] & ReturnType<typeof delaysOf> & {acknowledged: number, lists_judged: number,
 *   missing: number, twice: number, edit_cpu_ms: number | null, items_expected: {least: number, most: number}}}
 *   FanOutFacts
 */

/**
 * Runs the steps of a trial of watched pages: a wiki of its own with so many watchers; saves, while a few of them look;
 * what the lists show.
 * @param {import('../lab/trial.js').TrialContext} context
 * @param {PlannedTrial} trial
 * @param {string} directory
 * @param {() => {wallS: number, monotonicS: number}} elapsed
 * @returns {Promise<Awaited<ReturnType<typeof import('../lab/measure.js').measure>> & {fan_out: FanOutFacts}>}
 */
export async function measureFanOut (context, trial, directory, elapsed) {
  const { site } = context
  const { settings } = trial
  const mark = markOf(trial)
  await site.prepare(settings, mark)
  if (site.databaseUri === undefined) throw new Error('watched pages need a database of the lab\'s own')
  const place = await openPlace({ settings, trial, mark, stackUri: site.databaseUri(), directory, judged: JUDGED_MAX })
  try {
    /** @type {Map<string, number>} */
    const acknowledged = new Map()
    const read = (/** @type {import('../lab/samples.js').Source[]} */ sources) =>
      readSaves({ trial, directory, sources, acknowledged })
    const saved = await saveWatched(context, { place, trial, directory, mark, acknowledged, read })
    const lists = []
    for (const watcher of place.judged) {
      lists.push({ watcher, changes: await wholeList(place.wiki.url, place.tokenOf(watcher)) })
    }
    return judged({ site, trial, directory, saved, acknowledged, lists, elapsed })
  } finally {
    await place.close()
  }
}

/**
 * @param {object} options
 * @param {PlannedTrial} options.trial
 * @param {string} options.directory
 * @param {import('../lab/samples.js').Source[]} options.sources
 * @param {Map<string, number>} options.acknowledged  gets each change with the time of its answer, µs since 1970
 */
function readSaves ({ trial: { settings, plan: { plan } }, directory, sources, acknowledged }) {
  return extractSamples({
    sources,
    target: path.join(directory, 'samples.csv.gz'),
    plan,
    plannedMs: arrivalTimesOf(settings, plan),
    onSample ({ status, iteration, revision, doneAtUs }) {
      if (!ACKNOWLEDGED.includes(status)) return
      acknowledged.set(changeOf(pageName(requestAt(plan, iteration).page), revision), doneAtUs)
    }
  })
}

/**
 * @param {object} found
 * @param {import('../lab/site.js').Site} found.site
 * @param {PlannedTrial} found.trial
 * @param {string} found.directory
 * @param {Saved} found.saved
 * @param {Map<string, number>} found.acknowledged
 * @param {{watcher: string, changes: string[]}[]} found.lists
 * @param {() => {wallS: number, monotonicS: number}} found.elapsed
 */
function judged ({ site, trial, directory, saved, acknowledged, lists, elapsed }) {
  const { settings } = trial
  const { load, counter, warmUp, samples } = saved
  const showings = showingsOf(acknowledged, saved.seen)
  writeShowings(directory, showings)
  const compared = compareLists(acknowledged.keys(), lists)
  const each = settings.fan_out === 'on-read' ? 0 : settings.watchers
  /** @type {FanOutFacts} */
  const fanOut = {
    ...saved.facts,
    ...delaysOf(showings),
    acknowledged: acknowledged.size,
    lists_judged: lists.length,
    missing: compared.missing.length,
    twice: compared.twice.length,
    edit_cpu_ms: editCpuMs(saved.facts, acknowledged.size),
    // A save without an answer may be stored.
    items_expected: {
      least: each * acknowledged.size, most: each * (acknowledged.size + samples.requests_unanswered)
    }
  }
  const nothing = { edge: 0, origin: 0, local: 0 }
  const findings = {
    ...{ trial, stores: false, coldProof: NO_CACHE, k6: load.k6, clockDriftMs: load.clockDriftMs, samples },
    generators: load.generators.length === 0 ? undefined : load.generators,
    ...{ background: null, overlap: null, fault: null, counter, refreshes: 0, purges: null },
    ...{ logLines: nothing, logLinesExpected: nothing },
    ...elapsed()
  }
  return {
    problems: [...problemsOf(findings), ...problemsOfFeeds(compared, fanOut)],
    ...{ warm_up: warmUp, cold_proof: NO_CACHE },
    ...probeFacts(samples),
    ...{ counter, wiki_totals: null, counter_expected: null, refreshes: 0, purges: null, traces: null },
    ...{ log_lines: {}, fault: null },
    ...{ k6: load.k6, generators: load.generators, clock_skew_bound_ms: load.clockSkewBoundMs },
    ...{ background: null, overlap: null, origin_samples: load.originSamples },
    saturation: keepMachineUse({ ...load, directory, site, samples, settings }),
    fan_out: fanOut
  }
}

/**
 * @param {Saved['facts']} facts
 * @param {number} edits
 * @returns {number | null} processor time of wiki and database for an edit and what comes after it, without the looks
 */
function editCpuMs ({ wiki_cpu_s: wikiS, database_cpu_s: databaseS, looks, look_cpu_ms: lookMs }, edits) {
  if (databaseS === null || lookMs === null || edits === 0) return null
  return Math.max(0, Math.round(1000 * (1000 * (wikiS + databaseS) - looks * lookMs) / edits) / 1000)
}
