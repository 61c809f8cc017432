import { cpSync, readFileSync, truncateSync, statSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { draw } from '../../scenarios/plan.js'
import { GENERATOR_LIMIT } from '../lab/generator.js'
import { doKnownRun } from './known-run.js'

/**
 * One row of the table.
 * @typedef {object} Row
 * @property {string} check
 * @property {string} what
 * @property {string} known
 * @property {string} measured
 * @property {string} bound
 * @property {boolean} pass
 * @property {boolean} [timed]  needs an otherwise idle machine: while other processes work, a failure proves nothing
 * @property {string} [disturbance]  what other processes did to the machine, if a timed row failed
 * @property {false} [judged]  not judged: the row is timed, and times on this machine are not reliable
 */

/**
 * A measured case: the runs for the analysis, and the rows that follow from its results.
 * @typedef {object} Measured
 * @property {{run: string, limitMs?: number}[]} ask
 * @property {(said: (run: string) => any) => Row[]} rows  `said` returns the analysis of a run
 */

/** @typedef {{directory: string, signal: AbortSignal, short: boolean}} Context */

/** @typedef {{name: string, title: string, measure: (context: Context) => Promise<Measured>}} Case */

const WITHIN = 0.05
const SERVERS = 4
const REVISION = 1

/**
 * Compares a measured number with the known one.
 * @param {string} check
 * @param {string} what
 * @param {number} known
 * @param {number | null | undefined} measured
 * @param {number} within  allowed relative deviation; 0: exact
 * @param {string} unit
 * @returns {Row}
 */
export function numberRow (check, what, known, measured, within, unit = '') {
  const shown = (/** @type {number | null | undefined} */ value) => value === null || value === undefined
    ? 'nothing'
    : `${Number.isInteger(value) ? value : value.toPrecision(4)}${unit && ` ${unit}`}`
  const pass = typeof measured === 'number' && Math.abs(measured - known) <= within * Math.abs(known)
  return {
    check,
    what,
    known: shown(known),
    measured: shown(measured),
    bound: within === 0 ? 'exact' : `± ${100 * within} %`,
    pass
  }
}

/**
 * Checks that a trial was called invalid for the right reason.
 * @param {string} check
 * @param {string} what
 * @param {string} known
 * @param {string[]} reasons  why the trial is invalid
 * @param {RegExp} wanted  must match one of the reasons
 * @returns {Row}
 */
export function caughtRow (check, what, known, reasons, wanted) {
  const found = reasons.find((reason) => wanted.test(reason))
  return {
    check,
    what,
    known,
    measured: found ?? (reasons.length === 0 ? 'nothing was said' : reasons.join('; ')),
    bound: 'invalid, and why',
    pass: found !== undefined
  }
}

/**
 * c servers of s ms each: they complete at most c ÷ s requests per second, and with N > c clients each waits N · s ÷ c.
 * @type {Case}
 */
const capacity = {
  name: 'known-capacity',
  title: `an origin of ${SERVERS} servers`,
  async measure (context) {
    const serviceMs = context.short ? 60 : 100
    const levels = context.short ? [1, 6, 10] : [1, 2, 4, 6, 7, 9, 10, 12]
    const seconds = context.short ? 2 : 4
    /** When each server becomes free; a late timer delays a response, but not the schedule. @type {number[]} */
    const free = Array(SERVERS).fill(0)
    const run = await doKnownRun({
      name: this.name,
      settings: { pages: 10 },
      // Whole rounds of all servers: in a partial round they are not at their capacity.
      factors: {
        clients: Object.fromEntries(levels.map((vus) => [
          `n${vus}`,
          { vus, requests: Math.round(seconds * 1000 / serviceMs) * Math.min(vus, SERVERS) }
        ]))
      },
      behaviour: {
        answer () {
          const now = performance.now()
          const next = free.indexOf(Math.min(...free))
          free[next] = Math.max(now, free[next]) + serviceMs
          return { hit: false, revision: REVISION, afterMs: free[next] - now }
        }
      }
    }, context)
    const limitMs = 2 * serviceMs
    return {
      ask: [{ run, limitMs }],
      rows: (said) => {
        const { trials, crossing_vus: crossing } = said(run)
        const busiest = trials.reduce(
          (/** @type {any} */ most, /** @type {any} */ trial) => trial.vus > most.vus ? trial : most
        )
        return [
          {
            ...numberRow(
              'capacity',
              `${SERVERS} servers of ${serviceMs} ms: requests a second`,
              SERVERS * 1000 / serviceMs,
              busiest.completed_per_s,
              WITHIN,
              '1/s'
            ),
            timed: true
          },
          {
            ...numberRow('knee', `clients at which the mean goes over ${limitMs} ms`, 2 * SERVERS, crossing, WITHIN),
            timed: true
          },
          {
            check: 'generator',
            what: 'is not called the limit where it is not',
            known: 'no',
            measured: trials.some((/** @type {any} */ trial) => trial.generator_limited) ? 'yes' : 'no',
            bound: 'exact',
            pass: trials.every((/** @type {any} */ trial) => trial.valid && !trial.generator_limited)
          }
        ]
      }
    }
  }
}

/** A cache that serves seven of ten requests, in a known order. @type {Case} */
const hitRatio = {
  name: 'known-hits',
  title: 'a cache of known hit ratio',
  async measure (context) {
    const requests = context.short ? 1_000 : 10_000
    const run = await doKnownRun({
      name: this.name,
      // A lifetime shorter than the trial, for which the theory predicts no number of misses (otherwise one per page).
      settings: { door: 'cached', pages: 100, requests, vus: 4, ttl_s: 1, connection_reuse: true },
      behaviour: { answer: ({ index }) => ({ hit: index * 7 % 10 < 7, revision: REVISION }) }
    }, context)
    const corrupted = tampered(run, (trial) => changeJson(trial, 'trial.json', (value) => {
      value.counter = { ...value.counter, requests: value.counter.requests + 1, reads: value.counter.reads + 1 }
    }))
    const set = tampered(run, (trial) => changeJson(trial, 'trial.json', (value) => { value.monotonic_s += 0.2 }))
    const cutOff = tampered(run, (trial) => {
      const file = path.join(trial, 'samples.csv.gz')
      truncateSync(file, Math.floor(statSync(file).size * 0.7))
    })
    return {
      ask: [run, corrupted, set, cutOff].map((each) => ({ run: each })),
      rows: (said) => {
        const [trial] = said(run).trials
        const reasons = (/** @type {string} */ each) => said(each).trials[0].reasons
        return [
          {
            ...numberRow(
              'hits',
              `of ${requests} requests that the cache answered`,
              requests * 0.7,
              trial.served_by_cache,
              0
            ),
            ...(trial.valid ? {} : { pass: false, measured: trial.reasons.join('; ') })
          },
          numberRow('hit ratio', 'of the reads', 0.7, trial.hit_ratio, 0),
          caughtRow(
            'counter',
            'changed by 1 in the results',
            'a difference of 1',
            reasons(corrupted),
            /but the counter says/
          ),
          caughtRow(
            'clock',
            'set by 0.2 s, in the results',
            'a step of −0.2 s',
            reasons(set),
            /the clock stepped by −0\.2 s/
          ),
          caughtRow(
            'samples',
            'a file that is cut off',
            'it is not whole',
            reasons(cutOff),
            /samples\.csv\.gz is (cut off|damaged)/
          )
        ]
      }
    }
  }
}

/**
 * Served revisions lag behind the acknowledged ones by known numbers. One client makes the order of events certain.
 * @type {Case}
 */
const history = {
  name: 'known-history',
  title: 'a history of known staleness',
  async measure (context) {
    const requests = context.short ? 200 : 2_000
    /** @type {Map<string, number[]>} page → times of the acknowledgements of its revisions, from revision 1 */
    const acknowledged = new Map()
    const known = { stale: 0, versions: 0, behindMs: /** @type {number[]} */ ([]) }
    const run = await doKnownRun({
      name: this.name,
      // The pause between a response and the next request exceeds the analysis's tolerance.
      settings: { pages: 5, requests, edit_ratio: 0.2, pause_s: 0.004, connection_reuse: true },
      behaviour: {
        answer ({ method, page, index }) {
          const times = acknowledged.get(page) ?? [-Infinity]
          acknowledged.set(page, times)
          if (method === 'POST') return { hit: false, revision: times.push(performance.now()) }
          const newest = times.length
          const lag = Math.floor(draw(1, 1, index) * 4)
          const revision = Math.max(1, newest - (lag === 3 ? 4 : lag))
          if (revision < newest) {
            known.stale += 1
            known.versions += newest - revision
            known.behindMs.push(performance.now() - times[revision])
          }
          return { hit: false, revision }
        }
      }
    }, context)
    return {
      ask: [{ run }],
      rows: (said) => {
        const [{ freshness, valid }] = said(run).trials
        const longestS = Math.max(...known.behindMs) / 1000
        return [
          {
            ...numberRow(
              'stale reads',
              `of ${requests} requests, a fifth of them edits`,
              known.stale,
              freshness?.reads_stale,
              0
            ),
            ...(valid ? {} : { pass: false })
          },
          numberRow('versions', 'behind, all stale reads together', known.versions, freshness?.versions_behind_sum, 0),
          numberRow('uncertain', 'reads that the tolerance spares', 0, freshness?.reads_uncertain, 0),
          { ...numberRow('seconds', 'behind, at most', longestS, freshness?.staleness_max_s, WITHIN, 's'), timed: true }
        ]
      }
    }
  }
}

/** A server with almost no work per request: k6 is the limit, and the trial must report it. @type {Case} */
const generatorLimited = {
  name: 'known-generator-limit',
  title: 'a generator that is the limit',
  async measure (context) {
    const threads = process.env.GOMAXPROCS
    // Enough threads for most of the machine, even if other processes use it.
    process.env.GOMAXPROCS = '32'
    try {
      const run = await doKnownRun({
        name: this.name,
        settings: { pages: 100, requests: context.short ? 8_000 : 40_000, vus: 100, connection_reuse: true },
        lean: true,
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
    } finally {
      if (threads === undefined) delete process.env.GOMAXPROCS
      else process.env.GOMAXPROCS = threads
    }
  }
}

const honest = { answer: () => ({ hit: false, revision: REVISION }) }

/**
 * Wrong counts during a trial, which the lab itself must detect.
 * @type {{
 *   name: string,
 *   what: string,
 *   known: string,
 *   says: RegExp,
 *   behaviour?: Partial<import('./known-server.js').Behaviour>
 * }[]}
 */
const LIES = [
  {
    name: 'counter-high',
    what: 'says one request too many',
    known: 'a difference of 1',
    says: /30 requests sent ≠ 0 served by cache \+ 31 at the origin/,
    behaviour: {
      count: (counter) => ({ ...counter, requests: counter.requests + 1, reads: counter.reads + 1 })
    }
  },
  {
    name: 'counter-kinds',
    what: 'takes one read for a write, in all as many',
    known: 'the sum is right',
    says: /0 writes sent ≠ 1 writes at the origin/,
    behaviour: {
      count: ({ requests, reads, writes }) => ({ requests, reads: reads - 1, writes: writes + 1 })
    }
  },
  {
    name: 'log-stranger',
    what: 'a stranger makes up for a line that is lost',
    known: 'all counts agree',
    says: /only the log has 1: GET \/wiki\/somebody-elses/,
    behaviour: {
      log: ([first, ...rest]) => [{ ...first, uri: '/wiki/somebody-elses' }, ...rest]
    }
  }
]

/** @type {Case} */
const lies = {
  name: 'known-lies',
  title: 'counts that are wrong',
  async measure (context) {
    /** @type {{lie: typeof LIES[number], run: string}[]} */
    const done = []
    for (const lie of LIES) {
      const behaviour = { ...honest, ...lie.behaviour }
      const run = await doKnownRun({ name: lie.name, settings: { pages: 5, requests: 30 }, behaviour }, context)
      done.push({ lie, run })
    }
    let answered = 0
    const stepped = await doKnownRun({
      name: 'clock-step',
      settings: { pages: 5, requests: 30 },
      behaviour: {
        answer ({ index }) {
          answered = index
          return honest.answer()
        }
      },
      wallClockMs: () => Date.now() + (answered > 10 ? 200 : 0)
    }, context)
    return {
      ask: [],
      rows: () => [
        ...done.map(({ lie, run }) => caughtRow(
          lie.name.startsWith('log') ? 'log' : 'counter',
          lie.what,
          lie.known,
          reasonsOf(run),
          lie.says
        )),
        caughtRow(
          'clock',
          'set by 0.2 s during the trial',
          'a step of 0.2 s',
          reasonsOf(stepped),
          /the clock was set during the trial/
        )
      ]
    }
  }
}

/** @type {Case[]} */
export const CASES = [capacity, hitRatio, history, generatorLimited, lies]

/**
 * Returns why the lab called the only trial of a run invalid.
 * @param {string} run
 * @returns {string[]}
 */
const reasonsOf = (run) => trialOf(run).invalid_reasons

/** @param {string} run */
const trialOf = (run) => JSON.parse(readFileSync(path.join(run, 'trials/0001/trial.json'), 'utf8'))

/**
 * Copies a run and changes something in the copy.
 * @param {string} run
 * @param {(trialDirectory: string) => void} change
 * @returns {string} the folder of the copy
 */
function tampered (run, change) {
  const copy = `${run}-${copies++}`
  cpSync(run, copy, { recursive: true })
  change(path.join(copy, 'trials/0001'))
  return copy
}
let copies = 0

/**
 * @param {string} directory
 * @param {string} name
 * @param {(value: any) => void} change
 */
function changeJson (directory, name, change) {
  const file = path.join(directory, name)
  const value = JSON.parse(readFileSync(file, 'utf8'))
  change(value)
  writeFileSync(file, JSON.stringify(value))
}
