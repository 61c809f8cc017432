import { createRandom } from '@stevec/harness/random'
import { judgeStaleness } from '../histories/staleness.js'
import { createDatabase } from './database.js'
import { createEdge } from './edge.js'
import { startEdges } from './edges.js'
import { createLinks } from './links.js'
import { loadWiki } from './modules.js'
import { createTime } from './time.js'
import { startWiki } from './wiki.js'

/** @import {Edges} from './edges.js' */
/** @import {Time} from './time.js' */
/** @import {WikiModules} from './modules.js' */
/** @import {Mutation} from './mutants.js' */

const [WIKIS, EDGES, PAGES, READERS] = [3, 4, 6, 6]
/** The speeds of two clocks differ by that much at most. */
const DRIFT = 0.002
const READ_PAUSE_MAX_MS = 20
const EDIT_PAUSE_MAX_MS = 600
const EDIT_MAX_MS = 5_000
const FAULT_PAUSE_MAX_MS = 800

/**
 * @typedef {object} Plan
 * @property {number} seed  an integer
 * @property {number} reads  after so many it ends
 * @property {number} [boundMs]
 * @property {boolean} [withFaults]
 * @property {Mutation[]} [mutations]  planted faults
 * @property {(line: string) => void} [trace]
 */

/**
 * @typedef {ReturnType<typeof judgeStaleness> & {saves: number, hits: number, refused: number, lost: number}} Simulated
 */

/**
 * Runs wikis, edges, readers and editors in virtual time, with faults. Nothing but the plan decides what happens.
 * @param {Plan} plan
 * @returns {Promise<Simulated>}
 */
export async function simulate ({
  seed, reads: wanted, boundMs = 500, withFaults = true, mutations = [], trace = () => {}
}) {
  const modules = await loadWiki(mutations.filter(({ where }) => where === 'wiki'))
  const edges = startEdges(mutations.filter(({ where }) => where === 'edge'))
  try {
    const random = createRandom(seed)
    const time = createTime()
    const say = (/** @type {string} */ line) => trace(`${time.now().toFixed(3).padStart(12)} ${line}`)
    const world = createWorld({ time, random, modules, edges, boundMs, say })
    world.start({ withFaults })
    const { reads, saves, counts } = world.history
    await time.run(() => reads.length >= wanted || world.failure() !== null, () => settled(edges))
    if (world.failure() !== null) throw world.failure()
    return { ...judgeStaleness({ reads, saves }, boundMs), saves: saves.length, ...counts }
  } finally {
    await edges.stop()
  }
}

/** @param {Edges} edges  the only ones that are asked in real time */
async function settled (edges) {
  do await new Promise((resolve) => { setImmediate(resolve) })
  while (edges.isBusy())
}

/**
 * @typedef {{time: Time, random: () => number, modules: WikiModules, edges: Edges, boundMs: number,
 *   say: (line: string) => void}} Parts
 * @param {Parts} parts
 */
function createWorld ({ time, random, modules, edges: lua, boundMs, say }) {
  const rateOf = () => 1 + DRIFT * (2 * random() - 1)
  const numberBelow = (/** @type {number} */ count) => Math.floor(random() * count)
  const database = createDatabase({ time, random })
  const startOne = () => startWiki({ time, database, modules, boundMs, rate: rateOf() })
  const wikis = Array.from({ length: WIKIS }, startOne)
  const links = createLinks({ time, random, edges: EDGES })
  const anyWiki = () => wikis[numberBelow(WIKIS)]
  const edges = Array.from({ length: EDGES }, (_, number) =>
    createEdge({ time, edges: lua, links, number, rate: rateOf(), anyWiki }))
  const history = createHistory()
  /** @type {unknown} */
  let failure = null
  const going = (/** @type {Promise<unknown>} */ promise) => { promise.catch((error) => { failure ??= error }) }
  const people = createPeople({ time, random, numberBelow, edges, anyWiki, history, say })

  const faults = {
    cut: () => links.cut(numberBelow(EDGES), 200 + 2_500 * random()),
    swallow: () => links.swallow(numberBelow(EDGES), 200 + 2_500 * random()),
    delay: () => links.delay(numberBelow(EDGES), 50 + 900 * random(), 3_000 * random()),
    stop: () => anyWiki().stop(50 + 2_000 * random() ** 2),
    sleep () {
      anyWiki().sleep(100 + 3_000 * random())
      if (random() < 0.5) database.cutOffPrimary(4_000)
    },
    clock: () => anyWiki().setWallClock(20_000 * (random() - 0.5)),
    kill () {
      const number = numberBelow(WIKIS)
      wikis[number].kill()
      time.after(500 * random(), () => { wikis[number] = startOne() })
    },
    primary: () => database.cutOffPrimary(4_000),
    restart: () => going(edges[numberBelow(EDGES)].restart())
  }

  async function fail () {
    // What a stopped process takes for new is the hardest to find.
    const names = /** @type {(keyof typeof faults)[]} */ ([...Object.keys(faults), 'stop', 'stop'])
    for (;;) {
      await time.sleep(FAULT_PAUSE_MAX_MS * random())
      const name = names[numberBelow(names.length)]
      say(`fault: ${name}`)
      faults[name]()
    }
  }

  return {
    history,
    failure: () => failure,
    /** @param {{withFaults: boolean}} options */
    start ({ withFaults }) {
      for (const edge of edges) going(edge.follow())
      for (let page = 0; page < PAGES; page++) going(people.edit(`p${page}`))
      for (let number = 0; number < READERS; number++) going(people.read(number))
      if (withFaults) going(fail())
    }
  }
}

function createHistory () {
  return {
    /** @type {import('../histories/staleness.js').Read[]} */
    reads: [],
    /** @type {import('../histories/staleness.js').Save[]} */
    saves: [],
    counts: { hits: 0, refused: 0, lost: 0 }
  }
}

/**
 * @param {{time: Time, random: () => number, numberBelow: (count: number) => number,
 *   edges: import('./edge.js').Edge[], anyWiki: () => import('./wiki.js').Wiki,
 *   history: ReturnType<typeof createHistory>, say: (line: string) => void}} parts
 */
function createPeople ({ time, random, numberBelow, edges, anyWiki, history, say }) {
  return {
    /** @param {number} number  of the reader */
    async read (number) {
      for (;;) {
        await time.sleep(READ_PAUSE_MAX_MS * random())
        const [page, edge, sentMs] = [`p${numberBelow(PAGES)}`, numberBelow(EDGES), time.now()]
        await time.sleep(3 * random())
        const answer = await edges[edge].get(page).catch((error) => {
          history.counts[error.isLost ? 'lost' : 'refused']++
          return null
        })
        if (answer === null) continue
        if (answer.status === 'HIT') history.counts.hits++
        history.reads.push({ page, revision: answer.revision, sent_ms: sentMs })
        say(`reader ${number}, edge ${edge}: ${page} revision ${answer.revision}, ${answer.status}, ` +
          `sent ${sentMs.toFixed(3)}`)
      }
    },

    /** @param {string} page */
    async edit (page) {
      for (;;) {
        await time.sleep(EDIT_PAUSE_MAX_MS * random())
        const saved = anyWiki().save(page).catch(() => null)
        const revision = await Promise.race([saved, time.sleep(EDIT_MAX_MS).then(() => null)])
        if (revision === null) continue
        history.saves.push({ page, revision, acknowledged_ms: time.now() })
        say(`saved ${page} revision ${revision}`)
      }
    }
  }
}
