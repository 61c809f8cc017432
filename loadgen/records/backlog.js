/**
 * Counts the records that were accepted and are not in the database yet, and refuses those above a bound.
 * @param {{maxRecords: number, maxBytes: number, now?: () => number}} bounds  `now`: ms since 1970
 */
export function createBacklog ({ maxRecords, maxBytes, now = Date.now }) {
  let [records, bytes] = [0, 0]
  let emptiedAtMs = now()
  /** @type {(() => void)[]} */
  let waiting = []
  /** @type {(() => void)[]} */
  let forRoom = []

  const hasRoom = (/** @type {number} */ size) => records < maxRecords && bytes + size <= maxBytes

  return {
    /** @param {number} size  bytes @returns {boolean} whether the record was admitted */
    admit (size) {
      if (!hasRoom(size)) return false
      records += 1
      bytes += size
      return true
    },

    /** @param {number} size  of a record that is stored, or has failed */
    release (size) {
      records -= 1
      bytes -= size
      const released = forRoom
      forRoom = []
      for (const resume of released) resume()
      if (records > 0) return
      emptiedAtMs = now()
      const resumed = waiting
      waiting = []
      for (const resume of resumed) resume()
    },

    /** @param {number} size */
    async room (size) {
      while (!hasRoom(size)) await /** @type {Promise<void>} */ (new Promise((resolve) => { forRoom.push(resolve) }))
    },

    /** @returns {Promise<void>} resolves once there is no record left */
    empty: () => records === 0 ? Promise.resolve() : new Promise((resolve) => { waiting.push(resolve) }),

    size: () => ({ records, bytes }),

    /** Ms since 1970; while there are records, the last time when there was none. */
    emptiedAtMs: () => emptiedAtMs
  }
}

/** @typedef {ReturnType<typeof createBacklog>} Backlog */
