// Inserts records without HTTP by one of the strategies: what the database alone can do. README.md says more.
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import { recordOf } from '../scenarios/records.js'
import { createBacklog } from './backlog.js'
import { readConfig } from './config.js'
import { openRecords } from './database.js'
import { bytesOf, storedForm } from './record.js'
import { createStrategy } from './strategies/index.js'

/** The columns of the lab's k6, one row a request (harness/k6/rows.go). */
const COLUMNS = 'time_us,duration_ms,method,status,cache_status,iteration,planned_at_us,size_bytes,revision,pop,' +
  'error_code,phase'
const WARM_UP_ROUNDS = 5

const config = readConfig()
const { client, records } = await openRecords(config)
const strategy = createStrategy(config.strategy, { records, ...config })
// A strategy that answers afterwards has one record at a time: the study's loop waits for each insert.
const backlog = createBacklog({
  maxRecords: strategy.answersAfter ? 1 : config.backlogMax, maxBytes: config.backlogMaxBytes
})
const doneMs = new Float64Array(config.count)
const tookMs = new Float64Array(config.count)
const isStored = new Uint8Array(config.count)

/** @param {number} index */
async function insert (index) {
  const record = /** @type {import('./record.js').Stored} */ (
    storedForm(recordOf({ seed: 0, mark: config.mark, index, sizeChars: config.sizeChars }))
  )
  const size = bytesOf(record)
  if (!backlog.admit(size)) {
    await backlog.room(size)
    backlog.admit(size)
  }
  const beganMs = performance.now()
  strategy.add({
    record,
    settled (error) {
      const now = performance.now()
      ;[doneMs[index], tookMs[index], isStored[index]] = [now, now - beganMs, error === null ? 1 : 0]
      backlog.release(size)
    }
  })
}

/** Opens the connections and lets V8 compile the code, as the requests before a trial do for the service. */
async function warmUp () {
  const warm = client.db().collection(`${config.collection}-warm`)
  for (let round = 0; round < WARM_UP_ROUNDS; round++) {
    await Promise.all(Array.from({ length: 100 }, () => warm.insertOne({ round })))
  }
  await warm.drop()
}

await warmUp()
const begun = once(process, 'SIGUSR2')
process.stdout.write('ready\n')
await begun
const [beganAtMs, beganMs] = [Date.now(), performance.now()]
for (let index = 0; index < config.count; index++) await insert(index)
strategy.flush()
await backlog.empty()
const wallMs = performance.now() - beganMs
process.stdout.write(`${JSON.stringify({ began_at_us: beganAtMs * 1000, wall_s: wallMs / 1000 })}\n`)
if (config.samplesFile !== undefined) {
  const rows = Array.from(doneMs, (ms, index) => `${Math.round(1000 * (beganAtMs + ms - beganMs))},${tookMs[index]},` +
    `INSERT,${isStored[index] === 1 ? 201 : 503},,${index},,,,,,\n`)
  writeFileSync(config.samplesFile, gzipSync(`${COLUMNS}\n${rows.join('')}`))
}
await client.close()
