import { doKnownRun } from '../known-run.js'
import { limitRow } from './row.js'

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
    return { ask: [{ run }], rows: (said) => [limitRow('generator', said(run).trials[0])] }
  }
}
