import { failureOf } from './failure.js'

const METRIC = 'stevec_request'
/** Of k6's own CSV, https://grafana.com/docs/k6/latest/results-output/real-time/csv/ */
const CSV_COLUMNS = ['metric_name', 'timestamp', 'metric_value', 'method', 'status', 'extra_tags', 'metadata']
/** Of our output (harness/k6/rows.go). */
const OWN_COLUMNS = [
  'time_us', 'duration_ms', 'method', 'status', 'cache_status', 'iteration', 'planned_at_us', 'size_bytes', 'revision',
  'pop', 'error_code', 'phase'
]

const OWN_POSITIONS = new Map(OWN_COLUMNS.map((name, position) => [name, position]))

/**
 * A request, as k6 reports it.
 * @typedef {object} RequestSample
 * @property {number | null} plannedAtUs  null in the closed model
 * @property {number} sentAtUs
 * @property {number} doneAtUs
 * @property {number} durationMs
 * @property {number} iteration
 * @property {string} method
 * @property {number} status  0: no response
 * @property {import('./failure.js').Failure} failure
 * @property {import('./failure.js').Phase} phase
 * @property {string} cacheStatus
 * @property {string} errorCode
 * @property {string} sizeBytes
 * @property {string} revision
 * @property {string} pop  point of presence that responded, '' for none
 */

/** @typedef {(name: string) => string} Fact  a text that a server may have sent; '' for none */

/**
 * Reads the rows of a k6 with our output (harness/k6), or of any k6's CSV, in which a request has a dozen rows.
 * @param {string} header  the first line
 * @returns {(line: string) => RequestSample | null} null: not the row of a request
 * @throws {Error} when a needed column is missing
 */
export function parserOf (header) {
  const columns = header.split(',')
  if (header === OWN_COLUMNS.join(',')) {
    return (line) => {
      if (line === '') return null
      const cells = line.split(',')
      return sampleOf(Number(cells[0]), Number(cells[1]), (name) => cells[OWN_POSITIONS.get(name) ?? -1])
    }
  }
  if (!CSV_COLUMNS.every((name) => columns.includes(name))) throw new Error(`k6 wrote unexpected columns: ${header}`)
  const [timestamp, value, method, status, extraTags, metadata] =
    CSV_COLUMNS.slice(1).map((name) => columns.indexOf(name))
  return (line) => {
    if (!line.startsWith(`${METRIC},`)) return null
    const cells = line.split(',')
    const facts = new URLSearchParams(`${cells[extraTags]}&${cells[metadata]}`)
    facts.set('method', cells[method])
    facts.set('status', cells[status])
    // A separator in a server's header would end a cell of samples.csv.gz.
    return sampleOf(Number(cells[timestamp]), Number(cells[value]), (name) =>
      (facts.get(name) ?? '').replace(/[,"\r\n]/g, '?'))
  }
}

/**
 * @param {number} doneAtUs  k6 stamps a sample when it is added: at the end of the request
 * @param {number} durationMs
 * @param {Fact} fact
 * @returns {RequestSample}
 */
function sampleOf (doneAtUs, durationMs, fact) {
  const plannedAtUs = fact('planned_at_us')
  const status = Number(fact('status'))
  const phase = /** @type {import('./failure.js').Phase} */ (fact('phase'))
  return {
    plannedAtUs: plannedAtUs === '' ? null : Number(plannedAtUs),
    sentAtUs: doneAtUs - Math.round(durationMs * 1000),
    doneAtUs,
    // k6 measures whole nanoseconds, and adds up the parts of a request as floating-point milliseconds.
    durationMs: Math.round(durationMs * 1e6) / 1e6,
    iteration: Number(fact('iteration')),
    method: fact('method'),
    status,
    failure: failureOf(status, Number(fact('error_code')), phase),
    phase,
    cacheStatus: fact('cache_status'),
    errorCode: fact('error_code'),
    sizeBytes: fact('size_bytes'),
    revision: fact('revision'),
    pop: fact('pop')
  }
}
