import { UsageError } from '../../usage-error.js'
import { openBoard } from './board.js'
import { createLocalOrigin } from './local.js'
import { openHost, parseHost } from './host.js'

/**
 * What a manifest says of the machine that the wiki and its nginx ran on (docs/results-format.md).
 * @typedef {object} OriginFacts
 * @property {'local' | 'board' | 'ssh'} kind
 * @property {boolean} emulated  its CPU is a program: its requests a second are nobody's
 * @property {string | null} machine  what it calls itself; null: this machine
 * @property {string | null} kernel
 * @property {number | null} cores
 * @property {number | null} memory_bytes
 * @property {string | null} image_sha256  of the card image, where it is known
 */

/**
 * Settings of the wiki, over those that it takes from this command's environment; undefined takes one of those away.
 * @typedef {Record<string, string | undefined>} WikiEnvironment
 */

/**
 * What a start is told.
 * @typedef {object} OriginStart
 * @property {string} directory  the stack's own
 * @property {string} mongodbUri  as this machine reaches it
 * @property {number} wikiPort  of 127.0.0.1, where the wiki itself is to answer
 * @property {number} nginxPort  of 127.0.0.1, free, for an origin that needs one
 * @property {number} purgePort  of 127.0.0.1, where the edge is told of edits: the wiki reaches it under this name, too
 * @property {WikiEnvironment} wikiEnvironment
 * @property {number} [requestsAtOnceMax]  of the nginx that is started for it; default: any number
 * @property {boolean} outlive  see startProcess
 * @property {string[]} cgroups  see startProcess
 * @property {AbortSignal} [signal]
 * @property {(identity: import('@stevec/harness/processes').ProcessIdentity) => void} onStart
 * @property {(part: string) => void} onPart
 */

/**
 * Where the wiki and the nginx in front of it run. Database, edge, the client's proxy and the links are on this machine in any case.
 * @typedef {object} Origin
 * @property {OriginFacts} facts
 * @property {(options: OriginStart) => Promise<{address: string, configHash: string | null}>} start  makes it a wiki with this database and these settings; `address` is its nginx
 * @property {() => OriginRecord} record  for those who find the stack later
 * @property {(wikiEnvironment: WikiEnvironment) => Promise<void>} restartWiki  of a started one: other settings; its nginx and its database go on
 * @property {() => Promise<void>} killNginx  as a crash would: nothing is finished, nothing more is logged; the wiki lives on
 * @property {() => Promise<void>} startNginx  again, as it was
 * @property {() => number | null} nginxPid  of its master, when that is a child of this process
 * @property {(directory: string) => Promise<void>} fetchLog  brings <directory>/origin/access.log up to date
 * @property {(onSample: (sample: import('@stevec/arm-image/origin-sample').OriginSample) => void) => import('@stevec/arm-image/origin-sample').Sampler} sample  once a second, until it is stopped
 * @property {() => Promise<void>} close  of what was opened for it
 */

/**
 * In a stack's state.
 * @typedef {object} OriginRecord
 * @property {OriginFacts} facts
 * @property {string[] | null} ssh  arguments that reach it, when its own settings have to be given back
 * @property {boolean} booted  whether the board was switched on for this stack
 */

/**
 * @typedef {object} OpenOptions
 * @property {{stateDirectory: string, imageDirectory: string, mongodbUri?: string, wikiEnvironment: Record<string, string>}} config
 * @property {'wiki' | 'lab'} stack  whose origin it will be
 * @property {boolean} [outlive]  see startProcess
 * @property {AbortSignal} signal
 * @property {(text: string) => void} onProgress
 */

/**
 * Understands --origin before anything is started.
 * @param {string} [text]  local (default), board, or ssh://[user@]host[:port]
 * @returns {(options: OpenOptions) => Promise<Origin>} finds it or switches it on
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
 * A profile's limits are for an origin that has all of this machine; another has the limits of its own hardware.
 * @param {import('../../profile/profile.js').Profile} profile
 * @param {string | undefined} origin  as asked for
 * @throws {UsageError} when the two do not go together
 */
export function refuseTwiceLimited ({ name, asked }, origin) {
  if (origin === undefined || origin === 'local') return
  const { cpu_share: cpuShare, memory_bytes: memoryBytes, delay_ms: delayMs } = asked.origin
  if (cpuShare === null && memoryBytes === null && delayMs === 0) return
  throw new UsageError(`the profile ${name} makes this machine as slow as a board, and --origin ${origin} is one: leave one of the two out, or take a profile that has links only`)
}
