import { UsageError } from '../../usage-error.js'
import { openBoard } from './board.js'
import { createLocalOrigin } from './local.js'
import { openHost, parseHost } from './host.js'

/**
 * A manifest's facts about the machine of the wiki and its nginx (docs/results-format.md).
 * @typedef {object} OriginFacts
 * @property {'local' | 'board' | 'ssh'} kind
 * @property {boolean} emulated  its CPU is emulated in software: its request rates stand for no real machine
 * @property {string | null} machine  its own name for itself; null: this machine
 * @property {string | null} kernel
 * @property {number | null} cores
 * @property {number | null} memory_bytes
 * @property {string | null} image_sha256  of the card image, if known
 */

/**
 * Settings of the wiki that override this command's environment; undefined removes one.
 * @typedef {Record<string, string | undefined>} WikiEnvironment
 */

/**
 * @typedef {object} OriginStart
 * @property {string} directory  of the stack
 * @property {string} mongodbUri  as seen from this machine
 * @property {number[]} wikiPorts  on 127.0.0.1, one for each wiki; an origin on another machine has one
 * @property {number} nginxPort  on 127.0.0.1, free, for an origin that needs one
 * @property {import('@stevec/nginx').Tls & {port: number}} [tls]  of its clients on another port, for a local origin
 * @property {number[]} purgePorts  on 127.0.0.1, where the edges accept purges; the wiki uses the same addresses
 * @property {WikiEnvironment} wikiEnvironment
 * @property {number} [requestsAtOnceMax]  of a new nginx to the wiki; default: any number
 * @property {boolean} outlive  see startProcess
 * @property {string[]} cgroups  see startProcess
 * @property {string[][]} [wikiCgroups]  of each wiki instead
 * @property {AbortSignal} [signal]
 * @property {(identity: import('@stevec/harness/processes').ProcessIdentity) => void} onStart
 * @property {(part: string) => void} onPart
 */

/**
 * The place of the wiki and the nginx in front of it. Database, edge, the client's proxy and the links are always on
 * this machine.
 * @typedef {object} Origin
 * @property {OriginFacts} facts
 * @property {(options: OriginStart) => Promise<{address: string, configHash: string | null}>} start  starts a wiki with
 *   this database and these settings; `address` is its nginx
 * @property {() => OriginRecord} record  for commands that find the stack later
 * @property {(wikiEnvironment: WikiEnvironment) => Promise<void>} restartWiki  with other settings; its nginx and its
 *   database keep running
 * @property {() => Promise<void>} killNginx  like a crash: requests in flight get no response and no log line; the wiki
 *   keeps running
 * @property {() => Promise<void>} startNginx  again, unchanged
 * @property {() => number | null} nginxPid  of its master, if that is a child of this process
 * @property {(directory: string) => Promise<void>} fetchLog  updates <directory>/origin/access.log
 * @property {(onSample: (sample: import('@stevec/arm-image/origin-sample').OriginSample) => void) =>
 *   import('@stevec/arm-image/origin-sample').Sampler} sample  once a second, until stopped
 * @property {() => import('../../machine/reading.js').WatchedProcess[]} [processes]  of this machine that run the
 *   origin, if the stack did not start them
 * @property {() => Promise<void>} close  releases what was opened for it
 */

/**
 * An origin in a stack's state.
 * @typedef {object} OriginRecord
 * @property {OriginFacts} facts
 * @property {string[] | null} ssh  arguments that reach it, if its own settings must be restored
 * @property {boolean} booted  whether the board was switched on for this stack
 */

/**
 * @typedef {object} OpenOptions
 * @property {{stateDirectory: string, imageDirectory: string, mongodbUri?: string,
 *   wikiEnvironment: Record<string, string>}} config
 * @property {'wiki' | 'lab'} stack  that the origin will serve
 * @property {boolean} [outlive]  see startProcess
 * @property {AbortSignal} signal
 * @property {(text: string) => void} onProgress
 */

/**
 * Parses --origin before anything starts.
 * @param {string} [text]  local (default), board, or ssh://[user@]host[:port]
 * @returns {(options: OpenOptions) => Promise<Origin>} opens the origin: finds it or switches it on
 * @throws {UsageError}
 */
export function originOption (text = 'local') {
  if (text === 'local') return async () => createLocalOrigin()
  if (text === 'board') return openBoard
  if (text.startsWith('ssh://')) {
    const host = parseHost(text)
    return (options) => openHost(host, options)
  }
  throw new UsageError(`--origin is local, board or ssh://[user@]host[:port], not "${text}"`)
}

/**
 * Refuses a profile's limits for a remote origin: they assume all of this machine, and another has its own hardware's.
 * @param {import('../../profile/profile.js').Profile} profile
 * @param {string | undefined} origin  as requested
 * @throws {UsageError} when the two exclude each other
 */
export function refuseTwiceLimited ({ name, asked }, origin) {
  if (origin === undefined || origin === 'local') return
  const { cpu_share: cpuShare, memory_bytes: memoryBytes, delay_ms: delayMs } = asked.origin
  if (cpuShare === null && memoryBytes === null && delayMs === 0) return
  throw new UsageError(`the profile ${name} limits CPU, memory or delay of this machine, but with --origin ${origin} the wiki runs on another: leave one of the two out, or use a profile with links only`)
}
