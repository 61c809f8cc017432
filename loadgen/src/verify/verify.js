import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { analysisOutput } from '../lab/python.js'
import { CASES } from './cases/index.js'
import { watchDisturbance } from './disturbance.js'

/** @typedef {import('./cases/row.js').Row} Row */

/** Attempts per case, if other processes disturb its timed rows. */
const ATTEMPTS_MAX = 3

/**
 * Verifies the lab and the analysis: measures servers whose results are known.
 * @param {object} options
 * @param {boolean} options.short
 * @param {AbortSignal} options.signal
 * @param {(text: string) => void} options.say  a line of progress
 * @param {import('./cases/row.js').Case[]} [options.cases]
 * @param {() => () => string | undefined} [options.watch]  see watchDisturbance
 * @param {boolean} [options.judgeTimed]  false: timed rows are measured once and not judged
 * @returns {Promise<Row[]>}
 * @throws {Error} when a case cannot be run at all
 */
export async function verify ({ short, signal, say, cases = CASES, watch = watchDisturbance, judgeTimed = true }) {
  const directory = mkdtempSync(path.join(tmpdir(), 'stevec-verify-'))
  try {
    /** @type {Map<import('./cases/row.js').Case, Row[]>} */
    const rowsOf = new Map()
    let due = cases
    for (let attempt = 1; attempt <= ATTEMPTS_MAX && due.length > 0; attempt++) {
      const measured = []
      for (const each of due) {
        signal.throwIfAborted()
        const startedMs = performance.now()
        const endWatch = watch()
        const result = await each.measure({ directory: path.join(directory, String(attempt)), signal, short })
        measured.push({ ...result, case: each, disturbance: endWatch() })
        say(`${each.title}  (${((performance.now() - startedMs) / 1000).toFixed(1)} s)`)
      }
      const questions = measured.flatMap(({ ask }) => ask)
      const answers = questions.length === 0
        ? {}
        : JSON.parse(await analysisOutput(
          'stevec_verify',
          questions.map(({ run, limitMs }) => `${run}@${limitMs ?? ''}`)
        ))
      for (const { case: each, rows, disturbance } of measured) {
        rowsOf.set(each, rows((run) => answers[run]).map((row) => {
          if (row.timed && !judgeTimed) return { ...row, judged: /** @type {const} */ (false) }
          return row.timed && !row.pass && disturbance ? { ...row, disturbance } : row
        }))
      }
      due = due.filter((each) => rowsOf.get(each)?.some(({ disturbance }) => disturbance))
      for (const each of due) {
        const [{ check, measured: what, disturbance }] = (rowsOf.get(each) ?? []).filter((row) => row.disturbance)
        say(`${each.title}: ${check} is ${what}, but ${disturbance}${attempt < ATTEMPTS_MAX ? '; measuring again' : ''}`)
      }
    }
    return cases.flatMap((each) => rowsOf.get(each) ?? [])
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

/**
 * @param {Row[]} rows
 * @returns {Row[]} judged rows that do not pass
 */
export const failing = (rows) => rows.filter(({ pass, judged }) => !pass && judged !== false)

const HEADS = /** @type {const} */ (['check', 'what', 'known', 'measured', 'bound'])

/**
 * @param {Row[]} rows
 * @returns {string[]} lines of a table
 */
export function tableLines (rows) {
  /** @type {Row} */
  const head = { check: 'check', what: 'what', known: 'known', measured: 'measured', bound: 'bound', pass: true }
  const cells = [head, ...rows]
  const widths = HEADS.map((name) => Math.min(MEASURED_MAX_CHARS, Math.max(...cells.map((row) => row[name].length))))
  return cells.map((row, index) => {
    const text = HEADS.map((name, column) => cut(row[name]).padEnd(widths[column])).join('  ')
    const verdict = row.judged === false ? 'not judged here' : row.pass ? 'yes' : 'NO'
    return `${text}  ${index === 0 ? 'pass' : verdict}`
  })
}

const MEASURED_MAX_CHARS = 70

/** @param {string} text */
const cut = (text) => text.length > MEASURED_MAX_CHARS ? `${text.slice(0, MEASURED_MAX_CHARS - 1)}…` : text
