import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fuzz } from '../fuzz/fuzz.js'
import { HOLES } from '../fuzz/holes.js'

const SEED = 20261122
const CASES = 1_000
/** So far each fault was found within a few hundred pairs. */
const CASES_FOR_A_HOLE = 5_000

for (const profile of /** @type {const} */ (['cloudflare', 'rfc9111'])) {
  test(`different requests never share a response, and each client can decode its body: ${profile}`, async () => {
    assert.equal((await fuzz({ profile, cases: CASES, seed: SEED })).found, null)
  })
}

for (const [name, { profile, edits }] of Object.entries(HOLES)) {
  test(`the fuzzer finds this fault: ${name}`, async () => {
    const { found } = await fuzz({ profile, cases: CASES_FOR_A_HOLE, seed: SEED, edits, smallest: false })
    assert.match(String(found), /the answer was made for|cannot decode/)
  })
}
