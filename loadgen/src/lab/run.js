import { rmSync } from 'node:fs'
import path from 'node:path'
import { request } from '../stack/doors.js'
import { flexiblePorts, startStack, stopStack } from '../stack/stack.js'
import { PROBE_PAGE } from './cold.js'
import { writePages } from './content.js'
import { labDatabase } from './database.js'
import { acquireLock } from './lock.js'
import { gitState, hostFacts, SCHEMA_VERSION, versions, writeManifest } from './manifest.js'
import { orderTrials, planRun } from './matrix.js'
import { createRunDirectory } from './results.js'
import { runTrial } from './trial.js'
import { warmUp } from './warm-up.js'

/**
 * Runs an experiment on a stack of its own, with a database of its own: a wiki that someone uses is neither measured nor written to.
 * @param {object} options
 * @param {import('./definition.js').Definition} options.definition
 * @param {'quick' | 'full'} options.preset
 * @param {number} options.seed
 * @param {string} options.command  as typed, for the manifest
 * @param {{stateDirectory: string, resultsDirectory: string, mongodbUri?: string, ports: Partial<import('../config.js').Ports>}} options.config
 * @param {AbortSignal} options.signal
 * @param {import('./progress.js').Progress} options.progress
 * @returns {Promise<{directory: string, invalid: number}>} the run's folder, and how many of its trials are invalid
 * @throws {Error} when the stack cannot be started or a part of it fails; the folder then says `failed` or `interrupted`
 */
export async function runExperiment ({ definition, preset, seed, command, config, signal, progress }) {
  const stackDirectory = path.join(config.stateDirectory, 'lab')
  const release = acquireLock(path.join(config.stateDirectory, 'lab.lock'))
  const database = config.mongodbUri === undefined ? null : labDatabase(config.mongodbUri)
  try {
    await stopStack(stackDirectory)
    rmSync(stackDirectory, { recursive: true, force: true })
    const { plans, hash } = planRun(definition, seed)
    const trials = orderTrials(definition, seed)
    const { ports, moved } = await flexiblePorts(config.ports)
    progress.starting(definition, { preset, seed, trials: trials.length, moved })

    const host = hostFacts()
    const stack = await startStack({
      directory: stackDirectory,
      mongodbUri: database?.uri,
      ports,
      // A run writes its pages without a name, and all from one address.
      wikiEnvironment: { CACHE_POLICY: 'ttl', CACHE_TTL_S: String(definition.ttl_s), ACCESS: 'open', WRITES_PER_MINUTE: '0' },
      signal,
      onProgress: progress.part
    })
    progress.doors(stack.doors)
    const wikiUrl = `http://127.0.0.1:${ports.wiki}`
    const git = gitState()
    const startedAt = new Date()
    const directory = createRunDirectory(config.resultsDirectory, startedAt, definition.name, git.commit)
    const manifest = {
      schema_version: SCHEMA_VERSION,
      /** @type {import('./manifest.js').RunStatus} */
      status: 'running',
      experiment: definition,
      preset,
      command,
      seed,
      plan_hash: hash,
      plans: plans.map(({ repetition, plan, hash, distinct_pages: distinctPages }) => ({ repetition, hash, requests: plan.requests, distinct_pages: distinctPages })),
      started_at: startedAt.toISOString(),
      /** @type {string | null} */
      finished_at: null,
      trials_planned: trials.length,
      warm_up_requests: 0,
      git,
      versions: versions(),
      host,
      config_hashes: stack.config_hashes,
      doors: stack.doors
    }
    writeManifest(directory, manifest)
    let invalid = 0
    try {
      await writePages({ wikiUrl, seed, pages: definition.pages, sizeChars: definition.page_size_chars, signal })
      await request(`${wikiUrl}/wiki/${PROBE_PAGE}`, { method: 'POST', headers: { 'content-type': 'text/markdown' }, body: 'Read before each trial to prove that the caches are cold.' })
      manifest.warm_up_requests = await warmUp({ door: stack.doors.nocache, pages: definition.pages, signal })
      progress.ready(definition.pages, manifest.warm_up_requests)
      const context = { definition, stack, stackDirectory, wikiUrl, trialsDirectory: path.join(directory, 'trials'), signal }
      for (const cell of trials) {
        signal.throwIfAborted()
        const result = await runTrial(context, cell, plans[cell.repetition - 1])
        if (!result.valid) invalid += 1
        progress.trial(result, trials.length)
      }
      manifest.status = 'complete'
    } catch (error) {
      manifest.status = signal.aborted ? 'interrupted' : 'failed'
      throw error
    } finally {
      manifest.finished_at = new Date().toISOString()
      writeManifest(directory, manifest)
    }
    progress.finished({ directory, trials: trials.length, invalid })
    return { directory, invalid }
  } finally {
    await stopStack(stackDirectory)
    rmSync(stackDirectory, { recursive: true, force: true })
    await database?.drop().catch((error) => progress.warn(`the run's database could not be dropped: ${error.message}`))
    release()
    progress.stopped()
  }
}
