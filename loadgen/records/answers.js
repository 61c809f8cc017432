import { bytesOf, storedForm } from './record.js'
import { TakenKey } from './strategies/insert.js'

const RETRY_AFTER_S = '1'

/** @typedef {{status: number, headers?: Record<string, string>, body: object}} Answer */

/**
 * What the service answers, whatever the framework. It counts the requests that reached it.
 * @param {object} options
 * @param {import('./strategies/index.js').Strategy} options.strategy
 * @param {import('./backlog.js').Backlog} options.backlog
 * @param {import('./outcomes.js').Outcomes} options.outcomes
 */
export function createAnswers ({ strategy, backlog, outcomes }) {
  const counts = { reads: 0, writes: 0, stored: 0, failed: 0, refused: 0 }
  let isClosing = false

  /**
   * @param {import('./record.js').Stored} record
   * @param {number} size
   * @param {(error: Error | null) => void} onSettled
   */
  function add (record, size, onSettled) {
    strategy.add({
      record,
      settled (error) {
        counts[error === null ? 'stored' : 'failed'] += 1
        backlog.release(size)
        onSettled(error)
      }
    })
  }

  return {
    /** @returns {Answer} of GET /empty, and what POST /empty answers */
    empty: (/** @type {'reads' | 'writes'} */ kind) => {
      counts[kind] += 1
      return { status: 200, body: { state: 'empty' } }
    },

    /**
     * Answers POST /records.
     * @param {unknown} body
     * @returns {Promise<Answer>}
     */
    async post (body) {
      counts.writes += 1
      const record = storedForm(body)
      if (typeof record === 'string') return { status: 400, body: { error: record } }
      const size = bytesOf(record)
      if (isClosing || !backlog.admit(size)) {
        counts.refused += 1
        return busy(isClosing ? 'the service is stopping' : 'too many records wait for the database')
      }
      if (strategy.answersAfter) {
        const error = await new Promise((resolve) => add(record, size, resolve))
        return error === null ? { status: 201, body: { state: 'stored' } } : failed(error)
      }
      const number = outcomes.begin()
      add(record, size, (error) => outcomes.end(number, error === null ? null : reasonOf(error)))
      return { status: 202, headers: { location: outcomes.addressOf(number) }, body: { state: 'pending' } }
    },

    /**
     * Answers GET /status/<id>.
     * @param {string} id
     * @returns {Answer}
     */
    status (id) {
      const outcome = outcomes.of(id)
      if (outcome === null) {
        const error = 'unknown: of another process? What that had not stored when it died is lost'
        return { status: 404, body: { error } }
      }
      return { status: outcome.state === 'forgotten' ? 410 : 200, body: outcome }
    },

    /** @returns {Answer} of GET /stats, which counts nothing */
    stats: () => ({
      status: 200, body: { ...counts, backlog: backlog.size(), emptied_at_us: backlog.emptiedAtMs() * 1000 }
    }),

    /** Refuses records from now on. */
    close () { isClosing = true },
    isClosing: () => isClosing
  }
}

/** @typedef {ReturnType<typeof createAnswers>} Answers */

/** @param {string} error @returns {Answer} */
const busy = (error) => ({ status: 503, headers: { 'retry-after': RETRY_AFTER_S }, body: { error } })

/** @param {Error} error @returns {Answer} */
const failed = (error) => error instanceof TakenKey
  ? { status: 409, body: { error: reasonOf(error) } }
  : busy(reasonOf(error))

/** A text of the database's own may name hosts. @param {Error} error */
const reasonOf = (error) => error instanceof TakenKey
  ? 'another record has this key'
  : 'the database did not confirm the record'
