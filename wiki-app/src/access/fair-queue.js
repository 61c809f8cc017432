import { createTurns } from '../http/waiting.js'

/** @import {WaitingLine} from '../http/waiting.js' */

/** @typedef {{run: () => Promise<void>, refuse: () => void, network: string}} Waiting  `network`: its key */

/**
 * Keys take turns, so many tasks of one key delay another key by one task only.
 * @param {{waitingMax: number, waitingPerKeyMax: number}} limits  `waitingMax`: in each of the two queues
 */
export function createFairQueue ({ waitingMax, waitingPerKeyMax }) {
  /** @returns {WaitingLine<Waiting>} */
  const create = () => createTurns(waitingMax, { mostOfANetwork: waitingPerKeyMax })
  const queues = { first: create(), others: create() }
  let running = false

  async function runAll () {
    running = true
    for (;;) {
      const next = queues.first.take() ?? queues.others.take()
      if (next === undefined) break
      await next.run()
    }
    running = false
  }

  /**
   * @template T @param {string} key @param {() => Promise<T>} task
   * @param {{first: boolean, refusal: () => Error}} options  `first`: before the others
   * @returns {Promise<T>}
   */
  return function enqueue (key, task, { first, refusal }) {
    return new Promise((resolve, reject) => {
      queues[first ? 'first' : 'others'].add({
        network: key,
        run: () => task().then(resolve, reject),
        refuse: () => reject(refusal())
      })
      if (!running) runAll()
    })
  }
}
