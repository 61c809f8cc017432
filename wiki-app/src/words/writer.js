import { setTimeout as sleep } from 'node:timers/promises'
import { currentFile, discard, lockIn, openIndex, removeFormer } from './file.js'
import { followChanges, isPositionLost } from './follower.js'
import { takeLock } from './lock.js'
import { isCorrupt } from './sqlite.js'
import { bringUpToDate, clusterTimeOf, createSource, identityOf, textOfTimestamp, timestampOf } from './source.js'
import { sweep } from './sweep.js'

/** @import {FastifyBaseLogger} from 'fastify' */
/** @import {Collection, Db} from 'mongodb' */
/** @import {Connection} from 'mongoose' */
/** @import {Index} from './file.js' */
/** @import {Batch} from './follower.js' */

const RETRY_MIN_MS = 500
const RETRY_MAX_MS = 10_000
/** While another process writes. */
const LOCK_RETRY_MS = 5_000
/** The promise of a wiki without much to do. */
const BEHIND_MS = 1_000
/** A batch that was late is the last if nothing follows for so long. */
const SETTLE_MS = 200
/** A position that nothing moves falls out of the oplog. */
const POSITION_MAX_AGE_MS = 600_000

/** A command has built another index, or somebody has found this one corrupt. */
class Replaced extends Error {}

/**
 * Keeps the index as the database is, in one process of those that share its folder.
 * @param {object} options
 * @param {Connection} options.connection
 * @param {string} options.collection  of pages
 * @param {import('./folder.js').Folder} options.folder
 * @param {Pick<FastifyBaseLogger, 'warn' | 'info'>} options.log
 */
// eslint-disable-next-line max-lines-per-function -- a closure that is the object: its methods share private state
export function createWriter ({ connection, collection, folder, log }) {
  const closing = new AbortController()
  const { signal } = closing
  /** @type {Promise<unknown>} */
  let last = Promise.resolve()
  /** @template T @param {() => Promise<T>} work @returns {Promise<T>} */
  const exclusive = (work) => {
    const result = last.then(work)
    last = result.catch(() => {})
    return result
  }
  let running = Promise.resolve()
  /** @type {{free: () => void} | null} */
  let lock = null
  /** @type {{error: Error, sinceMs: number} | null} */
  let failure = null
  /** Of a change that is not in the index yet. @type {number | null} */
  let waitingSinceMs = null
  let indexed = 0

  /** @returns {Promise<void>} ends when the collection is gone or was made anew */
  async function lead () {
    const db = /** @type {Db} */ (connection.db)
    const database = await identityOf(db, collection)
    const { index, replaced } = await openIndex(folder.path, {
      database, lasting: folder.lasting, clusterTime: () => clusterTimeOf(db)
    })
    if (replaced !== null) log.info(`the index of words is built anew: ${replaced}`)
    try {
      await doubtPosition(index, await clusterTimeOf(db))
      await run(index, db.collection(collection))
    } catch (error) {
      if (error instanceof Replaced) return
      if (isCorrupt(error)) discard(folder.path)
      if (!isPositionLost(error)) {
        await index.setState({ failing_since_ms: Date.now() }).catch(() => {})
        throw error
      }
      log.warn(`changes of pages can no longer be read, so all pages are compared with the index of words: ${
        /** @type {Error} */ (error).message}`)
      await startAnew(index, await clusterTimeOf(db))
    } finally {
      index.close()
    }
  }

  /** A database whose time is before the index's was restored. @param {Index} index @param {string} clusterTime */
  async function doubtPosition (index, clusterTime) {
    const { cluster_time: known } = await index.state()
    if (BigInt(clusterTime) >= BigInt(known)) return
    log.warn('the database is older than the index of words, so all pages are compared with it')
    await startAnew(index, clusterTime)
  }

  /** @param {Index} index @param {string} clusterTime */
  async function startAnew (index, clusterTime) {
    waitingSinceMs = null
    await index.setState({
      position: null, cluster_time: clusterTime, building: 1, swept: '', pending_since_ms: null, failing_since_ms: null
    })
  }

  /** @param {Index} index @param {Collection<any>} pages */
  async function run (index, pages) {
    const source = createSource(pages, connection.getClient())
    const state = await index.state()
    const from = state.position === null
      ? { startAtOperationTime: timestampOf(state.cluster_time) }
      : { resumeAfter: JSON.parse(state.position) }
    const over = new AbortController()
    const either = AbortSignal.any([signal, over.signal])
    let savedAtMs = performance.now()
    /** @type {unknown[]} */
    const errors = []
    const guarded = (/** @type {Promise<unknown>} */ work) => work.catch((error) => {
      errors.push(error)
      over.abort()
    })
    await Promise.all([
      guarded(followChanges(pages, {
        from,
        signal: either,
        onOpen: () => { exclusive(() => recovered(index)).catch(() => {}) },
        onBatch: (batch) => exclusive(() => onBatch(index, source, batch)),
        onQuiet: (position) => exclusive(async () => {
          refuseOther(index)
          const { pending_since_ms: pending } = await index.state()
          const isOld = performance.now() - savedAtMs > POSITION_MAX_AGE_MS
          if (pending === null && !isOld) return
          savedAtMs = performance.now()
          await index.setState({ pending_since_ms: null, ...position ? { position: JSON.stringify(position) } : {} })
        })
      }).finally(() => over.abort())),
      guarded(sweep(index, source, { exclusive, signal: either }).then((pages) => {
        indexed += pages
        return signal.aborted ? undefined : removeFormer(folder.path).catch(cannotRemove)
      }))
    ])
    if (errors.length > 0 && !signal.aborted) throw errors[0]
  }

  /** @param {Index} index @param {import('./source.js').Source} source @param {Batch} batch */
  async function onBatch (index, source, { names, position, clusterTime, firstAtMs, lastAtMs, isFull }) {
    refuseOther(index)
    waitingSinceMs = firstAtMs
    const time = textOfTimestamp(clusterTime)
    const heads = await source.headsOf(names, time)
    const there = new Set(heads.map(({ _id }) => _id))
    const stored = await index.revisionsOf(names)
    const isLate = isFull || Date.now() - lastAtMs > BEHIND_MS
    indexed += await bringUpToDate(index, source, {
      heads,
      stored,
      gone: names.filter((name) => !there.has(name)),
      clusterTime: time,
      state: {
        position: JSON.stringify(position), cluster_time: time, pending_since_ms: isLate ? lastAtMs : null
      }
    })
    waitingSinceMs = null
    return { settleMs: isLate ? SETTLE_MS : null }
  }

  /** @param {Error} error */
  const cannotRemove = ({ message }) => log.warn(`the index of an earlier version cannot be removed: ${message}`)

  /** @param {Index} index */
  function refuseOther (index) {
    if (currentFile(folder.path) !== index.file) throw new Replaced()
  }

  /** @param {Index} index */
  async function recovered (index) {
    if ((await index.state()).failing_since_ms !== null) await index.setState({ failing_since_ms: null })
    if (failure !== null) log.warn('the index of words is kept up again')
    failure = null
  }

  async function writeUntilClosed () {
    for (let pauseMs = RETRY_MIN_MS; !signal.aborted;) {
      try {
        if (connection.db) {
          lock ??= await takeLock(lockIn(folder.path))
          if (lock !== null) await lead()
        }
        pauseMs = connection.db && lock === null ? LOCK_RETRY_MS : RETRY_MIN_MS
      } catch (error) {
        onFailure(/** @type {Error} */ (error))
        pauseMs = Math.min(RETRY_MAX_MS, 2 * pauseMs)
      }
      await sleep(pauseMs, undefined, { signal, ref: false }).catch(() => {})
    }
  }

  /** @param {Error} error */
  function onFailure (error) {
    if (signal.aborted) return
    if (failure === null) log.warn(`changes of pages are not searched now: ${error.message}`)
    failure = { error, sinceMs: failure?.sinceMs ?? Date.now() }
  }

  return {
    open () { running = writeUntilClosed() },
    async close () {
      closing.abort()
      await running
      lock?.free()
    },
    /** @returns {{failure: Error | null, behindSinceMs: number | null, indexed: number}} as this process knows it */
    state: () => ({
      failure: failure?.error ?? null,
      behindSinceMs: waitingSinceMs ?? failure?.sinceMs ?? null,
      indexed
    })
  }
}

/** @typedef {ReturnType<typeof createWriter>} Writer */
