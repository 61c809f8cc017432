import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import mongoose from 'mongoose'
import { attempt, isOfDocuments } from '../database/transaction.js'

/** @import {Connection} from 'mongoose' */
/** @import {Wait} from '../database/transaction.js' */
/** @import {Edit, Written} from './commit.js' */
/** @import {WriteEdits} from './write-edits.js' */

/** Of Markdown and HTML. A transaction holds all that it writes in memory. */
const BATCH_MAX_BYTES = 16_777_216

/**
 * @typedef {object} Waiting
 * @property {Edit} edit
 * @property {Wait} wait
 * @property {(written: Written) => void} resolve
 * @property {(error: unknown) => void} reject
 */

/**
 * @typedef {object} Parts
 * @property {Connection} connection
 * @property {WriteEdits} writeEdits
 * @property {(edit: Edit, wait: Wait) => Promise<Written>} commitAlone
 * @property {() => void} onCommitted
 * @property {number} max  edits in a transaction
 * @property {number} waitMs  for more edits, after the first of them has come; 0: one edit alone does not wait
 */

/**
 * Commits the edits that wait at the same time in one transaction: the journal is synchronised once for all of them.
 * While it commits, the next ones gather (group commit: DeWitt et al., “Implementation techniques for main memory
 * database systems”, SIGMOD 1984). One transaction runs at a time: two gain nothing more (docs/saving.md).
 * @param {Parts} parts
 */
export function createGroupCommit ({ connection, writeEdits, commitAlone, onCommitted, max, waitMs }) {
  /** @type {Waiting[]} */
  let waiting = []
  let isRunning = false
  let isFull = () => {}

  async function run () {
    isRunning = true
    // Those that come at once are together, without a wait.
    await nextTurn()
    while (waiting.length > 0) {
      if (waitMs > 0 && waiting.length < max) await gather()
      const { batch, rest } = split(waiting, max)
      waiting = rest
      await commitBatch(batch)
    }
    isRunning = false
  }

  /** Resolves after `waitMs`, or when a whole batch waits. */
  async function gather () {
    const full = new AbortController()
    isFull = () => full.abort()
    await sleep(waitMs, undefined, { signal: full.signal }).catch(() => {})
    isFull = () => {}
  }

  /**
   * Settles each edit of the batch. After a failure that concerns a part of them, each half is tried again.
   * @param {Waiting[]} batch
   */
  async function commitBatch (batch) {
    // Their clients have got a refusal.
    const live = batch.filter(({ wait, reject }) => {
      if (wait.isOver()) reject(new mongoose.mongo.MongoNetworkTimeoutError('the database was away meanwhile'))
      return !wait.isOver()
    })
    if (live.length === 0) return
    if (live.length === 1) return commitOne(live[0])
    const isOver = () => live.some(({ wait }) => wait.isOver())
    const attempted = await attempt(connection, (session) =>
      writeEdits(live.map(({ edit }) => edit), session), { isOver })
    if ('result' in attempted) {
      onCommitted()
      attempted.result.forEach((outcome, index) => settle(live[index], outcome))
      return
    }
    const { error, lost, sent } = attempted
    // A commit that was sent is never repeated: it may have succeeded.
    if (lost || (!sent && (isOver() || isOfDocuments(error)))) {
      const middle = Math.ceil(live.length / 2)
      await commitBatch(live.slice(0, middle))
      await commitBatch(live.slice(middle))
    } else {
      for (const { reject } of live) reject(error)
    }
  }

  /** @param {Waiting} waiting */
  const commitOne = ({ edit, wait, resolve, reject }) => commitAlone(edit, wait).then(resolve, reject)

  /** @param {Edit} edit @param {Wait} wait @returns {Promise<Written>} */
  return function commit (edit, wait) {
    return new Promise((resolve, reject) => {
      waiting.push({ edit, wait, resolve, reject })
      if (waiting.length >= max) isFull()
      if (!isRunning) run()
    })
  }
}

/** @param {Waiting} waiting @param {Awaited<ReturnType<WriteEdits>>[number]} outcome */
function settle ({ resolve, reject }, outcome) {
  if ('refusal' in outcome) reject(outcome.refusal)
  else resolve(outcome)
}

/**
 * The first edits, in the order in which they came, but the second of a page waits for the next batch.
 * @param {Waiting[]} waiting @param {number} max
 */
function split (waiting, max) {
  /** @type {Waiting[]} */
  const batch = []
  /** @type {Waiting[]} */
  const rest = []
  const names = new Set()
  let bytes = 0
  for (const each of waiting) {
    const { name } = each.edit
    const size = sizeOf(each.edit)
    const fits = batch.length < max && (bytes + size <= BATCH_MAX_BYTES || batch.length === 0)
    if (fits && !names.has(name)) {
      batch.push(each)
      bytes += size
    } else {
      rest.push(each)
    }
    names.add(name)
  }
  return { batch, rest }
}

/** @param {Edit} edit */
const sizeOf = ({ change, rendered, past }) => (past?.revisions ?? []).reduce(
  (sum, { contentBytes }) => sum + contentBytes, change.contentBytes + (rendered?.html.length ?? 0))
