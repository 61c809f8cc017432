import { countOf } from '../count-of.js'

/** What a service that is not stopped may answer; 503 says that its backlog is full, and is a failure like another. */
const ALLOWED = ['200', '201', '202', '503', '0']

/**
 * Checks that each record got an answer of its kind, and that what was acknowledged is stored, unless the service was
 * killed: how much is lost then is what the trial measures.
 * @param {import('../lab/settings.js').Settings} settings
 * @param {import('../lab/samples.js').Counts} samples
 * @param {import('./measure-records.js').Records} records
 * @returns {string[]} sentences
 */
export function problemsOfRecords ({ record_stop: stop }, { statuses }, records) {
  const problems = []
  for (const [method, counts] of Object.entries(statuses)) {
    const wrong = Object.entries(counts).filter(([status]) => !ALLOWED.includes(status))
    if (wrong.length > 0) {
      problems.push(`${method} was answered ${wrong.map(([status, count]) => `${status} × ${count}`).join(', ')}`)
    }
  }
  const { lost, failed, is_stored: isStored, stop: stopped } = records
  problems.push(...problemsOfLoss({
    lost: stop?.signal === 'SIGKILL' ? 0 : lost, failed, is_stored: isStored || stop !== null
  }, 'record'))
  if (stop?.signal === 'SIGTERM' && stopped?.exit_code !== 0) {
    problems.push(`the service ended with ${stopped?.exit_code ?? 'a signal'} after SIGTERM, not with 0`)
  }
  return problems
}

/**
 * @param {{lost: number, failed: number | null, is_stored: boolean}} found
 * @param {string} what  was written
 * @param {number} [waiting]  that still wait
 * @returns {string[]} a sentence for what was acknowledged and is not stored, and one for what still waits
 */
export function problemsOfLoss ({ lost, failed, is_stored: isStored }, what, waiting) {
  const problems = []
  if (lost > 0) {
    problems.push(`${countOf(lost, what)} ${lost === 1 ? 'was' : 'were'} acknowledged and not stored, of which ` +
      `${failed ?? 'an unknown number'} failed at the database`)
  }
  if (!isStored) {
    problems.push(`${waiting === undefined ? `${what}s` : countOf(waiting, what)} still waited for the database after ` +
      'two minutes')
  }
  return problems
}
