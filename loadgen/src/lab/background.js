import { createServer } from 'node:http'
import { waitUntil } from '../stack/processes.js'
import { countLinesSince, logOfDoor } from './logs.js'
import { backgroundPlan } from './matrix.js'

/** How long the first round of a background's requests may take before the probe starts all the same; the overlap is judged from timestamps. */
const FLOWING_TIMEOUT_MS = 60_000
/** A lab that hangs must not leave a load running for ever. */
const DURATION_BEYOND_PROBE_S = 900

/**
 * Starts readers beside the probe, and comes back when as many requests as there are readers have been answered.
 * @param {object} options
 * @param {import('./generator.js').Generators} options.generators
 * @param {Omit<import('./generator.js').GeneratorSettings, 'summary_file'>} options.probe  its settings
 * @param {number} options.vus
 * @param {string} options.directory
 * @param {string} options.stackDirectory
 * @param {import('./definition.js').DoorName} options.door
 * @param {import('./logs.js').PerRole} options.logStarts
 * @param {AbortSignal} options.signal
 */
export async function startBackground ({ generators, probe, vus, directory, stackDirectory, door, logStarts, signal }) {
  const switchboard = await listenForEnd()
  try {
    const generator = await generators.start({
      name: 'background',
      directory,
      settings: {
        ...probe,
        plan: backgroundPlan(probe.plan),
        model: 'closed',
        rate_per_s: null,
        vus,
        pause_s: 0,
        duration_max_s: probe.duration_max_s + DURATION_BEYOND_PROBE_S,
        until_url: switchboard.url
      }
    })
    let ended = false
    const done = generator.done.finally(() => {
      ended = true
      switchboard.close()
    })
    await waitUntil(async () => ended || signal.aborted || await countLinesSince(stackDirectory, logOfDoor(door), logStarts) >= vus, FLOWING_TIMEOUT_MS, 50)
    return {
      csvFile: generator.csvFile,
      cpuSeconds: generator.cpuSeconds,
      /** Lets each reader have its last answer, and ends. */
      async stop () {
        switchboard.tell()
        return done
      }
    }
  } catch (error) {
    switchboard.close()
    throw error
  }
}

/** A listener on loopback that answers only once it is told to. */
async function listenForEnd () {
  /** @type {Set<import('node:http').ServerResponse>} */
  const waiting = new Set()
  let told = false
  const server = createServer((_request, response) => {
    if (told) response.end()
    else waiting.add(response)
  })
  await new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, '127.0.0.1', () => resolve(undefined))
  })
  return {
    url: `http://127.0.0.1:${/** @type {import('node:net').AddressInfo} */ (server.address()).port}/until`,
    tell () {
      told = true
      for (const response of waiting) response.end()
    },
    close () {
      server.close()
      server.closeAllConnections()
    }
  }
}
