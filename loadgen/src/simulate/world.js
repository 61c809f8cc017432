import { createEdge } from './edge.js'
import { createFaults } from './faults.js'
import { createLinks } from './links.js'
import { createHistory, createPeople } from './people.js'
import { PURGE_CALL_MAX_MS } from './purging.js'
import { startWiki } from './wiki.js'

/** @import {Edges} from './edges.js' */
/** @import {Time} from './time.js' */
/** @import {WikiModules} from './modules.js' */

const [WIKIS, EDGES, READERS] = [3, 4, 6]
const PAGES = Array.from({ length: 6 }, (_, page) => `p${page}`)
/** The speeds of two clocks differ by that much at most. */
const DRIFT = 0.002

/**
 * @typedef {{time: Time, random: () => number, modules: WikiModules, edges: Edges, boundMs: number,
 *   policy: import('./wiki.js').Policy, repeatAfterMs: number,
 *   createDatabase: typeof import('./database.js').createDatabase, say: import('./events.js').Say}} Parts
 * @param {Parts} parts
 */
export function createWorld ({ time, random, edges: lua, say, createDatabase, ...settings }) {
  const { policy } = settings
  const rateOf = () => 1 + DRIFT * (2 * random() - 1)
  const database = createDatabase({ time, random })
  const links = createLinks({ time, random, edges: EDGES })
  const purges = Object.fromEntries(Array.from({ length: EDGES }, (_, number) => [
    `edge ${number}`,
    (/** @type {import('./purging.js').Stale} */ stale) => links.call(number, PURGE_CALL_MAX_MS,
      (answered, failed) => {
        say({ kind: 'purge', edge: number, what: stale.everything ? ['everything'] : [...stale.urls, ...stale.tags] })
        edges[number].purge(stale).then(answered, failed)
      })
  ]))
  const startOne = (/** @type {number} */ number) =>
    startWiki({ number, time, random, database, purges, rate: rateOf(), ...settings })
  const wikis = Array.from({ length: WIKIS }, (_, number) => startOne(number))
  const anyWiki = () => wikis[Math.floor(random() * WIKIS)]
  const edges = Array.from({ length: EDGES }, (_, number) =>
    createEdge({ time, edges: lua, links, number, rate: rateOf(), anyWiki }))
  const history = createHistory()
  /** @type {unknown} */
  let failure = null
  let isOver = false
  const going = (/** @type {Promise<unknown>} */ promise) => { promise.catch((error) => { failure ??= error }) }
  const common = { time, random, links, database, wikis, say, isOver: () => isOver }
  const people = createPeople({ ...common, edges, pages: PAGES, anyWiki, history })
  const fail = createFaults({
    ...common, startOne, edges: EDGES, restart: (edge) => going(edges[edge].restart())
  })

  return {
    history,
    database,
    failure: () => failure,
    /** @param {{withFaults: boolean}} options */
    start ({ withFaults }) {
      const follows = policy === 'bounded'
      for (const edge of edges) going(edge.start({ follows }).then(() => follows && edge.follow()))
      for (const page of PAGES) going(people.edit(page))
      for (let number = 0; number < READERS; number++) going(people.read(number))
      if (withFaults) going(fail())
    },
    /** From now on nobody edits, and nothing fails; readers go on. */
    end () { isOver = true },
    /** @returns {Promise<string[]>} what edges show without asking and is not the newest text */
    async outdated () {
      const found = []
      for (const [number, edge] of edges.entries()) {
        for (const page of PAGES) {
          const revision = await edge.peek(page)
          if (revision !== undefined && revision < database.newest(page)) found.push(`${page} at edge ${number}`)
        }
      }
      return found
    }
  }
}

/** @typedef {ReturnType<typeof createWorld>} World */
