import assert from 'node:assert/strict'
import test from 'node:test'
import { CASES } from '../src/verify/cases/index.js'
import { caughtRow, numberRow } from '../src/verify/cases/row.js'
import { failing, tableLines, verify } from '../src/verify/verify.js'
import { readConfig } from '../src/config.js'
import { createSandbox } from './helper.js'

test('`stevec verify`: the lab measures the known values and detects planted errors', async (t) => {
  const sandbox = await createSandbox()
  t.after(() => sandbox.remove())
  // As in continuous integration: a machine may change its speed meanwhile, so times are shown and not judged.
  const { exitCode, stdout, stderr } = await sandbox.stevec(['verify', '--short', '--json'], { CI: 'true' })
  assert.notEqual(stdout, '', stderr)
  const { pass, rows } = JSON.parse(stdout)
  for (const { check, known, measured, pass: holds, judged } of rows) {
    if (judged === false && !holds) t.diagnostic(`${check}: ${known} was measured as ${measured}`)
  }
  assert.deepEqual(failing(rows), [], stderr)
  for (const { timed, judged } of rows) assert.equal(judged, timed ? false : undefined)
  assert.deepEqual([exitCode, pass], [0, true])
  assert.deepEqual(
    new Set(rows.map((/** @type {{check: string}} */ { check }) => check)),
    new Set([
      'capacity', 'knee', 'limit', 'queue', 'link', 'percentile', 'background', 'hits', 'hit ratio', 'counter', 'clock',
      'samples', 'stale reads', 'versions', 'uncertain', 'seconds', 'failures', 'disturbed', 'log'
    ])
  )
})

test('a number outside its bound and an undetected planted error do not pass', () => {
  assert.equal(numberRow('knee', 'clients', 8, 8.39, 0.05).pass, true)
  assert.equal(numberRow('knee', 'clients', 8, 8.41, 0.05).pass, false)
  assert.equal(numberRow('hits', 'requests', 700, 701, 0).pass, false)
  assert.equal(numberRow('knee', 'clients', 8, null, 0.05).measured, 'nothing')
  assert.deepEqual(
    [
      caughtRow('counter', '', '', [], /counter/).pass,
      caughtRow('counter', '', '', ['the clock was set'], /counter/).pass
    ],
    [false, false]
  )
  assert.equal(caughtRow('counter', '', '', ['other', 'the counter says'], /counter/).measured, 'the counter says')
  assert.match(tableLines([numberRow('hits', 'requests', 700, 701, 0)])[1], /700 +701 +exact +NO$/)
})

test('a lab that counts one hit too few fails the check of known hits', async () => {
  const [hits] = CASES.filter(({ name }) => name === 'known-hits')
  /** A cache of which the lab counts one hit too few. @type {import('../src/verify/cases/row.js').Case} */
  const wrong = {
    ...hits,
    measure: async (context) => {
      const measured = await hits.measure(context)
      return {
        ...measured,
        rows: (said) =>
          measured.rows((run) => ({
            trials: said(run).trials.map((/** @type {any} */ trial) => ({
              ...trial,
              served_by_cache: trial.served_by_cache - 1
            }))
          }))
      }
    }
  }
  const rows = await verify({ short: true, signal: new AbortController().signal, say: () => {}, cases: [wrong] })
  assert.deepEqual(rows.filter(({ pass }) => !pass).map(({ check, measured }) => [check, measured]), [['hits', '699']])
})

test('a timed check that fails is repeated, at most twice, and only if other processes disturbed it', async () => {
  /**
   * @param {boolean[]} holds  whether the row passes, by measurement
   * @param {(string | undefined)[]} others  the disturbance, by measurement
   * @param {boolean} timed
   */
  const measure = async (holds, others, timed = true) => {
    let measurements = 0
    /** @type {import('../src/verify/cases/row.js').Case} */
    const once = {
      name: 'once',
      title: 'once',
      measure: async () => ({
        ask: [],
        rows: () => [
          { check: 'knee', what: '', known: '', bound: '', measured: '', timed, pass: holds[measurements++] }
        ]
      })
    }
    const [row] = await verify({
      short: true,
      signal: new AbortController().signal,
      say: () => {},
      cases: [once],
      watch: () => () => others[measurements]
    })
    return { measurements, pass: row.pass, disturbance: row.disturbance }
  }
  assert.deepEqual(await measure([false, true], ['a', 'b']), { measurements: 2, pass: true, disturbance: undefined })
  assert.deepEqual(await measure([false, false, false], ['a', 'b', 'c']), {
    measurements: 3,
    pass: false,
    disturbance: 'c'
  })
  assert.deepEqual(await measure([false, false], ['a', undefined]), {
    measurements: 2,
    pass: false,
    disturbance: undefined
  })
  assert.deepEqual(await measure([false], [undefined]), { measurements: 1, pass: false, disturbance: undefined })
  assert.deepEqual(await measure([true], ['a']), { measurements: 1, pass: true, disturbance: undefined })
  assert.deepEqual(await measure([false], ['a'], false), { measurements: 1, pass: false, disturbance: undefined })
})

test('in continuous integration, timed checks are measured once and not judged; other checks are judged', async () => {
  let measurements = 0
  /** @type {import('../src/verify/cases/row.js').Row} */
  const row = { check: 'knee', what: '', known: '', bound: '', measured: '', pass: false }
  /** @type {import('../src/verify/cases/row.js').Case} */
  const both = {
    name: 'both',
    title: 'both',
    async measure () {
      const timed = { ...row, timed: true, measured: String(++measurements) }
      return { ask: [], rows: () => [timed, { ...row, check: 'hits' }] }
    }
  }
  const signal = new AbortController().signal
  const others = () => () => 'others had all of the cores'
  const rows = await verify({ short: true, signal, say: () => {}, cases: [both], watch: others, judgeTimed: false })
  assert.equal(measurements, 1)
  assert.deepEqual(rows.map(({ judged }) => judged), [false, undefined])
  assert.deepEqual(failing(rows).map(({ check }) => check), ['hits'])
  assert.deepEqual(tableLines(rows).slice(1).map((line) => line.split(/ {2,}/).at(-1)), ['not judged here', 'NO'])
  const judges = ['true', '1', 'yes', 'false', '0', ''].map((CI) => !readConfig({ CI }).ci)
  assert.deepEqual(judges, [false, false, false, true, true, true])
})
