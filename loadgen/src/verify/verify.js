import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { analysisOutput } from '../lab/python.js'
import { CASES } from './cases.js'

/** @typedef {import('./cases.js').Row} Row */

/**
 * Measures what is known, with the lab and the analysis that measure what is not.
 * @param {object} options
 * @param {boolean} options.short
 * @param {AbortSignal} options.signal
 * @param {(text: string) => void} options.say  a line of progress
 * @param {import('./cases.js').Case[]} [options.cases]
 * @returns {Promise<Row[]>}
 * @throws {Error} when something cannot be run at all
 */
export async function verify ({ short, signal, say, cases = CASES }) {
  const directory = mkdtempSync(path.join(tmpdir(), 'stevec-verify-'))
  try {
    const measured = []
    for (const each of cases) {
      signal.throwIfAborted()
      const startedMs = performance.now()
      measured.push(await each.measure({ directory, signal, short }))
      say(`${each.title}  (${((performance.now() - startedMs) / 1000).toFixed(1)} s)`)
    }
    const asked = measured.flatMap(({ ask }) => ask)
    const said = JSON.parse(await analysisOutput('stevec_verify', asked.map(({ run, limitMs }) => `${run}@${limitMs ?? ''}`)))
    return measured.flatMap(({ rows }) => rows((run) => said[run]))
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

const HEADS = /** @type {const} */ (['check', 'what', 'known', 'measured', 'bound'])

/**
 * @param {Row[]} rows
 * @returns {string[]} lines of a table
 */
export function tableLines (rows) {
  const cells = [{ check: 'check', what: 'what', known: 'known', measured: 'measured', bound: 'bound', pass: true }, ...rows]
  const widths = HEADS.map((head) => Math.min(MEASURED_MAX_CHARS, Math.max(...cells.map((row) => row[head].length))))
  return cells.map((row, index) => {
    const text = HEADS.map((head, column) => cut(row[head]).padEnd(widths[column])).join('  ')
    return `${text}  ${index === 0 ? 'pass' : row.pass ? 'yes' : 'NO'}`
  })
}

const MEASURED_MAX_CHARS = 70

/** @param {string} text */
const cut = (text) => text.length > MEASURED_MAX_CHARS ? `${text.slice(0, MEASURED_MAX_CHARS - 1)}…` : text
