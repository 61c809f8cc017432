import { setImmediate as nextTurn } from 'node:timers/promises'

const ITEMS_PER_TURN = 200

/** Other requests run in between. @template T @param {Iterable<T>} items @returns {AsyncGenerator<T>} */
export async function * inTurns (items) {
  let count = 0
  for (const item of items) {
    if (++count % ITEMS_PER_TURN === 0) await nextTurn()
    yield item
  }
}
