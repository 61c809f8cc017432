/** @import {Edge} from './edge.js' */
/** @import {Time} from './time.js' */
/** @import {Wiki} from './wiki.js' */

const READ_PAUSE_MAX_MS = 20
/** When it is over. */
const LATE_READ_PAUSE_MAX_MS = 100
const EDIT_PAUSE_MAX_MS = 600
const EDIT_MAX_MS = 5_000

/** What readers and editors saw. */
export function createHistory () {
  return {
    /** @type {import('../histories/staleness.js').Read[]} */
    reads: [],
    /** @type {import('../histories/staleness.js').Save[]} */
    saves: [],
    counts: { hits: 0, refused: 0, lost: 0 }
  }
}

/** @typedef {ReturnType<typeof createHistory>} History */

/**
 * Readers, who go from edge to edge, and editors. When it is over nobody edits, and reads are rarer and not recorded.
 * @param {{time: Time, random: () => number, edges: Edge[], pages: string[], anyWiki: () => Wiki, history: History,
 *   say: import('./events.js').Say, isOver: () => boolean}} parts
 */
export function createPeople ({ time, random, edges, pages, anyWiki, history, say, isOver }) {
  const numberBelow = (/** @type {number} */ count) => Math.floor(random() * count)
  return {
    /** Never ends. @param {number} number  of the reader */
    async read (number) {
      for (;;) {
        await time.sleep((isOver() ? LATE_READ_PAUSE_MAX_MS : READ_PAUSE_MAX_MS) * random())
        const [page, edge, sentMs] = [pages[numberBelow(pages.length)], numberBelow(edges.length), time.now()]
        await time.sleep(3 * random())
        const answer = await edges[edge].get(page).catch((error) => {
          if (!isOver()) history.counts[error.isLost ? 'lost' : 'refused']++
          return null
        })
        if (answer === null || isOver()) continue
        if (answer.status === 'HIT') history.counts.hits++
        history.reads.push({ page, revision: answer.revision, sent_ms: sentMs, done_ms: time.now() })
        const { revision, status } = answer
        say({ kind: 'read', reader: number, edge, page, revision, status, sent_ms: sentMs })
      }
    },

    /** @param {string} page */
    async edit (page) {
      for (;;) {
        await time.sleep(EDIT_PAUSE_MAX_MS * random())
        if (isOver()) return
        const wiki = anyWiki()
        const saved = wiki.save(page).catch(() => null)
        const revision = await Promise.race([saved, time.sleep(EDIT_MAX_MS).then(() => null)])
        if (revision === null || isOver()) continue
        history.saves.push({ page, revision, acknowledged_ms: time.now() })
        say({ kind: 'save', wiki: wiki.number, page, revision })
      }
    }
  }
}
