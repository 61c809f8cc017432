/** Remembers when edits were sent and acknowledged. Times are milliseconds of one clock. */
export function createAcknowledgements () {
  /** In the order of the acknowledgements. @type {{sentMs: number, acknowledgedMs: number}[]} */
  const all = []
  return {
    /** @param {number} sentMs @param {number} acknowledgedMs  not before the last one's */
    note (sentMs, acknowledgedMs) { all.push({ sentMs, acknowledgedMs }) },

    /**
     * An edit that is sent while a fault is being injected may still pass, so it shows nothing.
     * @param {number} startedMs  begin of the injection
     * @param {number} injectedMs  its end
     * @returns {number | null} from the begin until an edit that was sent after the end was acknowledged; null: not yet
     */
    acceptedAfterMs (startedMs, injectedMs) {
      const first = all.find(({ sentMs }) => sentMs >= injectedMs)
      return first === undefined ? null : first.acknowledgedMs - startedMs
    },

    /** @param {number} sinceMs */
    hasAcknowledgedSince: (sinceMs) => (all.at(-1)?.acknowledgedMs ?? -Infinity) >= sinceMs,

    /** @param {number} startedMs @param {number} endedMs @returns {number} longest time without an acknowledgement */
    gapMs (startedMs, endedMs) {
      const after = all.map(({ acknowledgedMs }) => acknowledgedMs).filter((moment) => moment >= startedMs)
      const within = after.filter((moment) => moment < endedMs)
      const moments = [startedMs, ...after.slice(0, within.length + 1)]
      return Math.max(...moments.slice(1).map((moment, index) => moment - moments[index]))
    }
  }
}
