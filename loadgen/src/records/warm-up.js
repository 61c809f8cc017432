import { EMPTY_PATH, recordOf, RECORDS_PATH } from '../../scenarios/records.js'
import { warmUp } from '../lab/warm-up.js'

const AT_ONCE = 16
/** The service has little code: 3000 requests at most, of which 1500 are always sent. */
const ROUNDS = Object.freeze({ requests: 250, least: 6, most: 12 })
/** Marks no record of a trial. */
const MARK = 'warm'

/**
 * Sends a fresh service the requests of its trial until their times no longer fall.
 * @param {string} url
 * @param {import('../lab/settings.js').Settings} settings
 * @param {AbortSignal} signal
 * @returns {Promise<import('../lab/warm-up.js').WarmUp>}
 */
export function warmUpService (url, { write_strategy: strategy, edit_ratio: edits, page_size_chars: size }, signal) {
  let index = 0
  const body = () => JSON.stringify(recordOf({
    seed: 0, mark: MARK, index: index++, sizeChars: /** @type {number} */ (size)
  }))
  const post = () => ({
    method: 'POST',
    path: strategy === 'none' ? EMPTY_PATH : RECORDS_PATH,
    headers: { 'content-type': 'application/json' },
    body: body(),
    statuses: [200, 201, 202]
  })
  const get = { path: EMPTY_PATH, statuses: [200] }
  // All requests are of one kind: what the warm-up calls a read is the request of the trial.
  const messages = { read: () => edits === 0 ? get : post(), edit: null, editEvery: 1, atOnce: AT_ONCE }
  return warmUp({ door: { url }, messages, rounds: ROUNDS, signal })
}
