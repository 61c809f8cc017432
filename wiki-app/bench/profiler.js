// Preloaded into the wiki (node --import), so that the profiled wiki is unchanged. SIGIO, which the wiki does not use,
// starts a CPU profile; a second SIGIO writes it to PROFILE_FILE.
import { renameSync, writeFileSync } from 'node:fs'
import { Session } from 'node:inspector/promises'

/** A sample every 0.2 ms: some 50 000 in ten seconds, at a cost that is small compared with a request's. */
const INTERVAL_US = 200

const file = String(process.env.PROFILE_FILE)
const session = new Session()
session.connect()
let profiling = false
process.on('SIGIO', async () => {
  if (profiling) {
    const { profile } = await session.post('Profiler.stop')
    // Renamed, so that the process that waits for the file reads a complete one.
    writeFileSync(`${file}.partial`, JSON.stringify(profile))
    renameSync(`${file}.partial`, file)
  } else {
    await session.post('Profiler.enable')
    await session.post('Profiler.setSamplingInterval', { interval: INTERVAL_US })
    await session.post('Profiler.start')
  }
  profiling = !profiling
})
