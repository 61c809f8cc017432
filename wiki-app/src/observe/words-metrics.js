import { Counter, Gauge } from 'prom-client'

/** @import {Metric} from 'prom-client' */

/** @typedef {Pick<import('../words/words.js').Words, 'freshness' | 'indexed'>} Freshest */

/** @param {Freshest} words @returns {Metric[]} */
export const wordsMetrics = ({ freshness, indexed }) => [
  new Gauge({
    registers: [],
    name: 'wiki_search_behind_seconds',
    help: 'How old the oldest change is that a search of texts does not find yet; 0 below a second',
    async collect () {
      this.set((await freshness()).behindMs / 1000)
    }
  }),
  new Gauge({
    registers: [],
    name: 'wiki_search_building',
    help: 'Whether the index of words does not have all pages yet',
    async collect () {
      this.set(Number((await freshness()).building))
    }
  }),
  new Gauge({
    registers: [],
    name: 'wiki_search_up',
    help: 'Whether the index of words follows the changes of pages',
    async collect () {
      this.set(Number((await freshness()).problem === null))
    }
  }),
  new Counter({
    registers: [],
    name: 'wiki_search_indexed_total',
    help: 'Texts whose words this process has put into the index',
    collect () {
      this.reset()
      this.inc(indexed())
    }
  })
]
