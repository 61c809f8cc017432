/** @import {Time} from './time.js' */

/** @typedef {{_id: string, stale?: object, mark?: number}} LogDocument */
/**
 * A transaction. `position`: the time of its commit, which never comes again. `document`: what it writes to the purge
 * log. `ended`: true when a majority has it on disk, false when it is rolled back.
 * @typedef {{position: number, document: LogDocument | null, undo: () => void, ended: Promise<boolean>,
 *   end: (isCommitted: boolean) => void}} Operation
 */

/**
 * `has`, `synced`: how much of the log it has, and has on disk. `heard`: how much it knows that a majority has. `life`:
 * grows with each crash.
 */
const newMember = () => ({ has: 0, synced: 0, heard: 0, isSyncing: false, isUp: true, isParted: false, life: 0 })
/** @typedef {ReturnType<typeof newMember>} Member */

const MEMBERS = 3
const MAJORITY = 2
/** Servers elect another primary within so long, often at once, as after a step-down; MongoDB may take longer. */
const ELECTION_MAX_MS = 800
const LATE_SHARE = 0.05
const LATE_MAX_MS = 300

/**
 * A model of a replica set: a log that the primary writes and the others copy, each with a disk. A write is committed
 * when a majority has it on disk (w: majority, j: true). A server that crashes comes back with what its disk has. An
 * election takes a server whose log is as long as those of a majority; what it does not have is rolled back. A new
 * primary writes an operation that changes nothing, and commits nothing before that; until then it knows no more of
 * what a majority has than it heard as a secondary.
 * https://www.mongodb.com/docs/manual/reference/read-concern-majority/
 * @param {{time: Time, random: () => number}} parts
 */
// eslint-disable-next-line max-lines-per-function -- a closure that is the object: its methods share private state
export function createReplicaSet ({ time, random }) {
  /** @type {Operation[]} */
  const log = []
  const members = Array.from({ length: MEMBERS }, newMember)
  const news = createNews(time)
  /** @type {number | null} null: none is elected */
  let primary = 0
  let committed = 0
  /** Of the log when the primary was elected, and what it knew then. */
  let ofElection = { length: 0, heard: 0 }
  let positions = 0
  let lost = 0

  const isReachable = (/** @type {Member} */ member) => member.isUp && !member.isParted

  function commit () {
    if (primary === null) return
    const onDisk = members.map(({ synced }) => synced).sort((one, other) => other - one)
    const next = onDisk[MAJORITY - 1]
    if (next <= Math.max(committed, ofElection.length)) return
    for (; committed < next; committed++) log[committed].end(true)
    news.tell()
  }

  /** @param {Member} member */
  function sync (member) {
    if (member.isSyncing || member.synced === member.has) return
    const { life, has } = member
    member.isSyncing = true
    time.after(0.3 + 20 * random() ** 3, () => {
      if (member.life !== life) return
      member.isSyncing = false
      // Less, if it was rolled back meanwhile.
      member.synced = Math.max(member.synced, Math.min(has, member.has))
      commit()
      sync(member)
    })
  }

  /** The others copy what the primary has now. */
  function replicate () {
    const source = primary
    const [length, heard] = [log.length, known()]
    members.forEach((member, number) => {
      if (number === source) return sync(member)
      const { life } = member
      const lateMs = random() < LATE_SHARE ? LATE_MAX_MS * random() : 0
      time.after(0.3 + 3 * random() + lateMs, () => {
        if (primary !== source || source === null || member.life !== life || !isReachable(member)) return
        member.has = Math.max(member.has, length)
        member.heard = Math.max(member.heard, heard)
        sync(member)
      })
    })
  }

  /** How much of the log the primary knows that a majority has it on disk. */
  const known = () => committed > ofElection.length ? committed : Math.min(committed, ofElection.heard)

  /**
   * At the primary.
   * @param {LogDocument | null} document @param {(position: number) => () => void} change  returns what undoes it
   */
  function append (document, change) {
    const position = ++positions
    /** @type {(isCommitted: boolean) => void} */
    let end = () => {}
    const ended = new Promise((resolve) => { end = resolve })
    const operation = { position, document, undo: change(position), ended, end }
    log.push(operation)
    members[/** @type {number} */ (primary)].has = log.length
    replicate()
    return operation
  }

  function elect () {
    primary = null
    const attempt = () => {
      const voters = members.filter(isReachable)
      const able = voters.filter(({ has }) => voters.filter((voter) => voter.has <= has).length >= MAJORITY)
      if (primary !== null) return
      if (able.length === 0) {
        time.after(50 + 50 * random(), attempt)
        return
      }
      const winner = able[Math.floor(random() * able.length)]
      rollBack(winner.has)
      primary = members.indexOf(winner)
      ofElection = { length: log.length, heard: winner.heard }
      append(null, () => () => {})
      news.tell()
    }
    time.after(ELECTION_MAX_MS * random() ** 3, attempt)
  }

  /** @param {number} length  of the log that is left */
  function rollBack (length) {
    for (const operation of log.splice(length).reverse()) {
      operation.undo()
      operation.end(false)
    }
    lost += Math.max(0, committed - length)
    committed = Math.min(committed, length)
    for (const member of members) {
      member.life++
      member.isSyncing = false
      member.has = Math.min(member.has, length)
      member.synced = Math.min(member.synced, length)
      member.heard = Math.min(member.heard, length)
      sync(member)
    }
  }

  return {
    log,
    news,
    hasPrimary: () => primary !== null,
    primary: () => primary,
    /** How much of the log a majority has on disk. */
    committed: () => committed,
    known,
    /** Writes that were committed and are rolled back: none, if the rules hold. */
    lost: () => lost,
    append,

    /**
     * Servers lose what their disks do not have, and are away for a while.
     * @param {number[]} numbers @param {number} ms @returns {boolean} whether the primary is one of them
     */
    crash (numbers, ms) {
      for (const member of numbers.map((number) => members[number])) {
        if (!member.isUp) continue
        Object.assign(member, { isUp: false, isSyncing: false, life: member.life + 1, has: member.synced, heard: 0 })
        time.after(ms * random(), () => {
          member.isUp = true
          if (primary !== null) replicate()
        })
      }
      if (primary === null || members[primary].isUp) return false
      elect()
      return true
    },

    /** The others do not reach the primary for so long. @param {number} ms @returns {boolean} whether there was one */
    partPrimary (ms) {
      if (primary === null) return false
      const member = members[primary]
      member.isParted = true
      time.after(ms, () => {
        member.isParted = false
        if (primary !== null) replicate()
      })
      elect()
      return true
    }
  }
}

/** @typedef {ReturnType<typeof createReplicaSet>} ReplicaSet */

/** @param {Time} time */
function createNews (time) {
  /** @type {Set<() => void>} */
  const listeners = new Set()
  return {
    tell () { for (const listener of listeners) listener() },
    /** @param {number} maxMs @returns {Promise<void>} at the next change, or then */
    next: (maxMs) => new Promise((resolve) => {
      const end = () => {
        cancel()
        listeners.delete(end)
        resolve()
      }
      const cancel = time.after(maxMs, end)
      listeners.add(end)
    })
  }
}
