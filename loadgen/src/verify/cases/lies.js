import { doKnownRun } from '../known-run.js'
import { reasonsOf } from './known-trial.js'
import { caughtRow } from './row.js'

/** @typedef {import('./row.js').Case} Case */

const REVISION = 1

const honest = { answer: () => ({ hit: false, revision: REVISION }) }

/**
 * Wrong counts during a trial, which the lab itself must detect.
 * @type {{
 *   name: string,
 *   what: string,
 *   known: string,
 *   says: RegExp,
 *   behaviour?: Partial<import('../known-server.js').Behaviour>
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
    says: /0 writes sent ≠ 1 write at the origin/,
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
export const lies = {
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
