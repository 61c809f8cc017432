import { Counter } from 'prom-client'

/** @typedef {{requests: number, bytes: number, entries: number}} LogTraffic */

/**
 * @param {() => LogTraffic} traffic  of this process, since its start
 * @returns {import('prom-client').Metric[]}
 */
export const purgeLogMetrics = (traffic) => [
  counter('wiki_purge_log_requests_total', 'Requests of caches that follow the purge log',
    () => traffic().requests),
  counter('wiki_purge_log_sent_bytes_total', 'Bytes of the answers to them, without header fields',
    () => traffic().bytes),
  counter('wiki_purge_log_entries_total', 'Entries of the purge log that this process got from the database',
    () => traffic().entries)
]

/** @param {string} name @param {string} help @param {() => number} value */
const counter = (name, help, value) => new Counter({
  registers: [],
  name,
  help,
  collect () {
    this.reset()
    this.inc(value())
  }
})
