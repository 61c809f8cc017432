import { language } from '../src/language.js'
import { createAuthorsPool } from '../src/threads/authors.js'

/** @typedef {import('../src/threads/pool.js').Pool} Pool */

/** By language. @type {Map<string, Pool>} */
const pools = new Map()

/**
 * The threads that render outlive their wiki: each loads its modules again, which takes longer than most tests.
 * @returns {Pool} of one wiki
 */
export function lastingThreads () {
  const key = language()
  let running = 0

  function threads () {
    const pool = pools.get(key) ?? createAuthorsPool()
    pools.set(key, pool)
    return pool
  }

  return {
    run (task, options) {
      running++
      return threads().run(task, options).finally(() => { running-- })
    },

    warm: () => threads().warm(),

    /** What runs is given up, as in any wiki. */
    async close () {
      if (running > 0) await end(key)
    }
  }
}

/** @param {string} key */
async function end (key) {
  const pool = pools.get(key)
  pools.delete(key)
  await pool?.close()
}

export const endThreads = () => Promise.all([...pools.keys()].map(end))
