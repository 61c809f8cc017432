import { cpuSeconds } from '../lab/child-cpu.js'
import { isMongod, watchProcessorTime } from '../lab/processor-time.js'
import { generateLoad } from '../lab/trial-load.js'
import { readStats, startProgram, whenStored } from './service.js'
import { drawStop, stopInTheMiddle } from './stop.js'
import { warmUpService } from './warm-up.js'

/**
 * @typedef {object} RecordTrial
 * @property {import('../lab/matrix.js').PlannedTrial} trial
 * @property {string} directory
 * @property {string} mark
 * @property {string} mongodbUri
 * @property {string} collection
 */

/**
 * Sends the records of a trial to a fresh service, and waits until they are stored or the service was stopped.
 * @param {import('../lab/trial.js').TrialContext} context
 * @param {RecordTrial} options
 */
export async function sendRecords (context, { trial, directory, mark, mongodbUri, collection }) {
  const { settings, plan: { plan } } = trial
  const { site, signal } = context
  const program = await startProgram({ program: 'service', settings, mongodbUri, collection, directory })
  try {
    const [, url] = await program.says(/listening on (\S+)/)
    const warmUp = await warmUpService(url, settings, signal)
    const before = await whenStored(url)
    if (before === null) throw new Error('the records of the warm-up could not be stored')
    const databaseCpuS = watchProcessorTime(site, isMongod)
    const beforeS = cpuSeconds(program.pid)
    const { fault: stopped, ...load } = await generateLoad({
      ...context,
      site: siteOf(context, { program, settings, plan, url, before }),
      // A stop is caused as a fault is: beside the generators.
      settings: /** @type {any} */ ({ ...settings, fault: settings.record_stop }),
      probeSettings: { ...settings, url, plan, mark, picture_markdown: null, until_url: null },
      logStarts: { edge: 0, origin: 0, local: 0 },
      directory
    })
    const stop = /** @type {import('./stop.js').StopFacts | null} */ (/** @type {unknown} */ (stopped))
    const after = stop === null ? await whenStored(url) : stop.stats
    const last = after ?? await readStats(url)
    const counter = { reads: last.reads - before.reads, writes: last.writes - before.writes }
    return {
      load,
      warmUp: /** @type {import('../lab/warm-up.js').WarmUp | null} */ (warmUp),
      counter: { requests: counter.reads + counter.writes, ...counter },
      records: {
        finished_at_us: stop === null && after !== null ? after.emptied_at_us : null,
        is_stored: after !== null,
        refused: last.refused - before.refused,
        failed: stop === null ? last.failed - before.failed : null,
        database_cpu_s: databaseCpuS(),
        service_cpu_s: stop === null ? Math.round(1000 * (cpuSeconds(program.pid) - beforeS)) / 1000 : null,
        stop: stop && withoutStats(stop)
      }
    }
  } finally {
    await program.stop()
  }
}

/** @param {import('./stop.js').StopFacts} stop */
const withoutStats = ({ stats: _, ...stop }) => stop

/**
 * @param {import('../lab/trial.js').TrialContext} context
 * @param {{program: import('./service.js').Program, settings: import('../lab/settings.js').Settings, url: string,
 *   plan: import('../../scenarios/plan.js').Plan, before: import('./service.js').Stats}} service
 * @returns {import('../lab/site.js').Site} with the service among the processes that answer
 */
function siteOf ({ site, signal }, { program, settings, plan, url, before }) {
  const { record_stop: stop, duration_max_s: maxS } = settings
  return {
    ...site,
    processes: () => [...site.processes(), program.watched],
    causeFault: async (_, { generators }) => /** @type {any} */ (stop && await stopInTheMiddle({
      ...{ stop: drawStop(stop, plan), program, url, before, signal, withinMs: 1000 * maxS },
      onSignal: () => generators.disregard(program.pid)
    }))
  }
}
