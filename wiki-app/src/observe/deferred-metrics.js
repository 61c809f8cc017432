import { Counter, Gauge } from 'prom-client'

/** @typedef {import('../deferred/deferred-saves.js').DeferredSaves} DeferredSaves */
/** @typedef {Pick<DeferredSaves, 'waiting' | 'counts' | 'batches' | 'isShared'>} Deferred */

/** @param {Deferred} deferred */
export const deferredMetrics = ({ waiting, counts, batches, isShared }) => [
  new Gauge({
    registers: [],
    aggregator: isShared ? 'max' : 'sum',
    name: 'wiki_deferred_saves',
    help: 'Saves that were answered and are not stored yet',
    collect () {
      this.set(waiting().records)
    }
  }),
  new Gauge({
    registers: [],
    aggregator: isShared ? 'max' : 'sum',
    name: 'wiki_deferred_bytes',
    help: 'What these saves need in memory',
    collect () {
      this.set(waiting().bytes)
    }
  }),
  new Counter({
    registers: [],
    name: 'wiki_deferred_batches_total',
    help: 'Batches of such saves that were begun to be stored; unsafe-async has one for each save',
    collect () {
      this.reset()
      this.inc(batches())
    }
  }),
  new Counter({
    registers: [],
    name: 'wiki_deferred_saves_total',
    help: 'Saves that were answered first, and then stored, or found impossible',
    labelNames: ['outcome'],
    collect () {
      this.reset()
      for (const [outcome, count] of Object.entries(counts())) this.inc({ outcome }, count)
    }
  })
]
