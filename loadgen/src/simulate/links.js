/** @import {Time} from './time.js' */

const lostError = () => Object.assign(new Error('no answer in time'), { isLost: true })

/**
 * The links between the edges and the wikis: each call is a request and an answer, either of which may be lost or late.
 * @param {{time: Time, random: () => number, edges: number}} parts
 */
export function createLinks ({ time, random, edges }) {
  const states = Array.from({ length: edges }, () => ({ cutUntilMs: 0, lostUntilMs: 0, slowUntilMs: 0, slowMs: 0 }))

  /** @param {(typeof states)[number]} state @param {() => void} arrive */
  function carry (state, arrive) {
    if (time.now() < state.lostUntilMs || time.now() < state.cutUntilMs) return
    const slowMs = time.now() < state.slowUntilMs ? state.slowMs * random() : 0
    time.after(0.2 + 3 * random() + slowMs, arrive)
  }

  return {
    /**
     * @template T @param {number} edge @param {number} maxMs  then the caller gives up
     * @param {(answered: (value: T) => void, failed: (error: Error) => void) => void} serve
     * @returns {Promise<T>}
     */
    call: (edge, maxMs, serve) => new Promise((resolve, reject) => {
      const state = states[edge]
      if (time.now() < state.cutUntilMs) return reject(lostError())
      time.after(maxMs, () => reject(lostError()))
      carry(state, () => serve(
        (value) => carry(state, () => resolve(value)),
        (error) => carry(state, () => reject(error))
      ))
    }),
    /** @param {number} edge @param {number} ms */
    cut (edge, ms) { states[edge].cutUntilMs = time.now() + ms },
    /** @param {number} edge @param {number} ms */
    swallow (edge, ms) { states[edge].lostUntilMs = time.now() + ms },
    /** @param {number} edge @param {number} slowMs @param {number} ms */
    delay (edge, slowMs, ms) { Object.assign(states[edge], { slowMs, slowUntilMs: time.now() + ms }) }
  }
}

/** @typedef {ReturnType<typeof createLinks>} Links */
