import assert from 'node:assert/strict'
import { test } from 'node:test'
import { stolenSecondsIn } from '../src/lab/generator.js'

test('what the host of this machine gave to others is the eighth of the kernel\'s times, of all cores', () => {
  assert.equal(
    stolenSecondsIn('cpu  4606750 674707 607677 4162098 48158 0 74539 233677 0 0\ncpu0 1 2 3 4 5 6 7 8 9 10\nintr 1\n'),
    2336.77
  )
})

test('a kernel that does not tell leaves it open', () => {
  for (const stat of ['', 'cpu  1 2 3 4\n', 'cpu0 1 2 3 4 5 6 7 8 9 10\n']) assert.equal(stolenSecondsIn(stat), null)
})
