import { createServer } from 'node:http'

/** @import {IncomingMessage, RequestListener} from 'node:http' */

/**
 * In `head`, names and values alternate.
 * @typedef {{status: 200 | 302 | 304, head: string[], document?: Buffer}} Ready
 */

/**
 * @template Found
 * @typedef {object} Finder  undefined: the framework responds
 * @property {(request: IncomingMessage) => Found | Promise<Found> | undefined} find
 * @property {(found: Found, headers: import('node:http').IncomingHttpHeaders) => Ready | undefined} ready
 * @property {(request: IncomingMessage, status: number, duration_ms: number) => void} [answered]
 */

/**
 * Fastify's overhead exceeds the cost of a cached response (docs/decisions/0017). Routes and hooks do not see these
 * requests.
 * @template Found
 * @param {{onStart: (method: string) => void, around?: (listener: RequestListener) => RequestListener}} on
 *   `onStart`: when `find` returns something; `around`: sees every request first
 * @param {{isOff?: boolean}} [options]  where each reader has to be asked for a role, which hooks do
 */
export function createFastPath ({ onStart, around = (listener) => listener }, { isOff = false } = {}) {
  /** @type {Finder<Found>} */
  let others = { find: () => undefined, ready: () => undefined }
  /** @type {{below: string, finder: Finder<Found>}[]} */
  const special = []
  /** @type {WeakMap<IncomingMessage, {found: Found | Promise<Found>, lead_ms: number}>} */
  const passedOn = new WeakMap()

  /** @param {string} [url] */
  function finderOf (url = '') {
    for (const { below, finder } of special) if (url.startsWith(below)) return finder
    return others
  }

  /** @param {Finder<Found>} finder @param {Found} found @param {IncomingMessage} request */
  function readyOf (finder, found, request) {
    try {
      return finder.ready(found, request.headers)
    } catch {
      // The framework meets the same error, and its handler responds.
      return undefined
    }
  }

  return {
    /** @param {Finder<Found>} finder @param {string} [below]  paths that begin so; default: all others */
    use (finder, below) {
      if (below === undefined) others = finder
      else special.push({ below, finder })
    },

    /**
     * https://fastify.dev/docs/latest/Reference/Server/#serverfactory
     * @param {import('fastify').FastifyServerFactoryHandler} byFramework
     * @param {Record<string, any>} options  Fastify does not apply them to a server of ours
     */
    serverFactory (byFramework, { keepAliveTimeout, requestTimeout }) {
      const server = createServer(around((request, response) => {
        const finder = finderOf(request.url)
        const now = () => finder.answered === undefined ? 0 : performance.now()
        // While closing, the framework adds `Connection: close`.
        const found = server.listening && !isOff ? finder.find(request) : undefined
        if (found === undefined) return byFramework(request, response)
        const since = now()
        onStart(String(request.method))
        const passOn = () => {
          passedOn.set(request, { found, lead_ms: now() - since })
          byFramework(request, response)
        }
        const answer = (/** @type {Found} */ what) => {
          const made = readyOf(finder, what, request)
          if (made === undefined) return passOn()
          response.writeHead(made.status, made.head).end(made.document)
          finder.answered?.(request, made.status, now() - since)
        }
        if (found instanceof Promise) found.then(answer, passOn)
        else answer(found)
      }))
      return Object.assign(server, { keepAliveTimeout, requestTimeout })
    },

    /** @param {IncomingMessage} request @returns {Found | Promise<Found> | undefined} */
    foundOf: (request) => passedOn.get(request)?.found,
    /** @param {IncomingMessage} request @returns {number} ms before the framework got it */
    leadOf: (request) => passedOn.get(request)?.lead_ms ?? 0,
    /** @param {IncomingMessage} request */
    hasStarted: (request) => passedOn.has(request)
  }
}

/** @template Found @typedef {ReturnType<typeof createFastPath<Found>>} FastPath */
