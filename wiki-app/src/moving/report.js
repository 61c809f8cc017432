import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import { counted } from '../readable.js'

/**
 * What became of one thing of another wiki: a line of the report.
 * @typedef {object} Outcome
 * @property {string} source  in the words of that wiki
 * @property {string} [name]  of the page here; of a picture its address
 * @property {'created' | 'appended' | 'unchanged' | 'kept' | 'replaced' | 'untaken' | 'redirect' | 'picture' |
 *   'left-out'} result
 * @property {string} [from]  its name here before: it is renamed, as it was there
 * @property {true} [refused]  it was renamed there, and has its old name here
 * @property {number} [revisions]  written
 * @property {number} [missing]  revisions that are newer than those here, of a page that is kept
 * @property {number} [untaken]  revisions that were not taken
 * @property {number} [count]  of the things of one kind that were left out
 * @property {string} [problem]  a sentence, or several
 */

/** @typedef {Record<Outcome['result'], number> & {renamed: number, refused: number, revisions: number, missing: number,
 *   untakenRevisions: number}} Totals */

/** @returns {Totals} */
export const noTotals = () => ({
  created: 0,
  appended: 0,
  unchanged: 0,
  kept: 0,
  replaced: 0,
  untaken: 0,
  redirect: 0,
  picture: 0,
  'left-out': 0,
  renamed: 0,
  refused: 0,
  revisions: 0,
  missing: 0,
  untakenRevisions: 0
})

/** @param {Totals} totals @param {Outcome} outcome */
export function addTo (totals, { result, from, refused, revisions = 0, missing = 0, untaken = 0, count = 1 }) {
  totals[result] += count
  if (from !== undefined) totals.renamed += 1
  if (refused) totals.refused += 1
  totals.revisions += revisions
  totals.missing += missing
  totals.untakenRevisions += untaken
}

/** @param {Totals} totals @returns {boolean} */
export const isAllTaken = ({ untaken, untakenRevisions, missing, refused }) =>
  untaken + untakenRevisions + missing + refused === 0

/** @type {[keyof Totals, (count: number) => string][]} */
const SAID = [
  ['created', (count) => `${counted(count, 'page')} created`],
  ['appended', (count) => `${counted(count, 'page')} continued`],
  ['renamed', (count) => `${counted(count, 'page')} renamed`],
  ['refused', (count) => `${counted(count, 'page')} not renamed as there`],
  ['replaced', (count) => `${counted(count, 'page')} replaced`],
  ['unchanged', (count) => `${count} unchanged`],
  ['kept', (count) => `${counted(count, 'page')} kept as here`],
  ['redirect', (count) => `${counted(count, 'redirect')}`],
  ['picture', (count) => `${counted(count, 'picture')}`],
  ['left-out', (count) => `${count} left out`],
  ['untaken', (count) => `${count} not taken`],
  ['untakenRevisions', (count) => `${counted(count, 'revision')} not taken`],
  ['missing', (count) => `${counted(count, 'newer revision')} of kept pages missing here`]
]

/** The report has no place to go. */
export class ReportError extends Error {}

/** @param {Totals} totals @param {boolean} dryRun @returns {string} one line */
export function summaryOf (totals, dryRun) {
  const parts = SAID.flatMap(([name, say]) => totals[name] > 0 ? [say(totals[name])] : [])
  const what = `${counted(totals.revisions, 'revision')} ${dryRun ? 'would be written' : 'written'}`
  return [what, ...parts].join(', ')
}

/**
 * JSON lines, one for each thing.
 * @param {string} file  created, or replaced
 */
export async function openReport (file) {
  const stream = createWriteStream(file)
  /** @type {Error | null} */
  let problem = null
  stream.on('error', ({ message }) => {
    problem = new ReportError(`the report ${file} cannot be written: ${message}; what is moved in stays, so make ` +
      'room, or name another file, and run the same again')
  })
  // It may fail at any time.
  const ended = new Promise((resolve) => { stream.once('close', () => resolve(null)) })
    .then(() => { if (problem) throw problem })
  ended.catch(() => {})
  await once(stream, 'open').catch(() => ended)
  return {
    /** @param {Outcome} outcome @throws {ReportError} */
    async add (outcome) {
      if (problem) throw problem
      if (!stream.write(`${JSON.stringify(outcome)}\n`)) await once(stream, 'drain').catch(() => ended)
    },
    /** @throws {ReportError} */
    async close () {
      stream.end()
      await ended
    }
  }
}
