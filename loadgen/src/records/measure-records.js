import path from 'node:path'
import { recordKey } from '../../scenarios/records.js'
import { arrivalTimesOf } from '../../scenarios/arrivals.js'
import { problemsOf } from '../lab/judge.js'
import { keepMachineUse } from '../lab/machine-use.js'
import { markOf } from '../lab/matrix.js'
import { extractSamples } from '../lab/samples.js'
import { probeFacts } from '../lab/trial-facts.js'
import { insertRaw } from './insert-raw.js'
import { problemsOfRecords } from './judge-records.js'
import { sendRecords } from './send-records.js'
import { compareStored, openCollection } from './stored.js'
import { withTimes } from './times.js'

/** No cache is between the client and the service. */
const NO_CACHE = Object.freeze({ cold: true, observed: [], origin_requests: 0 })
const ACKNOWLEDGED = [201, 202]

/** @typedef {import('../lab/matrix.js').PlannedTrial} PlannedTrial */

/**
 * What a trial of records found besides its samples; trial.json has it as `records` (docs/results-format.md).
 * @typedef {ReturnType<typeof compareStored> & import('./times.js').Timed<Sent['records']>} Records
 * @typedef {Awaited<ReturnType<typeof sendRecords>>} Sent
 */

/**
 * Runs the steps of a trial of records: a fresh service, warmed up; the load; what the database has of it.
 * @param {import('../lab/trial.js').TrialContext} context
 * @param {PlannedTrial} trial
 * @param {string} directory
 * @param {() => {wallS: number, monotonicS: number}} elapsed
 * @returns {Promise<Omit<Awaited<ReturnType<typeof import('../lab/measure.js').measure>>, 'records'> &
 *   {records: Records}>}
 */
export async function measureRecords (context, trial, directory, elapsed) {
  const { site } = context
  const { settings } = trial
  const mark = markOf(trial)
  await site.prepare(settings, mark)
  if (site.databaseUri === undefined) throw new Error('records need a database of the lab\'s own')
  const mongodbUri = site.databaseUri()
  const name = `records-${mark}`
  const collection = await openCollection(mongodbUri, name)
  try {
    const load = settings.framework === 'none' ? insertRaw : sendRecords
    const sent = await load(context, { trial, directory, mark, mongodbUri, collection: name })
    return await judged({ site, trial, directory, mark, sent, stored: await collection.stored(mark), elapsed })
  } finally {
    await collection.close()
  }
}

/**
 * @param {object} found
 * @param {import('../lab/site.js').Site} found.site
 * @param {PlannedTrial} found.trial
 * @param {string} found.directory
 * @param {string} found.mark
 * @param {Sent} found.sent
 * @param {Set<number>} found.stored
 * @param {() => {wallS: number, monotonicS: number}} found.elapsed
 */
async function judged ({ site, trial, directory, mark, sent, stored, elapsed }) {
  const { settings, plan: { plan } } = trial
  const { load, counter, warmUp } = sent
  /** @type {number[]} */
  const acknowledged = []
  const writes = settings.edit_ratio > 0 && settings.write_strategy !== 'none'
  const samples = await extractSamples({
    sources: load.sources,
    target: path.join(directory, 'samples.csv.gz'),
    plan,
    plannedMs: settings.model === 'open' ? arrivalTimesOf(settings, plan) : null,
    nameOf: (_, index) => writes ? recordKey(mark, index) : 'empty',
    onSample: ({ status, iteration }) => { if (ACKNOWLEDGED.includes(status)) acknowledged.push(iteration) }
  })
  const compared = compareStored(acknowledged, stored)
  const records = { ...compared, ...withTimes(sent.records, samples, compared.stored) }
  const nothing = { edge: 0, origin: 0, local: 0 }
  const findings = {
    ...{ trial, stores: false, coldProof: NO_CACHE, k6: load.k6, clockDriftMs: load.clockDriftMs, samples },
    generators: load.generators.length === 0 ? undefined : load.generators,
    ...{ background: null, overlap: null, fault: null, counter, refreshes: 0, purges: null },
    ...{ logLines: nothing, logLinesExpected: nothing },
    ...elapsed()
  }
  return {
    problems: [...problemsOf(findings), ...problemsOfRecords(settings, samples, records)],
    ...{ warm_up: warmUp, cold_proof: NO_CACHE },
    ...probeFacts(samples),
    ...{ counter, wiki_totals: null, counter_expected: null, refreshes: 0, purges: null, traces: null },
    ...{ log_lines: {}, fault: null },
    ...{ k6: load.k6, generators: load.generators, clock_skew_bound_ms: load.clockSkewBoundMs },
    ...{ background: null, overlap: null, origin_samples: load.originSamples },
    saturation: keepMachineUse({ ...load, directory, site, samples, settings }),
    records
  }
}
