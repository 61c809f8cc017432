import { mkdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { purgeAndProveCold } from './cold.js'
import { readCounter } from './counter.js'
import { runK6 } from './k6.js'
import { keepLogs, LOG_ROLES, logEnds, waitForLogLines } from './logs.js'
import { extractSamples } from './samples.js'

/**
 * What a trial needs of the run that it belongs to.
 * @typedef {object} TrialContext
 * @property {import('./definition.js').Definition} definition
 * @property {import('../stack/state.js').StackState} stack
 * @property {string} stackDirectory
 * @property {string} wikiUrl
 * @property {string} trialsDirectory
 * @property {AbortSignal} signal
 */

/**
 * One repetition of one cell: cold caches, counter at 0, k6, counter, logs. Written to a folder that gets its name only when it is whole.
 * A trial whose counts do not add up is kept and marked invalid, never dropped or repeated.
 * @param {TrialContext} context
 * @param {{trial: number, repetition: number, door: import('./definition.js').DoorName}} cell
 * @param {import('./matrix.js').RepetitionPlan} repetitionPlan
 */
export async function runTrial (context, cell, repetitionPlan) {
  const { definition, stack, stackDirectory, wikiUrl, trialsDirectory, signal } = context
  const door = stack.doors[cell.door]
  const name = String(cell.trial).padStart(4, '0')
  const directory = path.join(trialsDirectory, `${name}.partial`)
  mkdirSync(directory, { recursive: true })
  const startedAt = new Date().toISOString()

  /** Lines that so many requests through this door, and so many that reached the origin, leave in each log. @type {(sent: number, reached: number) => import('./logs.js').PerRole} */
  const linesOf = (sent, reached) => ({ edge: cell.door === 'cached' || cell.door === 'nocache' ? sent : 0, origin: reached, local: cell.door === 'local' ? sent : 0 })

  const beforeProof = logEnds(stackDirectory)
  const coldProof = await purgeAndProveCold({ door, controls: stack.controls, wikiUrl })
  await waitForLogLines(stackDirectory, beforeProof, linesOf(coldProof.observed.length, coldProof.origin_requests))
  const logStarts = logEnds(stackDirectory)

  const k6 = await runK6({ definition, plan: repetitionPlan.plan, url: door.url, directory, signal })
  signal.throwIfAborted()
  const counter = await readCounter(wikiUrl)

  const k6Csv = path.join(directory, 'k6.csv.gz')
  /** @type {string[]} */
  const problems = []
  const samples = await extractSamples({ source: k6Csv, target: path.join(directory, 'samples.csv.gz'), plan: repetitionPlan.plan }).catch((error) => {
    problems.push(`k6's samples cannot be read: ${error.message}`)
    return null
  })
  rmSync(k6Csv, { force: true })
  if (statSync(path.join(directory, 'k6.log')).size === 0) rmSync(path.join(directory, 'k6.log'))

  const expectedLines = linesOf(samples?.requests_sent ?? 0, counter.requests)
  const logLines = await waitForLogLines(stackDirectory, logStarts, expectedLines)
  await keepLogs(stackDirectory, logStarts, directory)

  const counterExpected = door.caching ? repetitionPlan.distinct_pages : definition.requests
  const servedByCache = samples?.served_by_cache ?? 0
  const sent = samples?.requests_sent ?? 0
  if (!coldProof.cold) problems.push(`the caches were not cold: the probe saw ${coldProof.observed.map((status) => status || 'no cache').join(', ')} and ${coldProof.origin_requests} requests reached the origin`)
  if (k6.exit_code !== 0) problems.push(`k6 ended with ${k6.exit_code === null ? 'a signal' : `exit code ${k6.exit_code}`}; see k6.log`)
  if (k6.dropped_iterations > 0) problems.push(`k6 dropped ${k6.dropped_iterations} iterations`)
  if (sent !== definition.requests) problems.push(`${sent} of ${definition.requests} planned requests were sent`)
  if (counter.requests !== counterExpected) problems.push(`the counter says ${counter.requests}, expected ${counterExpected}`)
  if (sent !== servedByCache + counter.requests) problems.push(`${sent} requests sent ≠ ${servedByCache} served by cache + ${counter.requests} at the origin`)
  for (const role of LOG_ROLES) {
    if (logLines[role] !== expectedLines[role]) problems.push(`the ${role} log has ${logLines[role]} lines, expected ${expectedLines[role]}`)
  }

  const result = {
    ...cell,
    valid: problems.length === 0,
    invalid_reasons: problems,
    started_at: startedAt,
    finished_at: new Date().toISOString(),
    cold_proof: coldProof,
    requests_planned: definition.requests,
    requests_sent: sent,
    requests_failed: samples?.requests_failed ?? null,
    distinct_pages: repetitionPlan.distinct_pages,
    counter,
    counter_expected: counterExpected,
    served_by_cache: servedByCache,
    cache_statuses: samples?.cache_statuses ?? {},
    duration_mean_ms: samples?.duration_mean_ms ?? null,
    duration_max_ms: samples?.duration_max_ms ?? null,
    log_lines: logLines,
    k6
  }
  writeFileSync(path.join(directory, 'trial.json'), `${JSON.stringify(result, null, 2)}\n`)
  renameSync(directory, path.join(trialsDirectory, name))
  return result
}
