import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createProgress } from '../src/lab/progress.js'
import { sumOf, totalsOf } from '../src/lab/totals.js'

/** @param {Partial<Parameters<typeof totalsOf>[0]>} facts */
const trial = (facts) => totalsOf({
  valid: true, requests_sent: 1000, requests_failed: 0, schedule: null, background: null, ...facts
})

/** @param {import('../src/lab/totals.js').Totals} totals */
function lastLinesOf (totals) {
  let text = ''
  const progress = createProgress((part) => { text += part })
  progress.finished({ directory: '/r', ...totals })
  progress.studyFinished({ directory: '/s', experiments: 2, seconds: 60, ...totals })
  return text
}

test('the last line of a run and of a study says how many requests failed or were never sent', () => {
  const background = /** @type {any} */ ({ requests_sent: 500, requests_failed: 20 })
  const totals = sumOf([
    trial({ requests_failed: 1000 }),
    trial({ schedule: { never_sent: 300 } }),
    trial({ valid: false, background })
  ])
  assert.deepEqual(totals, {
    trials: 3, invalid: 1, requests: 3800, requests_failed: 1020, requests_never_sent: 300
  })
  const text = lastLinesOf(totals)
  assert.match(text, /^1 of 3 trials is INVALID; trial\.json has the reasons; 1020 of 3800 requests failed, 300 were never sent$/m)
  assert.match(
    text,
    /^2 experiments, 3 trials, 1 INVALID, in 60 s; 1020 of 3800 requests failed, 300 were never sent$/m
  )
  assert.match(lastLinesOf(trial({ requests_failed: 1000 })),
    /^its one trial is valid: requests sent .*; 1000 of 1000 requests failed$/m)
  const late = trial({ schedule: { never_sent: 4 } })
  assert.match(lastLinesOf(late), /^its one trial is valid: requests sent .*; 4 of 1004 requests were never sent$/m)
})

test('nothing is said of requests where all were answered', () => {
  assert.doesNotMatch(lastLinesOf(sumOf([trial({}), trial({ schedule: { never_sent: 0 } })])), /\d requests/)
})
