import path from 'node:path'
import { wasCutOff } from './fault.js'
import { arrivalTimesOf } from '../../scenarios/arrivals.js'
import { newPageName, pageName } from '../../scenarios/plan.js'
import { linkId, newLinkId } from '../../scenarios/short-links.js'
import { backgroundPlan } from './matrix.js'
import { extractSamples } from './samples.js'

/** @typedef {import('./samples.js').Counts} Counts */
/** @typedef {Awaited<ReturnType<typeof readSamples>>} TrialSamples */

/**
 * Converts k6's output to the samples of a trial. An unreadable file makes the trial invalid, but does not end the run.
 * @param {object} options
 * @param {import('./trial-load.js').TrialLoad} options.load
 * @param {import('./definition.js').Settings} options.settings
 * @param {import('../../scenarios/plan.js').Plan} options.plan
 * @param {string} options.mark  see GeneratorSettings
 * @param {boolean} options.withPop  see extractSamples
 * @param {string} options.directory  of the trial
 * @param {(sample: import('./samples.js').RequestSample) => void} [options.onSample]  of the probe
 */
export async function readSamples ({ load, settings, plan, mark, withPop, directory, onSample = () => {} }) {
  const { sources, background, fault } = load
  /** Sentences. @type {string[]} */
  const unreadable = []
  /** @type {<T>(what: string, counts: Promise<T>) => Promise<T | null>} */
  const orSay = (what, counts) => counts.catch((error) => {
    unreadable.push(`${what} cannot be read: ${error.message}`)
    return null
  })
  /** Requests that failed or got a stale copy although the wiki may have counted them. */
  let cutOff = 0
  const probe = await orSay('k6\'s samples', extractSamples({
    sources,
    target: path.join(directory, 'samples.csv.gz'),
    plan,
    plannedMs: settings.model === 'open' ? arrivalTimesOf(settings, plan) : null,
    ...namesOf(settings, mark),
    withPop,
    onSample (sample) {
      if (fault !== null && wasCutOff(sample, fault)) cutOff += 1
      onSample(sample)
    }
  }))
  /** Of the background. @type {number[]} */
  const doneAtUs = []
  const backgroundCounts = background === null
    ? null
    : await orSay('the background\'s samples', extractSamples({
      sources: [{ file: background.csvFile }],
      target: path.join(directory, 'background.csv.gz'),
      plan: backgroundPlan(plan),
      ...namesOf(settings, mark),
      withPop,
      onSample: (sample) => doneAtUs.push(sample.doneAtUs)
    }))
  const sum = (/** @type {'requests_sent' | 'served_by_cache'} */ name) =>
    (probe?.[name] ?? 0) + (backgroundCounts?.[name] ?? 0)
  return {
    probe,
    background: backgroundCounts,
    doneAtUs,
    cutOff,
    unreadable,
    /** By the point of presence that responded. */
    placed: sumByPlace([probe?.pops, backgroundCounts?.pops]),
    overlap: background === null ? null : overlapOf(probe, backgroundCounts),
    sent: sum('requests_sent'),
    /** Of these, past the door of the trial. */
    apart: settings.edit_door === null ? 0 : probe?.writes_sent ?? 0,
    served: sum('served_by_cache')
  }
}

/** @param {(Record<string, number> | undefined)[]} each @returns {Record<string, number>} */
function sumByPlace (each) {
  /** @type {Record<string, number>} */
  const sums = {}
  for (const counts of each) {
    for (const [place, count] of Object.entries(counts ?? {})) sums[place] = (sums[place] ?? 0) + count
  }
  return sums
}

/**
 * @param {import('./definition.js').Settings} settings
 * @param {string} mark
 * @returns {Required<Pick<Parameters<typeof extractSamples>[0], 'nameOf' | 'editMethod'>>}
 */
function namesOf ({ resource, edit: kind }, mark) {
  if (resource === 'short-link') {
    return { nameOf: (link, index, edit) => edit ? newLinkId(mark, index) : linkId(link), editMethod: 'PUT' }
  }
  const creates = kind === 'create-get'
  return {
    nameOf: (page, index, edit) => edit && creates ? newPageName(mark, index) : pageName(page),
    editMethod: 'POST'
  }
}

/**
 * @param {Counts | null} probe
 * @param {Counts | null} background
 */
function overlapOf (probe, background) {
  const times = {
    probe_first_sent_at_us: probe?.first_sent_at_us ?? null,
    probe_last_done_at_us: probe?.last_done_at_us ?? null,
    background_first_sent_at_us: background?.first_sent_at_us ?? null,
    background_last_done_at_us: background?.last_done_at_us ?? null
  }
  const { probe_first_sent_at_us: first, probe_last_done_at_us: last } = times
  const { background_first_sent_at_us: begin, background_last_done_at_us: end } = times
  const known = first !== null && last !== null && begin !== null && end !== null
  return { ...times, proved: known && begin < first && end > last }
}
