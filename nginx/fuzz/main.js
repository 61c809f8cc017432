import { parseArgs } from 'node:util'
import { fuzz } from './fuzz.js'
import { HOLES } from './holes.js'

const HELP = `Usage: node nginx/fuzz/main.js [options]

Sends pairs of requests for one address through a real edge, in both profiles, to an origin that answers with what it was
asked. Ends with 1 when two different requests shared an answer, or a client got a body that it cannot decode. Then it
takes the defences out one by one, and ends with 1 when one of these holes is not found.

  --cases N    pairs, half of them in each profile; default 100000
  --seed N     of what is drawn; default: the time
  --no-holes   does not look whether the fuzzer finds what it should

Examples:
  make fuzz-edge
  node nginx/fuzz/main.js --cases 2000 --seed 7 --no-holes
`
const SHOWN_EVERY_MS = 5_000

const { values } = parseArgs({
  options: {
    cases: { type: 'string' },
    seed: { type: 'string' },
    'no-holes': { type: 'boolean' },
    help: { type: 'boolean' }
  }
})
if (values.help) {
  process.stdout.write(HELP)
  process.exit(0)
}
const cases = whole('cases', 100_000)
const seed = whole('seed', Date.now() % 2 ** 31)
const perProfile = Math.ceil(cases / 2)
let holds = true
let broken = false

for (const profile of /** @type {const} */ (['cloudflare', 'rfc9111'])) {
  const { cases: done, found } = await fuzz({
    profile,
    cases: perProfile,
    seed,
    onProgress: progress(profile, perProfile)
  })
  process.stdout.write(
    `${profile}: ${done} pairs, seed ${seed}: ${found ?? 'no two different requests shared an answer'}\n`
  )
  holds &&= found === null
}
for (const [name, { profile, edits }] of Object.entries(values['no-holes'] ? {} : HOLES)) {
  const { found } = await fuzz({
    profile,
    cases: perProfile,
    seed,
    edits,
    smallest: false,
    onProgress: progress(name, perProfile)
  })
  process.stdout.write(`with a hole, ${name}: ${found === null ? 'NOT FOUND' : 'found'}\n`)
  broken ||= found === null
}
process.exitCode = holds && !broken ? 0 : 1

/**
 * @param {'cases' | 'seed'} name
 * @param {number} fallback
 */
function whole (name, fallback) {
  const text = values[name] ?? String(fallback)
  if (/^\d{1,9}$|^[12]\d{9}$/.test(text) && Number(text) > 0) return Number(text)
  process.stderr.write(`--${name} is a whole number above 0, not "${text}"; see --help\n`)
  process.exit(2)
}

/**
 * @param {string} what
 * @param {number} of
 */
function progress (what, of) {
  let shownMs = performance.now()
  return (/** @type {number} */ done) => {
    if (performance.now() - shownMs < SHOWN_EVERY_MS) return
    shownMs = performance.now()
    process.stderr.write(`${what}: ${Math.min(done, of)} of ${of} pairs …\n`)
  }
}
