import { createBuffered } from './buffered.js'
import { createWriteBehind } from './write-behind.js'
import { WRITE_BEHIND } from './strategy-names.js'
import { unsafeAsync } from './unsafe-async.js'
import { unsafeBulk } from './unsafe-bulk.js'
import { unsafeGroup } from './unsafe-group.js'

/** @import {DeferredSave} from './save.js' */
/** @import {DEFERRED_STRATEGIES, IN_MEMORY_STRATEGIES} from './strategy-names.js' */

/**
 * What becomes of saves between their answer and the database.
 * @typedef {object} Strategy
 * @property {(size: number) => void} refuseWhenFull  before anything costly is done; throws 503
 * @property {(save: DeferredSave) => Promise<void>} add  once it resolves, the save is acknowledged; throws 503
 * @property {(id: string, name: string) => Promise<boolean>} isWaiting  as far as this process knows; throws 503
 * @property {() => {records: number, bytes: number}} waiting
 * @property {() => number} batches  that this process has begun to store
 * @property {() => Promise<void>} open
 * @property {() => void} hurry  the wiki is about to stop: nothing waits for others any more
 * @property {(withinMs: number) => Promise<void>} close  stores what waits, then forgets it; says what is lost
 * @property {import('./deferred-links.js').WaitingLinks} [links]  if short addresses wait, too
 */

/** @satisfies {Record<(typeof IN_MEMORY_STRATEGIES)[number], import('./buffered.js').Schedule>} */
const IN_MEMORY = { 'unsafe-async': unsafeAsync, 'unsafe-group': unsafeGroup, 'unsafe-bulk': unsafeBulk }

/** As in the study. */
const COLLECTED = { max: 1_000, waitMs: 1_000 }

/**
 * @typedef {Omit<Parameters<typeof createBuffered>[0], 'schedule' | 'max' | 'waitMs'>} Parts
 * @typedef {Omit<Parameters<typeof createWriteBehind>[0], keyof Parts>} InRedis
 * @param {(typeof DEFERRED_STRATEGIES)[number]} name
 * @param {Parts & {log: import('fastify').FastifyBaseLogger}} parts
 * @param {() => InRedis} inRedis  what a strategy needs whose saves wait there
 * @returns {Strategy}
 */
export const createStrategy = (name, parts, inRedis) => name === WRITE_BEHIND
  ? createWriteBehind({ ...parts, ...inRedis() })
  : createBuffered({ ...parts, ...COLLECTED, schedule: IN_MEMORY[name] })
