/**
 * One row of the table.
 * @typedef {object} Row
 * @property {string} check
 * @property {string} what
 * @property {string} known
 * @property {string} measured
 * @property {string} bound
 * @property {boolean} pass
 * @property {boolean} [timed]  needs an otherwise idle machine: while other processes work, a failure proves nothing
 * @property {string} [disturbance]  what other processes did to the machine, if a timed row failed
 * @property {false} [judged]  not judged: the row is timed, and times on this machine are not reliable
 */

/**
 * A measured case: the runs for the analysis, and the rows that follow from its results.
 * @typedef {object} Measured
 * @property {{run: string, limitMs?: number}[]} ask
 * @property {(said: (run: string) => any) => Row[]} rows  `said` returns the analysis of a run
 */

/** @typedef {{directory: string, signal: AbortSignal, short: boolean}} Context */

/** @typedef {{name: string, title: string, measure: (context: Context) => Promise<Measured>}} Case */

/**
 * Compares a measured number with the known one.
 * @param {string} check
 * @param {string} what
 * @param {number} known
 * @param {number | null | undefined} measured
 * @param {number} within  allowed relative deviation; 0: exact
 * @param {string} unit
 * @returns {Row}
 */
export function numberRow (check, what, known, measured, within, unit = '') {
  const shown = (/** @type {number | null | undefined} */ value) => value === null || value === undefined
    ? 'nothing'
    : `${digits(value)}${unit && ` ${unit}`}`
  const pass = typeof measured === 'number' && Math.abs(measured - known) <= within * Math.abs(known)
  return {
    check,
    what,
    known: shown(known),
    measured: shown(measured),
    bound: within === 0 ? 'exact' : `± ${Math.round(100 * within)} %`,
    pass
  }
}

/** @param {number} value */
const digits = (value) =>
  value >= 1000 || Number.isInteger(value) ? String(Math.round(value)) : value.toPrecision(4)

/**
 * Checks that a trial was called invalid for the right reason.
 * @param {string} check
 * @param {string} what
 * @param {string} known
 * @param {string[]} reasons  why the trial is invalid
 * @param {RegExp} wanted  must match one of the reasons
 * @returns {Row}
 */
export function caughtRow (check, what, known, reasons, wanted) {
  const found = reasons.find((reason) => wanted.test(reason))
  return {
    check,
    what,
    known,
    measured: found ?? (reasons.length === 0 ? 'nothing was said' : reasons.join('; ')),
    bound: 'invalid, and why',
    pass: found !== undefined
  }
}

/**
 * Checks that the limit of a trial was named.
 * @param {import('../../machine/saturation.js').Limit} known
 * @param {{valid: boolean, saturation: import('../../machine/saturation.js').Saturation | null}} trial
 * @returns {Row}
 */
export function limitRow (known, { valid, saturation }) {
  return {
    check: 'limit',
    what: `is named where it is the ${known}`,
    known,
    measured: saturation === null ? 'not recorded' : `${saturation.limit}: ${saturation.evidence}`,
    bound: 'named',
    pass: valid && saturation?.limit === known,
    // Fails if other processes take the cores that it would use.
    timed: true
  }
}
