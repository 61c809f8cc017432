import { createServer } from 'node:http'
import { nameOf } from './pages.js'

/** @import {ReplayClass} from './schedule.js' */
/** @import {Pages} from './pages.js' */
/** @import {PurgeLog} from './purge-log.js' */

export const PURGE_LOG_PATH = '/purge-log'
/** Of no class: it is asked before the play, so that the edge's first request does not count. */
export const WARM_UP_PATH = '/warm-up'

/** Where an answer may be held up. @typedef {'head' | 'body'} Part */

/** @param {Pick<import('./schedule.js').ReplayEvent, 'class' | 'page' | 'url'>} event @returns {string} a path */
export const pathOf = (event) => `/${event.class}/${event.page}/${event.url}`

/**
 * Starts an origin on 127.0.0.1 that answers each page with its version, under the setting of its class.
 * @param {{port: number, classes: ReplayClass[], pages: Pages, purgeLog: PurgeLog | null}} parts
 * @returns {Promise<{fetches: number[], hold: ReturnType<typeof createHold>['hold'], close: () => Promise<void>}>}
 *   `fetches`: the requests that came, by class
 * @throws {Error} when the port is taken
 */
export async function startOrigin ({ port, classes, pages, purgeLog }) {
  const fetches = classes.map(() => 0)
  const { hold, held } = createHold()
  const server = createServer(async (request, response) => {
    const url = new URL(String(request.url), 'http://origin')
    // The whole seconds of a Date can take up to one from a lifetime.
    response.sendDate = false
    if (url.pathname === WARM_UP_PATH) return response.setHeader('Cache-Control', 'no-store').end('0')
    if (url.pathname === PURGE_LOG_PATH && purgeLog !== null) {
      return response.end(JSON.stringify(await purgeLog.answer(url.searchParams.get('after'))))
    }
    const [number, page] = url.pathname.split('/').slice(1).map(Number)
    if (classes[number] === undefined) return response.writeHead(404).end()
    fetches[number]++
    const name = nameOf({ class: number, page })
    const version = String(pages.version(name))
    for (const [field, value] of Object.entries(headersOf(classes[number]))) response.setHeader(field, value)
    response.setHeader('ETag', `"${version}"`).setHeader('Cache-Tag', name)
    if (purgeLog !== null && classes[number].family === 'bounded') {
      response.setHeader('Purge-Log-Position', purgeLog.position())
    }
    await held(url.pathname, 'head')
    if (request.headers['if-none-match'] === `"${version}"`) return response.writeHead(304).end()
    response.flushHeaders()
    await held(url.pathname, 'body')
    return response.end(version)
  })
  await new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', () => resolve(undefined))
  })
  const close = () => new Promise((/** @type {(value?: undefined) => void} */ resolve) => {
    server.close(() => resolve())
    server.closeAllConnections()
  })
  return { fetches, hold, close }
}

/** Holds up the answer to the next request for a path, once it has its version. */
function createHold () {
  /** @type {{path: string, part: Part, arrived: () => void, released: Promise<void>} | null} */
  let next = null
  return {
    /**
     * @param {string} path @param {Part} part  that waits
     * @returns {{arrived: Promise<void>, release: () => void}} `arrived`: the answer waits
     */
    hold (path, part) {
      let [arrive, release] = [() => {}, () => {}]
      const arrived = new Promise((/** @type {(value: void) => void} */ resolve) => { arrive = resolve })
      const released = new Promise((/** @type {(value: void) => void} */ resolve) => { release = resolve })
      next = { path, part, arrived: arrive, released }
      return { arrived, release }
    },

    /** @param {string} path @param {Part} part */
    async held (path, part) {
      if (next === null || next.path !== path || next.part !== part) return
      const { arrived, released } = next
      next = null
      arrived()
      await released
    }
  }
}

/**
 * @param {ReplayClass} setting
 * @returns {Record<string, string>} the header fields that ask a cache for this setting
 */
export function headersOf ({ family, lifetime_s: lifetimeS, window_s: windowS }) {
  switch (family) {
    case 'none': return { 'Cache-Control': 'no-store' }
    case 'revalidate': return { 'Cache-Control': 'no-cache' }
    case 'swr': return { 'Cache-Control': `max-age=${lifetimeS}, stale-while-revalidate=${windowS}` }
    case 'bounded': return { 'Cache-Control': 'no-cache', 'Stevec-Cache-Control': `max-age=${lifetimeS}` }
    default: return { 'Cache-Control': `max-age=${lifetimeS}` }
  }
}
