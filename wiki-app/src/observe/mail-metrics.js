import { Counter, Gauge } from 'prom-client'

/** @typedef {Pick<import('../digest/digests.js').Digests, 'state' | 'counts'>} ObservedMail */

/**
 * Several processes may see different failures, so one that fails counts.
 * @param {ObservedMail} mail @returns {import('prom-client').Metric[]}
 */
export const mailMetrics = ({ state, counts }) => [
  new Gauge({
    registers: [],
    aggregator: 'min',
    name: 'wiki_mail_up',
    help: 'Whether the server for mail took the last mail that this process had for it; 1 before the first',
    collect () {
      this.set(Number(!state().failing))
    }
  }),
  new Counter({
    registers: [],
    name: 'wiki_mails_total',
    help: 'Mails that this process handed over (sent), that were refused for good, or that failed and are sent later',
    labelNames: ['outcome'],
    collect () {
      this.reset()
      for (const [outcome, count] of Object.entries(counts())) this.inc({ outcome }, count)
    }
  })
]
