import { createStorePicture } from './pictures.js'
import { createPlaces } from './place.js'
import { createReadPage } from './read-page.js'
import { createRedirects } from './redirects.js'
import { addTo, noTotals } from './report.js'
import { createWriteChunk } from './write-chunk.js'

/** @import {FileStore} from '../files/store.js' */
/** @import {Models} from '../pages/model.js' */
/** @import {PageStore} from '../pages/store.js' */
/** @import {LeftOut, Moved, Untaken} from './content.js' */
/** @import {Outcome} from './report.js' */
/** @import {OnConflict} from './store-page.js' */

/** Pages that are rendered and written while the next ones are read. */
const PAGES_AT_ONCE = 64
const BYTES_AT_ONCE = 16_777_216

/**
 * @typedef {object} Parts
 * @property {PageStore} store
 * @property {FileStore} files
 * @property {Models} models
 * @property {string} kind  of the other wiki, see kinds.js
 * @property {number} maxBytes  of a text
 * @property {OnConflict} [onConflict]
 * @property {boolean} [dryRun]
 * @property {AbortSignal} [signal]
 * @property {() => number} [now]  ms
 */

/**
 * Moves another wiki in. What is here already stays as it is, so a run that broke off is continued by the same again.
 * @param {Parts} parts
 */
export function createMoving ({
  store, files, models, kind, maxBytes, onConflict = 'keep', dryRun = false, signal, now = Date.now
}) {
  const places = createPlaces(models, kind)
  const storePicture = createStorePicture({ files, dryRun })
  /** In a dry run, what redirects may lead to. @type {Set<string>} */
  const wouldBe = new Set()
  /** In a dry run, names that pages would have left. @type {Set<string>} */
  const wouldLead = new Set()
  const { readPage, newestStored } = createReadPage({
    store,
    writeChunk: createWriteChunk({ store, dryRun, now }),
    kind,
    maxBytes,
    onConflict,
    dryRun,
    places,
    onFound (name, from) {
      if (!dryRun) return
      wouldBe.add(name)
      if (from !== undefined) wouldLead.add(from)
    },
    signal
  })

  /** @param {AsyncIterable<Moved>} things @returns {AsyncGenerator<Outcome>} */
  async function * outcomes (things) {
    const redirects = createRedirects({ store, places, onConflict, dryRun, wouldBe, wouldLead, signal })
    const queue = createInOrder()
    try {
      for await (const thing of things) {
        signal?.throwIfAborted()
        if (thing.kind === 'page') {
          const { bytes, finish } = await readPage(thing)
          queue.push(finish(), bytes)
        } else if (thing.kind === 'redirect') {
          const problem = await redirects.add(thing)
          if (problem !== null) queue.push(Promise.resolve(problem), 0)
        } else {
          // Awaited: a picture is stored before the texts that show it are read.
          const outcome = thing.kind === 'picture' ? await storePicture(thing) : notedOf(thing)
          queue.push(Promise.resolve(outcome), 0)
        }
        while (queue.isFull()) yield await queue.shift()
      }
      while (queue.length() > 0) yield await queue.shift()
      yield * redirects.run()
    } finally {
      await queue.settle()
      await redirects.close()
    }
  }

  return {
    /** For the reader, see content.js. */
    newestStored,

    /**
     * @param {AsyncIterable<Moved>} things
     * @param {(outcome: Outcome, totals: import('./report.js').Totals) => void | Promise<void>} [onOutcome]
     * @returns {Promise<import('./report.js').Totals>}
     * @throws {Error} AbortError; of the reader; of the database: what is written so far stays
     */
    async run (things, onOutcome = () => {}) {
      const totals = noTotals()
      for await (const outcome of outcomes(things)) {
        addTo(totals, outcome)
        await onOutcome(outcome, totals)
      }
      return totals
    }
  }
}

/** @param {Untaken | LeftOut} thing @returns {Outcome} */
function notedOf (thing) {
  const { kind, source, reason } = thing
  return { source, result: kind, problem: reason, ...kind === 'left-out' && { count: thing.count } }
}

/** Results in the order in which they were begun. */
function createInOrder () {
  /** @type {{result: Promise<Outcome>, bytes: number}[]} */
  const waiting = []
  let bytes = 0
  return {
    /** @param {Promise<Outcome>} result @param {number} size */
    push (result, size) {
      // Awaited later; until then a rejection must not count as unhandled.
      result.catch(() => {})
      waiting.push({ result, bytes: size })
      bytes += size
    },
    isFull: () => waiting.length >= PAGES_AT_ONCE || bytes > BYTES_AT_ONCE,
    length: () => waiting.length,
    async shift () {
      const outcome = await waiting[0].result
      bytes -= waiting[0].bytes
      waiting.shift()
      return outcome
    },
    settle: () => Promise.allSettled(waiting.map(({ result }) => result))
  }
}
