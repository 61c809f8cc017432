import { createServer } from 'node:http'
import { waitUntil } from '@stevec/harness/processes'
import { backgroundPlan } from './matrix.js'

/** How long the first round of a background's requests may take before the probe starts all the same; the overlap is judged from timestamps. */
const FIRST_ROUND_TIMEOUT_MS = 120_000
/** A lab that hangs must not leave a load running for ever. */
const DURATION_BEYOND_PROBE_S = 900

/**
 * Starts readers beside the probe, and comes back when each has had its first answer. All of them begin at once, and Node accepts one connection a turn of
 * its event loop: a probe that came sooner would wait behind that burst, and measure it instead of the load.
 * @param {object} options
 * @param {import('./generator.js').Generators} options.generators
 * @param {Omit<import('./generator.js').GeneratorSettings, 'summary_file'>} options.probe  its settings
 * @param {number} options.vus
 * @param {string} options.directory
 * @param {AbortSignal} options.signal
 */
export async function startBackground ({ generators, probe, vus, directory, signal }) {
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
    await waitUntil(() => ended || signal.aborted || switchboard.answered() >= vus, FIRST_ROUND_TIMEOUT_MS)
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

/** A listener on loopback: `/until` is answered only once it is told to, `/until/answered` counts. */
async function listenForEnd () {
  /** @type {Set<import('node:http').ServerResponse>} */
  const waiting = new Set()
  let told = false
  let answered = 0
  const server = createServer((request, response) => {
    const counts = request.url === '/until/answered'
    if (counts) answered += 1
    if (told || counts) response.end()
    else waiting.add(response)
  })
  await new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, '127.0.0.1', () => resolve(undefined))
  })
  return {
    url: `http://127.0.0.1:${/** @type {import('node:net').AddressInfo} */ (server.address()).port}/until`,
    answered: () => answered,
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
