import assert from 'node:assert/strict'
import test from 'node:test'
import { counted, readableDuration, readableSize, readableTime } from '../src/readable.js'

test('counts have the right plural', () => {
  assert.deepEqual([0, 1, 2].map((count) => counted(count, 'page')), ['0 pages', '1 page', '2 pages'])
  assert.equal(counted(1, 'entry', 'entries'), '1 entry')
  assert.equal(counted(3, 'entry', 'entries'), '3 entries')
})

test('sizes have at most one decimal and the unit that suits them', () => {
  for (const [bytes, shown] of /** @type {const} */ ([
    [0, '0 bytes'], [1, '1 byte'], [1_023, '1023 bytes'], [1_024, '1 kB'], [1_536, '1.5 kB'], [1_048_570, '1 MB'],
    [1_048_576, '1 MB'], [5_242_880, '5 MB'], [268_435_456, '256 MB'], [5 * 1_024 ** 3, '5 GB'], [1_024 ** 4, '1024 GB']
  ])) assert.equal(readableSize(bytes), shown)
})

test('a wait is rounded up, so that its end is not too early', () => {
  for (const [seconds, shown] of /** @type {const} */ ([
    [0, '1 second'], [0.2, '1 second'], [2, '2 seconds'], [59.5, '1 minute'], [60, '1 minute'], [61, '2 minutes'],
    [817, '14 minutes'], [3_540, '59 minutes'], [3_541, '1 hour'], [3_601, '2 hours']
  ])) assert.equal(readableDuration(seconds), shown)
})

test('times are in UTC and say so', () => {
  assert.equal(readableTime(new Date(0).toISOString()), '1970-01-01 00:00 UTC')
})
