import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { purgeAndProveCold } from '../lab/cold.js'
import { readCounter } from '../lab/counter.js'
import { loadDefinition } from '../lab/definition.js'
import { createLogs } from '../lab/logs.js'
import { createProgress } from '../lab/progress.js'
import { runExperiment } from '../lab/run.js'
import { storesPages } from '../lab/storing.js'
import { loadProfile } from '../profile/profile.js'
import { KnownServer } from './known-server.js'

/**
 * What stands between k6 and a known server.
 * @typedef {{url: string, processes: import('../lab/site.js').Site['processes'], close: () => Promise<void>}} Between
 */

/**
 * @typedef {object} KnownRun
 * @property {string} name
 * @property {Partial<import('../lab/definition.js').Settings>} settings
 * @property {Record<string, import('../lab/definition.js').Factor>} [factors]
 * @property {number} [repetitions]
 * @property {import('./known-server.js').Behaviour} behaviour
 * @property {boolean} [lean]  true: a server with as little work per request as possible
 * @property {number} [threads]  see GeneratorOptions
 * @property {import('../machine/reading.js').WatchedProcess[]} [processes]  that serve requests
 * @property {(url: string) => Promise<Between>} [through]  something between k6 and the
 *   server
 * @property {() => number} [wallClockMs]
 * @property {import('../remote/remote-generators.js').RemoteGenerators} [remote]  instead of k6 on this machine
 */

/**
 * Runs the lab as `stevec run` does, with the same k6, plan, trial, judge and files, but against a known server instead
 * of a stack.
 * @param {KnownRun} known
 * @param {{directory: string, signal: AbortSignal}} context
 * @returns {Promise<string>} the folder of the run
 */
export async function doKnownRun (
  {
    name, settings, factors, repetitions = 1, behaviour, lean = false, threads, processes = [], through, wallClockMs,
    remote
  },
  { directory, signal }
) {
  const ownDirectory = path.join(directory, name)
  mkdirSync(ownDirectory, { recursive: true })
  const file = path.join(ownDirectory, `${name}.json`)
  const { door = 'source' } = settings
  writeFileSync(file, JSON.stringify({
    id: 'V',
    name,
    title: name,
    why: 'Its answer is known.',
    hypothesis: 'It is measured.',
    expected: 'What is known.',
    settings: { page_size_chars: 100, duration_max_s: 120, ...settings, door },
    factors: factors ?? { door: [door] },
    presets: { quick: { repetitions } }
  }))
  const definition = loadDefinition(file, 'quick')
  const stackDirectory = path.join(ownDirectory, 'stack')
  const server = new KnownServer(stackDirectory, door === 'cached', behaviour)
  const { url: serverUrl, counterUrl, close } = await (lean ? server.listenLean() : server.listen())
  const run = path.join(ownDirectory, 'run')
  /** @type {Between | undefined} */
  let between
  try {
    between = await through?.(serverUrl)
    const url = between?.url ?? serverUrl
    const site = knownSite({
      url,
      counterUrl,
      stackDirectory,
      caching: server.caching,
      processes: () => [...processes, ...between?.processes() ?? []]
    })
    const profile = loadProfile('none', { stateDirectory: ownDirectory })
    await runExperiment({
      definition,
      directory: run,
      preset: 'quick',
      seed: 1,
      command: 'stevec verify',
      profile,
      site,
      signal,
      progress: createProgress(() => {}),
      threads,
      wallClockMs,
      remote
    })
  } finally {
    await between?.close()
    close()
    rmSync(stackDirectory, { recursive: true, force: true })
  }
  return run
}

/**
 * Returns the site of a known server, which needs no preparation.
 * @param {{url: string, counterUrl: string, stackDirectory: string, caching: boolean,
 *   processes: import('../lab/site.js').Site['processes']}} options
 * @returns {import('../lab/site.js').Site}
 */
function knownSite ({ url, counterUrl, stackDirectory, caching, processes }) {
  const door = { url, caching, path: 'a server of known answers' }
  const doors = { source: door, nocache: door, local: door, cached: door }
  return {
    identity: {},
    facts: { target: null },
    logs: createLogs(stackDirectory),
    processes,
    quotaCores: null,
    links: false,
    hasPops: () => false,
    start: async () => ({ doors, config_hashes: {} }),
    prepare: async () => ({ doors, warmUp: null }),
    proveCold: (settings) => purgeAndProveCold({
      door,
      stores: storesPages(door, settings),
      controls: {},
      wikiUrls: [counterUrl]
    }),
    readCounter: () => readCounter(counterUrl),
    causeFault: async () => { throw new Error('the servers of `stevec verify` have no faults') },
    watchPurges: () => async () => null,
    admit: async () => {},
    ended () {},
    close: async () => {}
  }
}
