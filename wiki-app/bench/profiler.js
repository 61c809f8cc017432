// Preloaded into the wiki (node --import): SIGIO, which the wiki has no use for, begins a CPU profile, a second one writes it to PROFILE_FILE. From outside, so that what is profiled is the wiki as it is.
import { renameSync, writeFileSync } from 'node:fs'
import { Session } from 'node:inspector/promises'

/** A sample each 0.2 ms: some 50 000 in ten seconds, at a cost that is small beside a request's. */
const INTERVAL_US = 200

const file = String(process.env.PROFILE_FILE)
const session = new Session()
session.connect()
let profiling = false
process.on('SIGIO', async () => {
  if (profiling) {
    const { profile } = await session.post('Profiler.stop')
    // Whoever waits for the file gets a whole one.
    writeFileSync(`${file}.partial`, JSON.stringify(profile))
    renameSync(`${file}.partial`, file)
  } else {
    await session.post('Profiler.enable')
    await session.post('Profiler.setSamplingInterval', { interval: INTERVAL_US })
    await session.post('Profiler.start')
  }
  profiling = !profiling
})
