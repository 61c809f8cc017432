// Prints the server's time for each way to find something in a wiki of 10 000 pages:
// node wiki-app/bench/search.js [pages]
import { claimMachine } from '@stevec/harness/machine-lock'
import { startMongod } from '@stevec/harness/mongod'
import { buildApp } from '../src/app.js'
import { readConfig } from '../src/config.js'
import { fillWiki } from './fill.js'
import { FINDING_URLS } from './urls.js'

const REPEATS = 100

const pages = Number(process.argv[2] ?? 10_000)
await claimMachine()
const mongod = await startMongod()
try {
  process.stderr.write(`filling a wiki with ${pages} pages …\n`)
  await fillWiki(mongod.uri, { pages })
  const app = await buildApp(readConfig({ LOG_LEVEL: 'warn', MONGODB_URI: mongod.uri }))
  console.log('p50_ms\tp95_ms\turl')
  for (const url of FINDING_URLS) {
    /** @type {number[]} */
    const durationsMs = []
    for (let repeat = 0; repeat < REPEATS; repeat++) {
      const start = performance.now()
      const { statusCode } = await app.inject(url)
      durationsMs.push(performance.now() - start)
      if (statusCode !== 200) throw new Error(`${url} answered ${statusCode}`)
    }
    durationsMs.sort((a, b) => a - b)
    console.log([0.5, 0.95]
      .map((share) => durationsMs[Math.ceil(share * REPEATS) - 1].toFixed(1))
      .join('\t') + `\t${url}`)
  }
  await app.close()
} finally {
  await mongod.stop()
}
