import createError from '@fastify/error'
import { realClock } from '../process/clock.js'
import { retryAfter } from './retry-after.js'

/** A balancer asks /readyz twice within this time; nginx/lua/wikis.lua does so every 0.5 s. */
const WATCHED_MS = 2_000
/** nginx takes a wiki out after three bad answers. */
const NOTICED_MS = 2_000
/** A balancer that has noticed sends no further request. */
const QUIET_MS = 500
/** Part of STOP_MAX_MS of server.js. */
const WITHDRAW_MAX_MS = 3_000
const LOOK_MS = 50

const Stopping = createError('WIKI_STOPPING', 'This process of the wiki is about to stop.', 503)

/**
 * What /readyz says. A process that stops says so, and serves on until balancers that watch it have noticed: a request
 * on a connection that it closes meanwhile would fail.
 * @param {object} [options]
 * @param {number} [options.workers]  processes that share the port, and so the questions
 * @param {Pick<import('../process/clock.js').Clock, 'now' | 'sleep'>} [options.clock]
 */
export function createReadiness ({ workers = 1, clock = realClock } = {}) {
  /** When a balancer asked last, and before that. */
  let [lastAskedMs, beforeMs] = [-Infinity, -Infinity]
  let lastRequestMs = -Infinity
  let stopping = false

  const note = () => { [lastAskedMs, beforeMs] = [clock.now(), lastAskedMs] }
  const isWatched = () => clock.now() - beforeMs < WATCHED_MS * workers

  return {
    /**
     * Balancers that have been refused before expect no request to succeed, so only good answers count.
     * @param {() => Promise<void>} check  throws when the process is not ready
     * @throws {Error} 503
     */
    async answer (check) {
      if (stopping) {
        note()
        throw retryAfter(new Stopping())
      }
      await check()
      note()
    },

    /**
     * Resolves once no balancer sends requests, at once if none has asked lately. Each response ends its connection.
     * @param {import('node:http').Server} server
     */
    async withdraw (server) {
      stopping = true
      const sinceMs = clock.now()
      server.prependListener('request', (request, response) => {
        response.shouldKeepAlive = false
        if (request.url !== '/readyz') lastRequestMs = clock.now()
      })
      const isNoticed = () => clock.now() - sinceMs >= NOTICED_MS && clock.now() - lastRequestMs >= QUIET_MS
      while (isWatched() && !isNoticed() && clock.now() - sinceMs < WITHDRAW_MAX_MS) await clock.sleep(LOOK_MS)
    }
  }
}

/** @typedef {ReturnType<typeof createReadiness>} Readiness */
