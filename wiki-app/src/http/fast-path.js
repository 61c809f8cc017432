import { createServer } from 'node:http'

/**
 * What is sent as it is: names and values of the headers in turn, and the body.
 * @typedef {{status: 200 | 304, head: string[], document?: Buffer}} Ready
 */

/**
 * @template Found
 * @typedef {object} Finder
 * @property {(request: IncomingMessage) => Found | Promise<Found> | undefined} find  undefined: the framework looks
 *   by itself
 * @property {(found: Found, headers: import('node:http').IncomingHttpHeaders) => Ready | undefined} ready  undefined:
 *   the framework answers
 * @property {(request: IncomingMessage, status: number, duration_ms: number) => void} [answered]  of a request that
 *   the framework does not see
 */

/**
 * Answers some requests before the framework: its own work for a request exceeds that of an answer from memory. Neither
 * routes nor hooks see them. The framework gets all others as they came, with what was found of them. See
 * docs/decisions/0017.
 * @template Found
 * @param {object} on
 * @param {(method: string) => void} on.begun  a request for which `find` has found something, or begun to look
 */
export function createFastPath ({ begun }) {
  /** @type {Finder<Found>} */
  let finder = { find: () => undefined, ready: () => undefined }
  /**
   * Begun here and left to the framework.
   * @type {WeakMap<IncomingMessage, {found: Found | Promise<Found>, lead_ms: number}>}
   */
  const left = new WeakMap()
  // The clock is read only where `answered` wants the time.
  const now = () => finder.answered === undefined ? 0 : performance.now()

  /**
   * @param {Found} found
   * @param {IncomingMessage} request
   */
  function readyOf (found, request) {
    try {
      return finder.ready(found, request.headers)
    } catch {
      // The framework meets the same error, and its error handler answers.
      return undefined
    }
  }

  return {
    /** @param {Finder<Found>} only  before it the framework answers everything */
    use (only) { finder = only },

    /**
     * Makes Fastify's server. https://fastify.dev/docs/latest/Reference/Server/#serverfactory
     * @param {import('fastify').FastifyServerFactoryHandler} byFramework
     * @param {Record<string, any>} options  Fastify's; it applies none of them to a server that it did not make
     */
    serverFactory (byFramework, { keepAliveTimeout, requestTimeout }) {
      const server = createServer((request, response) => {
        // While it closes, each answer has to say that its connection ends, and the framework sees to that.
        const found = server.listening ? finder.find(request) : undefined
        if (found === undefined) return byFramework(request, response)
        const since = now()
        begun(String(request.method))
        const leave = () => {
          left.set(request, { found, lead_ms: now() - since })
          byFramework(request, response)
        }
        const answer = (/** @type {Found} */ what) => {
          const made = readyOf(what, request)
          if (made === undefined) return leave()
          response.writeHead(made.status, made.head).end(made.document)
          finder.answered?.(request, made.status, now() - since)
        }
        if (found instanceof Promise) found.then(answer, leave)
        else answer(found)
      })
      return Object.assign(server, { keepAliveTimeout, requestTimeout })
    },

    /**
     * @param {IncomingMessage} request  that the framework has got
     * @returns {Found | Promise<Found> | undefined} what was found of it before
     */
    foundOf: (request) => left.get(request)?.found,
    /** @param {IncomingMessage} request @returns {number} ms that passed before the framework got it */
    leadOf: (request) => left.get(request)?.lead_ms ?? 0,
    /** @param {IncomingMessage} request */
    hasBegun: (request) => left.has(request)
  }
}

/** @typedef {import('node:http').IncomingMessage} IncomingMessage */
/**
 * @template Found
 * @typedef {ReturnType<typeof createFastPath<Found>>} FastPath
 */
