import { createServer } from 'node:http'
import { waitUntil } from '@stevec/harness/processes'
import { backgroundPlan } from './matrix.js'

/** Limit for the first round of requests. The probe then starts in any case; timestamps decide about the overlap. */
const FIRST_ROUND_TIMEOUT_MS = 120_000
/** Ends the load even if the lab hangs. */
const DURATION_BEYOND_PROBE_S = 900

/**
 * Starts readers beside the probe. Resolves once each reader has its first response: all readers start at once, and
 * Node accepts one connection per turn of its event loop. An earlier probe would wait behind that burst and measure the
 * burst instead of the load.
 * @param {object} options
 * @param {import('./generator.js').Generators} options.generators
 * @param {import('./generator.js').GeneratorSettings} options.probe  settings of the probe
 * @param {number} options.vus
 * @param {string} options.directory
 * @param {AbortSignal} options.signal
 */
export async function startBackground ({ generators, probe, vus, directory, signal }) {
  const endSignal = await listenForEnd()
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
        until_url: endSignal.url
      }
    })
    let ended = false
    const done = generator.done.finally(() => {
      ended = true
      endSignal.close()
    })
    await waitUntil(() => ended || signal.aborted || endSignal.answered() >= vus, FIRST_ROUND_TIMEOUT_MS)
    return {
      csvFile: generator.csvFile,
      /** Ends the background; each reader still gets its last response. */
      async stop () {
        endSignal.send()
        return done
      }
    }
  } catch (error) {
    endSignal.close()
    throw error
  }
}

/** Listens on loopback: `/until` stays open until `send()`; `/until/answered` counts calls and responds at once. */
export async function listenForEnd () {
  /** @type {Set<import('node:http').ServerResponse>} */
  const waiting = new Set()
  let isOver = false
  let answered = 0
  const server = createServer((request, response) => {
    const counts = request.url === '/until/answered'
    if (counts) answered += 1
    if (isOver || counts) response.end()
    else waiting.add(response)
  })
  await new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, '127.0.0.1', () => resolve(undefined))
  })
  return {
    url: `http://127.0.0.1:${/** @type {import('node:net').AddressInfo} */ (server.address()).port}/until`,
    answered: () => answered,
    send () {
      isOver = true
      for (const response of waiting) response.end()
    },
    close () {
      server.close()
      server.closeAllConnections()
    }
  }
}
