import { problemsOfSaves } from '../saves/judge-saves.js'
import { watchSaves } from '../saves/measure-saves.js'
import { edgePlace } from '../stack/edge-names.js'
import { crawlFacts, limitedBySweep } from './crawl.js'
import { expectedCounter, problemsOf } from './judge.js'
import { keepMachineUse } from './machine-use.js'
import { markOf } from './matrix.js'
import { hasCrawlers } from './settings.js'
import { storesPages } from './storing.js'
import { backgroundFacts, probeFacts } from './trial-facts.js'
import { generateLoad } from './trial-load.js'
import { readSamples } from './trial-samples.js'
import { totalsBetween } from './wiki-totals.js'

/**
 * Runs the steps of a trial: pages and profile, cold caches, load, samples, counts, verdict.
 * @param {import('./trial.js').TrialContext} context
 * @param {import('./matrix.js').PlannedTrial} trial
 * @param {string} directory
 * @param {() => {wallS: number, monotonicS: number}} elapsed
 */
export async function measure (context, trial, directory, elapsed) {
  const { site, signal } = context
  const { settings, plan: { plan } } = trial
  const mark = markOf(trial)
  const { doors, warmUp, pictureMarkdown = null } = await site.prepare(settings, mark)
  const door = doors[settings.door]
  const { coldProof, logStarts } = await proveCold(site, settings)
  const totalsSince = await watchTotals(site)

  const purgesSince = site.watchPurges(settings)
  const tracesSince = site.watchTraces?.(settings)
  const urls = urlsOf(doors, settings)
  const probeSettings = { ...settings, ...urls, plan, mark, picture_markdown: pictureMarkdown, until_url: null }
  const saves = await watchSaves(context, settings, mark)
  const load = await generateLoad({ ...context, settings, probeSettings, logStarts, directory })
  signal.throwIfAborted()
  // What is stored now is purged afterwards.
  const settled = await saves?.settle()
  const purges = await purgesSince()
  const traces = await tracesSince?.() ?? null

  const samples = await readSamples({
    load, settings, plan, mark, withPop: site.hasPops(settings), directory, onSample: saves?.onSample
  })
  const counts = await settleCounts(site, settings, samples, logStarts)
  // With crawlers they count what people did not ask for.
  const wikiTotals = hasCrawlers(settings) ? null : await totalsSince()
  const crawl = await readSweep(site, load.crawl, logStarts)
  await site.logs.keep(logStarts, directory, hasCrawlers(settings))
  const records = settled === undefined || samples.probe === null
    ? undefined
    : await saves?.compare(settled, samples.probe)
  // A killed nginx logs nothing of the requests that it had in flight.
  const comparable = samples.unreadable.length === 0 && load.fault?.kind !== 'origin-down'
  const disagreements = comparable ? await site.logs.reconcile(directory, settings, counts.counter) : []

  const findings = {
    trial,
    stores: storesPages(door, settings),
    severalCaches: door.several_caches === true,
    coldProof,
    k6: load.k6,
    generators: load.generators,
    clockDriftMs: load.clockDriftMs,
    samples: samples.probe,
    background: load.background === null ? null : { k6: load.background.k6, samples: samples.background },
    overlap: samples.overlap,
    fault: load.fault === null ? null : { ...load.fault, cut_off: samples.cutOff },
    ...{ ...counts, wikiTotals, purges, traces },
    ...elapsed()
  }
  return {
    problems: [
      ...problemsOf(findings),
      ...records === undefined || samples.probe === null ? [] : problemsOfSaves(settings, samples.probe, records),
      ...disagreements,
      ...samples.unreadable,
      ...problemsOfCrawl(load.crawl?.k6)
    ],
    warm_up: warmUp,
    ...factsOf(findings, { load, samples, vus: settings.background_vus }),
    ...records === undefined ? {} : { records },
    ...crawl === undefined ? {} : { crawl },
    saturation: limitedBySweep(keepMachineUse({ ...load, directory, site, samples: samples.probe, settings }), crawl)
  }
}

/**
 * @param {import('./judge.js').Findings} findings
 * @param {object} measured
 * @param {import('./trial-load.js').TrialLoad} measured.load
 * @param {import('./trial-samples.js').TrialSamples} measured.samples
 * @param {number} measured.vus  of the background
 */
const factsOf = (findings, { load, samples, vus }) => ({
  cold_proof: findings.coldProof,
  ...probeFacts(samples.probe),
  counter: findings.counter,
  wiki_totals: findings.wikiTotals ?? null,
  counter_expected: expectedCounter(findings),
  refreshes: findings.refreshes,
  purges: findings.purges,
  traces: findings.traces ?? null,
  log_lines: findings.logLines,
  fault: findings.fault ?? null,
  k6: load.k6,
  generators: load.generators,
  clock_skew_bound_ms: load.clockSkewBoundMs,
  background: load.background === null ? null : backgroundFacts(vus, load.background.k6, samples),
  overlap: samples.overlap,
  origin_samples: load.originSamples
})

/**
 * Empties the caches and proves it.
 * @param {import('./site.js').Site} site
 * @param {import('./definition.js').Settings} settings
 * @returns {Promise<{coldProof: import('./cold.js').ColdProof, logStarts: import('./logs.js').PerRole}>} `logStarts`:
 *   where the trial's log lines begin, after those of the proof
 */
async function proveCold (site, settings) {
  const { logs } = site
  await logs.fetch()
  const before = logs.ends()
  const { sentEach, ...coldProof } = await site.proveCold(settings)
  const { observed, origin_requests: reached, warm_up: warmUp } = coldProof
  const each = sentEach ?? [observed.length]
  await logs.waitFor(before, logs.linesOf(settings, each, reached + (warmUp?.origin_requests ?? 0)))
  return { coldProof, logStarts: logs.ends() }
}

/**
 * Reads the wikis' totals after the counter was reset to 0; the returned function reads them again. Call it after the
 * counter was read: then nothing is counted between the readings of the two, and they agree.
 * @param {import('./site.js').Site} site
 * @returns {Promise<() => Promise<import('./wiki-totals.js').WikiTotals | null>>}
 */
async function watchTotals (site) {
  const before = await site.readTotals?.() ?? []
  // A wiki without totals may have counted the question.
  if (before.includes(null)) await site.readCounter()
  return async () => before.some((total) => total !== null) && site.readTotals !== undefined
    ? totalsBetween(before, await site.readTotals())
    : null
}

/**
 * Reads the counter once no request is in flight, and waits for the last log lines.
 * @param {import('./site.js').Site} site
 * @param {import('./definition.js').Settings} settings
 * @param {Pick<import('./trial-samples.js').TrialSamples, 'sent' | 'served' | 'apart' | 'placed'>} samples
 * @param {import('./logs.js').PerRole} logStarts
 */
async function settleCounts (site, settings, { sent, served, apart, placed }, logStarts) {
  const { logs } = site
  const sentEach = sentThroughEach(settings, sent - apart, placed)
  const waitFor = (/** @type {import('./logs.js').PerRole} */ expected) =>
    logs.waitFor(logStarts, expected, hasCrawlers(settings))
  await waitFor(logs.linesOf(settings, sentEach, 0))
  const refreshes = await logs.refreshes(logStarts)
  // No client waits for the edge's own refreshes: some may still be in flight.
  await waitFor(logs.linesOf(settings, sentEach, sent - served + refreshes))
  const counted = await site.readCounter()
  const counter = hasCrawlers(settings) ? await countOfPeople(logs, logStarts, counted) : counted
  const logLinesExpected = logs.linesOf(settings, sentEach, counter.requests)
  const logLines = await waitFor(logLinesExpected)
  return { counter, refreshes, logLines, logLinesExpected }
}

/**
 * The counter has the crawlers' requests, too, and nginx refuses most of these itself.
 * @param {import('./logs.js').Logs} logs
 * @param {import('./logs.js').PerRole} logStarts
 * @param {import('./counter.js').Counter} counted  of all
 * @returns {Promise<import('./counter.js').Counter>} of people, by the origin's log
 * @throws {Error} when the counter has less, or more than that and all crawls
 */
async function countOfPeople (logs, logStarts, counted) {
  const { reads, writes, statuses } = await logs.crawl('origin', logStarts)
  const crawls = Object.values(statuses).reduce((sum, count) => sum + count, 0)
  if (counted.writes !== writes || counted.reads < reads || counted.reads > reads + crawls) {
    throw new Error(`the counter has ${counted.reads} reads and ${counted.writes} writes, the origin's log ${reads} ` +
      `and ${writes} of people, and ${crawls} of crawlers`)
  }
  return { requests: reads + writes, reads, writes }
}

/**
 * @param {import('./site.js').Site} site
 * @param {import('./crawl.js').Crawled | null} crawled
 * @param {import('./logs.js').PerRole} logStarts
 */
const readSweep = async ({ logs }, crawled, logStarts) =>
  crawled === null ? undefined : crawlFacts(crawled, (await logs.crawl('edge', logStarts)).statuses)

/** @param {import('./generator.js').GeneratorFacts} [k6]  undefined: no crawlers */
const problemsOfCrawl = (k6) => k6 === undefined || k6.exit_code === 0
  ? []
  : [`the crawlers' k6 ended with ${k6.exit_code}: ${k6.message}`]

/**
 * @param {import('./definition.js').Settings} settings
 * @param {number} sent
 * @param {Record<string, number>} placed  of these, by the place of the edge that responded
 * @returns {number[]} requests through each edge, at most: any of those without a response may be in the log of each
 */
function sentThroughEach ({ edges }, sent, placed) {
  if (edges === 1) return [sent]
  const each = Array.from({ length: edges }, (_, index) => placed[edgePlace(index)] ?? 0)
  const unplaced = sent - each.reduce((total, requests) => total + requests, 0)
  return each.map((requests) => requests + unplaced)
}

/**
 * @param {import('./site.js').Doors} doors
 * @param {import('./definition.js').Settings} settings
 */
const urlsOf = (doors, { door, edit_door: editDoor }) => {
  const { url, urls, ca_file: caFile } = doors[door]
  return { url, urls, edit_url: editDoor === null ? undefined : doors[editDoor].url, ca_file: caFile }
}
