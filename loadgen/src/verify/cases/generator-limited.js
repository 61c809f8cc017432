import { GENERATOR_LIMIT } from '../../lab/generator.js'
import { doKnownRun } from '../known-run.js'

/** @typedef {import('./row.js').Case} Case */

const REVISION = 1

/** A server with almost no work per request: k6 is the limit, and the trial must report it. @type {Case} */
export const generatorLimited = {
  name: 'known-generator-limit',
  title: 'a generator that is the limit',
  async measure (context) {
    const run = await doKnownRun({
      name: this.name,
      settings: { pages: 100, requests: context.short ? 8_000 : 40_000, vus: 100, connection_reuse: true },
      lean: true,
      // Enough for most of the machine, even if other processes use it.
      threads: 32,
      behaviour: { answer: () => ({ hit: false, revision: REVISION }) }
    }, context)
    return {
      ask: [{ run }],
      rows: (said) => {
        const [trial] = said(run).trials
        return [{
          check: 'generator',
          what: 'is called the limit where it is',
          known: 'yes',
          measured: `${trial.generator_limited ? 'yes' : 'no'} (${(100 * trial.generator_cpu_share).toFixed(0)} % of the cores)`,
          bound: `above ${100 * GENERATOR_LIMIT} %`,
          pass: trial.valid && trial.generator_limited,
          // Fails if other processes take the cores that k6 would use.
          timed: true
        }]
      }
    }
  }
}
