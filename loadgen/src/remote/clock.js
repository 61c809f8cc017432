/** Round trips of a comparison: the fastest one tells most. */
const ROUND_TRIPS = 15
/** Ticks of Date by which this machine's clock is read with fractions of a millisecond. */
const TICKS = 5
/** How exactly a tick is found. */
const RESOLUTION_US = 10

/**
 * How far a machine's clock is before this machine's.
 * @typedef {{aheadUs: number, boundUs: number}} Comparison  `boundUs`: aheadUs is off by this at most
 */

/**
 * Compares the clock of another machine with this machine's (F. Cristian, "Probabilistic clock synchronization", 1989):
 * the other one was read between question and answer, so half a round trip bounds the error.
 * @param {() => Promise<number>} readOther  asks the other machine, microseconds since 1970
 * @returns {Promise<Comparison>}
 */
export async function compareClocks (readOther) {
  const nowUs = readClock()
  /** @type {Comparison | null} */
  let best = null
  for (let trip = 0; trip < ROUND_TRIPS; trip++) {
    const askedUs = nowUs()
    const otherUs = await readOther()
    const answeredUs = nowUs()
    const boundUs = (answeredUs - askedUs) / 2 + RESOLUTION_US
    if (best === null || boundUs < best.boundUs) best = { aheadUs: otherUs - (askedUs + answeredUs) / 2, boundUs }
  }
  return /** @type {Comparison} */ (best)
}

/**
 * Date has whole milliseconds. A tick is noticed a little late, so the latest of several is the best.
 * @returns {() => number} this machine's clock, microseconds since 1970, with fractions
 */
function readClock () {
  let zeroMs = -Infinity
  for (let tick = 0; tick < TICKS; tick++) {
    const before = Date.now()
    let now = before
    while (now === before) now = Date.now()
    zeroMs = Math.max(zeroMs, now - performance.now())
  }
  return () => 1000 * (zeroMs + performance.now())
}

/**
 * What a trial knows of the clock of one of its generators, microseconds.
 * @typedef {object} ClockFacts
 * @property {number} planAheadUs  before the trial, when the begin of the plan was told
 * @property {number} aheadUs  in the trial: the mean of before and after
 * @property {number} driftUs  between before and after
 * @property {number} boundUs  aheadUs is off by this at most, unless the clock went to and fro meanwhile
 */

/**
 * @param {Comparison} before  the trial
 * @param {Comparison} after
 * @returns {ClockFacts}
 */
export function clockFacts (before, after) {
  const driftUs = after.aheadUs - before.aheadUs
  return {
    planAheadUs: Math.round(before.aheadUs),
    aheadUs: Math.round((before.aheadUs + after.aheadUs) / 2),
    driftUs: Math.round(driftUs),
    boundUs: Math.ceil(Math.max(before.boundUs, after.boundUs) + Math.abs(driftUs))
  }
}

/**
 * @param {(ClockFacts | null)[]} each  of the generators; null: it has this machine's clock, or it was lost
 * @returns {number} microseconds by which two samples of different generators can be the wrong way round
 */
export function skewBoundUs (each) {
  const [most = 0, second = 0] = each.map((clock) => clock?.boundUs ?? 0).sort((a, b) => b - a)
  return most + second
}
