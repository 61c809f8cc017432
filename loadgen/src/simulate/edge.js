/** @import {Edges} from './edges.js' */
/** @import {Links} from './links.js' */
/** @import {Time} from './time.js' */
/** @import {Wiki} from './wiki.js' */

const FETCH_MAX_MS = 2_000
const FOLLOW_MAX_MS = 5_000
const FOLLOW_RETRY_MS = 100
const COLLAPSE_ATTEMPTS_MAX = 3

/** @typedef {{revision: number, status: string}} Answer */

/**
 * An edge, with what edge.lua, forward.lua and follower.lua do between the modules that edges.lua runs.
 * @param {{time: Time, edges: Edges, links: Links, number: number, rate: number, anyWiki: () => Wiki}} parts  rate: of
 *   its clock
 */
export function createEdge ({ time, edges, links, number, rate, anyWiki }) {
  /** Fetches that others wait for. @type {Map<number, Promise<void>>} */
  const fetches = new Map()
  const now = () => time.now() * rate

  /** @param {object} command */
  const ask = (command) => edges.ask({ edge: `e${number}`, now_ms: now(), ...command })

  /** @template T @param {(wiki: Wiki) => Promise<T>} call @param {number} maxMs @returns {Promise<T>} */
  const callWiki = (call, maxMs) => {
    const wiki = anyWiki()
    return links.call(number, maxMs, (answered, failed) =>
      wiki.whileRunning(() => { call(wiki).then(answered, failed) }))
  }

  /** @param {string} page @param {{fetch: number, after?: string, etag?: string}} asked @returns {Promise<Answer>} */
  async function fetch (page, asked) {
    let over = () => {}
    fetches.set(asked.fetch, new Promise((resolve) => { over = () => resolve(undefined) }))
    try {
      const answer = await callWiki((wiki) => wiki.view(page, asked), FETCH_MAX_MS)
      await ask({ what: 'fetched', fetch: asked.fetch, ...answer })
      return { revision: answer.revision, status: 'MISS' }
    } catch (error) {
      await ask({ what: 'fetched', fetch: asked.fetch })
      throw error
    } finally {
      fetches.delete(asked.fetch)
      over()
    }
  }

  return {
    /** @param {string} page @returns {Promise<Answer>} @throws {Error} of the wiki, or `isLost` */
    async get (page) {
      for (let attempt = 0; ; attempt++) {
        const found = await ask({ what: 'get', page, alone: attempt >= COLLAPSE_ATTEMPTS_MAX })
        if (found.revision !== undefined) return found
        if (found.wait === undefined) return fetch(page, found)
        await (fetches.get(found.wait) ?? Promise.resolve())
      }
    },

    /** @param {{follows: boolean}} options  the purge log */
    start: ({ follows }) => ask({ what: 'start', ...follows && { follow: '/purge-log' } }),

    /** Never ends. */
    async follow () {
      for (;;) {
        const { after } = await ask({ what: 'position' })
        const askedMs = now()
        const said = await callWiki((wiki) => wiki.answer(after), FOLLOW_MAX_MS).catch(() => null)
        if (said === null) await time.sleep(FOLLOW_RETRY_MS)
        else await ask({ what: 'followed', said, asked_ms: askedMs })
      }
    },

    /** As a call of its purge API. @param {import('./purging.js').Stale} stale */
    purge: (stale) => ask({ what: 'purge', ...stale }),

    /** @param {string} page @returns {Promise<number | undefined>} the revision that it shows without asking */
    peek: async (page) => (await ask({ what: 'peek', page })).revision,

    restart: () => ask({ what: 'restart' })
  }
}

/** @typedef {ReturnType<typeof createEdge>} Edge */
