import path from 'node:path'
import { cpuSeconds } from '../lab/child-cpu.js'
import { RAW_SUFFIX } from '../lab/generator.js'
import { isMongod, watchProcessorTime } from '../lab/processor-time.js'
import { watchMachine } from '../machine/watch.js'
import { startProgram } from './service.js'

/** The part of a trial that k6 has otherwise: the program that inserts is its own client. */
const NO_GENERATOR = Object.freeze({
  exit_code: 0, message: null, generator_cpu_s: 0, generator_cpu_share: 0, stolen_cpu_share: null
})

/**
 * Inserts the records of a trial without HTTP.
 * @param {import('../lab/trial.js').TrialContext} context
 * @param {import('./send-records.js').RecordTrial} options
 * @returns {Promise<import('./measure-records.js').Sent>}
 */
export async function insertRaw ({ site }, { trial: { settings }, directory, mark, mongodbUri, collection }) {
  const file = path.join(directory, `insert${RAW_SUFFIX}`)
  const program = await startProgram({
    program: 'raw',
    ...{ settings, mongodbUri, collection, directory },
    more: {
      RECORDS_COUNT: String(settings.requests),
      RECORDS_MARK: mark,
      RECORDS_SIZE_CHARS: String(settings.page_size_chars),
      RECORDS_SAMPLES_FILE: file
    }
  })
  try {
    await program.says(/ready/)
    const watch = watchMachine(() => [...site.processes(), program.watched])
    const databaseCpuS = watchProcessorTime(site, isMongod)
    const beforeS = cpuSeconds(program.pid)
    process.kill(program.pid, 'SIGUSR2')
    const [line] = await program.says(/^\{.*\}$/m, 1000 * settings.duration_max_s)
    const [usedS, ownS] = [databaseCpuS(), cpuSeconds(program.pid) - beforeS]
    const readings = watch.stop()
    const { wall_s: wallS } = JSON.parse(line)
    const exitCode = await program.exited
    if (exitCode !== 0) throw new Error(`the inserts ended with ${exitCode}`)
    return {
      load: {
        ...{ readings, originSamples: null, background: null, crawl: null, remoteUse: [], generators: [] },
        ...{ k6: { ...NO_GENERATOR, wall_s: wallS }, sources: [{ file, aheadUs: 0, planAheadUs: 0 }] },
        ...{ clockSkewBoundMs: 0, clockDriftMs: 0 }
      },
      warmUp: null,
      counter: { requests: settings.requests, reads: 0, writes: settings.requests },
      records: {
        ...{ finished_at_us: 0, is_stored: true, refused: 0, failed: 0 },
        ...{ database_cpu_s: usedS, service_cpu_s: Math.round(1000 * ownS) / 1000, stop: null }
      }
    }
  } finally {
    await program.stop()
  }
}
