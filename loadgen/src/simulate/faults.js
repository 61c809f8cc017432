/** @import {Database} from './database.js' */
/** @import {Links} from './links.js' */
/** @import {Time} from './time.js' */
/** @import {Wiki} from './wiki.js' */

const PAUSE_MAX_MS = 800
/** Of the servers of the database. */
const SERVERS = [0, 1, 2]

/**
 * What fails, one after the other, until it is over.
 * @param {{time: Time, random: () => number, wikis: Wiki[], startOne: (number: number) => Wiki, links: Links,
 *   database: Database, edges: number, restart: (edge: number) => void, say: import('./events.js').Say,
 *   isOver: () => boolean}} parts
 */
export function createFaults ({ time, random, wikis, startOne, links, database, edges, restart, say, isOver }) {
  const numberBelow = (/** @type {number} */ count) => Math.floor(random() * count)

  /** @param {(edge: number) => number} fail  returns for how long */
  const ofEdge = (fail) => () => {
    const edge = numberBelow(edges)
    return { where: `edge ${edge}`, ms: fail(edge) }
  }
  /** @param {(wiki: Wiki, number: number) => number} fail */
  const ofWiki = (fail) => () => {
    const number = numberBelow(wikis.length)
    return { where: `wiki ${number}`, ms: fail(wikis[number], number) }
  }
  /** @param {number} ms @param {(ms: number) => void} fail */
  const lasting = (ms, fail) => {
    fail(ms)
    return ms
  }

  const faults = {
    cut: ofEdge((edge) => lasting(200 + 2_500 * random(), (ms) => links.cut(edge, ms))),
    swallow: ofEdge((edge) => lasting(200 + 2_500 * random(), (ms) => links.swallow(edge, ms))),
    delay: ofEdge((edge) => {
      const slowMs = 50 + 900 * random()
      return lasting(3_000 * random(), (ms) => links.delay(edge, slowMs, ms))
    }),
    stop: ofWiki((wiki) => lasting(50 + 2_000 * random() ** 2, wiki.stop)),
    sleep () {
      // What a process took for true before is most dangerous when another primary was elected meanwhile.
      if (random() < 0.5) database.cutOffPrimary(4_000)
      return ofWiki((wiki) => lasting(100 + 3_000 * random(), wiki.sleep))()
    },
    clock: ofWiki((wiki) => {
      wiki.setWallClock(20_000 * (random() - 0.5))
      return 0
    }),
    kill: ofWiki((wiki, number) => {
      wiki.kill()
      return lasting(500 * random(), (ms) => { time.after(ms, () => { wikis[number] = startOne(number) }) })
    }),
    primary: () => ({ where: 'database', ms: lasting(4_000, database.cutOffPrimary) }),
    crash () {
      // One server, or a power failure of all.
      const numbers = random() < 0.5 ? SERVERS : [numberBelow(SERVERS.length)]
      return { where: 'database', ms: lasting(50 + 1_500 * random(), (ms) => database.crash(numbers, ms)) }
    },
    restart: ofEdge((edge) => {
      restart(edge)
      return 0
    })
  }

  return async function fail () {
    // What a stopped process takes for new is the hardest to find.
    const names = /** @type {(keyof typeof faults)[]} */ ([...Object.keys(faults), 'stop', 'stop'])
    for (;;) {
      await time.sleep(PAUSE_MAX_MS * random())
      if (isOver()) return
      const name = names[numberBelow(names.length)]
      say({ kind: 'fault', name, ...faults[name]() })
    }
  }
}
