// Measures what a scan of cold URLs leaves of a hot set: node nginx/bench/scan.js. `--help` says what exactly.
import { mkdtempSync, rmSync, truncateSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { claimMachine } from '@stevec/harness/machine-lock'
import { draw, fill } from './key-set.js'
import { startPair } from './pair.js'
import { loadWithWrk } from './wrk-load.js'

const COLD_MAX = 2_000_000
const HOT = 10_000
const LOOKS = 20_000
const BODY = 'x'.repeat(5_000)
const MAX_SIZE_BYTES = 256 * 1024 ** 2
const LOAD_S = 10
const HELP = `Usage: node nginx/bench/scan.js [--cold N]

The edge and nginx's proxy_cache, 256 MiB each. ${HOT} URLs are hot: ${LOOKS} requests for them, drawn by Zipf's law
(s = 0.8), come before and after a scan of N URLs that are asked for once, during which no hot URL is asked for. All
responses have 5 kB. Prints the hit ratio of the hot requests before and after.

  --cold N   1000 to ${COLD_MAX} (default 1000000, which takes minutes)

Example:
  node nginx/bench/scan.js --cold 100000
`

/** @param {number} cold */
async function main (cold) {
  await claimMachine()
  const directory = mkdtempSync(path.join(tmpdir(), 'stevec-scan-'))
  const pair = await startPair({
    directory,
    maxSizeBytes: MAX_SIZE_BYTES,
    answer: (_request, response) => { response.setHeader('Cache-Control', 'max-age=86400').end(BODY) }
  }).catch((error) => {
    rmSync(directory, { recursive: true, force: true })
    throw error
  })
  const hot = draw(HOT, 0.8).slice(0, LOOKS).map((key) => `GET /hot/${key} HTTP/1.1`)
  const hitRatio = async (/** @type {number} */ port) => (await fill(port, hot)).HIT / LOOKS
  try {
    console.log('| cache | hot hit ratio before | after | points lost | cold URLs |')
    console.log('|---|---|---|---|---|')
    for (const name of /** @type {const} */ (['stock', 'edge'])) {
      const { port, logFile } = pair[name]
      await fill(port, hot)
      const before = await hitRatio(port)
      let scanned = 0
      while (scanned < cold) {
        truncateSync(logFile)
        const { requests } = await loadWithWrk({
          directory, port, lines: ['GET /cold/{n} HTTP/1.1'], duration_s: LOAD_S, unique: scanned + LOAD_S * COLD_MAX
        })
        // Numbers that were asked for, but not answered in time, are not asked for again.
        scanned += requests + 1_000
        process.stderr.write(`${name}: ${scanned} of ${cold} cold URLs …\n`)
      }
      const after = await hitRatio(port)
      console.log(`| ${name} | ${before.toFixed(3)} | ${after.toFixed(3)} | ${((before - after) * 100).toFixed(1)} | ${
        scanned} |`)
    }
  } finally {
    await pair.stop()
    rmSync(directory, { recursive: true, force: true })
  }
}

const { values } = parseArgs({
  options: { cold: { type: 'string', default: '1000000' }, help: { type: 'boolean', short: 'h' } }
})
const cold = Number(values.cold)
if (values.help) {
  process.stdout.write(HELP)
} else if (!Number.isInteger(cold) || cold < 1_000 || cold > COLD_MAX) {
  process.stderr.write('--cold is not as --help says\n')
  process.exitCode = 2
} else {
  await main(cold)
}
