import { countOf } from '../count-of.js'

/** @import {Counts, Plan, ReplayClass} from './schedule.js' */
/** @import {Seen} from './player.js' */
/** @import {Met} from './met-purges.js' */

/** Of the reads of a class, and at least so many: milliseconds decide about a read at the end of a lifetime. */
const TOLERANCE_SHARE = 0.01
const TOLERANCE_LEAST = 2

/**
 * `difference`: the larger one of fetches and stale reads.
 * @typedef {{name: string, setting: string, reads: number, edits: number, failed: number, measured: Counts,
 *   model: Counts, difference: number, agrees: boolean}} ClassComparison
 * @typedef {Omit<Plan, 'classes'> & {classes: ClassComparison[], purges_that_met_a_fetch: Met[], late_max_s: number,
 *   agree: boolean}} Comparison
 */

/**
 * @param {Plan} plan
 * @param {{fetches: number[], seen: Seen[], met: Met[], late_max_ms: number}} played  fetches and seen: by class
 * @returns {Comparison} of the classes with reads in the sample
 */
export function compare ({ classes, ...plan }, { fetches, seen, met, late_max_ms: lateMaxMs }) {
  const compared = classes
    .map((one, number) => compareClass(one, fetches[number], seen[number]))
    .filter(({ reads }) => reads > 0)
  return {
    ...plan,
    classes: compared,
    purges_that_met_a_fetch: met,
    late_max_s: lateMaxMs / 1000,
    agree: compared.every(({ agrees }) => agrees) && met.every(({ fresh }) => fresh)
  }
}

/**
 * @param {ReplayClass} one
 * @param {number} fetches
 * @param {Seen} seen
 * @returns {ClassComparison}
 */
function compareClass ({ name, setting, reads, edits, model }, fetches, seen) {
  const difference = Math.max(Math.abs(fetches - model.fetches), Math.abs(seen.stale - model.stale))
  const tolerance = Math.max(TOLERANCE_LEAST, TOLERANCE_SHARE * reads)
  return {
    name,
    setting,
    reads,
    edits,
    failed: seen.failed,
    measured: { fetches, stale: seen.stale, oldest_s: seen.oldest_ms / 1000 },
    model,
    difference,
    agrees: difference <= tolerance && seen.failed === 0
  }
}

/** @param {Plan} plan @returns {string[]} what is played, and how long that takes */
export function sampleLines (plan) {
  const reads = plan.classes.reduce((sum, one) => sum + one.reads, 0)
  const edits = plan.classes.reduce((sum, one) => sum + one.edits, 0)
  return [
    `replay: ${countOf(reads, 'read')} and ${countOf(edits, 'edit')} of ${countOf(plan.pages, 'page')}, through an ` +
      'edge that begins empty',
    `  from ${+plan.begin_s.toFixed(3)} s of the log on, ${+plan.window_s.toFixed(3)} s, its busiest: ` +
      `${countOf(plan.reads_in_window, 'read')} of ${countOf(plan.pages_in_window, 'page')}`,
    `  a hash chooses the pages, for at most ${plan.requests_per_s_max} requests a second; this takes ` +
      `${+plan.window_s.toFixed(1)} s`
  ]
}

const COLUMNS = [20, 18, 7, 8, 7, 8, 7, 10, 10]

/** @param {Comparison} comparison @returns {string[]} a table, and whether edge and model agree */
export function comparisonLines (comparison) {
  const { classes } = comparison
  const lines = [
    row(['', '', '', 'asks the origin', '', 'stale reads', '', 'oldest', ''], [20, 18, 7, 16, 0, 16, 0, 21, 0]),
    row(['class', 'setting', 'reads', 'measured', 'model', 'measured', 'model', 'measured', 'model']),
    ...classes.map(({ name, setting, reads, measured, model }) => row([
      name, setting, reads, measured.fetches, model.fetches, measured.stale, model.stale,
      seconds(measured.oldest_s), seconds(model.oldest_s)
    ]))
  ]
  lines.push(`the latest request was sent ${milliseconds(comparison.late_max_s)} after its time`)
  return [...lines, ...comparison.purges_that_met_a_fetch.map(metLine), verdict(comparison)]
}

/** @param {Met} met */
const metLine = ({ family, before, fresh }) =>
  `${family}: a purge came before the ${before} of an answer, and ` +
    (fresh ? 'the reads after it got the new version' : 'A READ AFTER IT GOT THE OLD VERSION')

/** @param {Comparison} comparison */
function verdict ({ classes, purges_that_met_a_fetch: met, agree }) {
  if (met.some(({ fresh }) => !fresh)) return 'edge and model do not agree: a purge lost against a fetch'
  const judged = agree ? classes : classes.filter(({ agrees }) => !agrees)
  const worst = judged.reduce((most, one) => one.difference > most.difference ? one : most)
  const largest = worst.difference === 0
    ? 'no count differs'
    : `the largest difference is ${worst.difference} of ${countOf(worst.reads, 'read')} (${worst.name})`
  const failed = classes.reduce((sum, one) => sum + one.failed, 0)
  const reasons = failed > 0 ? `${countOf(failed, 'read')} got no answer, and ${largest}` : largest
  return `edge and model ${agree ? 'agree' : 'do not agree'}: ${reasons}`
}

/**
 * @param {(string | number)[]} cells
 * @param {number[]} widths
 */
function row (cells, widths = COLUMNS) {
  const padded = cells.map((cell, index) =>
    index < 2 ? String(cell).padEnd(widths[index]) : String(cell).padStart(widths[index]))
  return `  ${padded.filter((_cell, index) => widths[index] > 0).join(' ')}`
}

/** @param {number} value */
const seconds = (value) => value === 0 ? '–' : `${Number(value.toPrecision(3))} s`

/** @param {number} value */
const milliseconds = (value) => `${Math.round(value * 1000)} ms`
