import { createServer } from 'node:http'

/**
 * A complete response; in `head`, names and values of the headers alternate.
 * @typedef {{status: 200 | 304, head: string[], document?: Buffer}} Ready
 */

/**
 * @template Found
 * @typedef {object} Finder
 * @property {(request: IncomingMessage) => Found | Promise<Found> | undefined} find  undefined: the framework handles
 *   the request alone
 * @property {(found: Found, headers: import('node:http').IncomingHttpHeaders) => Ready | undefined} ready  undefined:
 *   the framework responds
 * @property {(request: IncomingMessage, status: number, duration_ms: number) => void} [answered]  called for requests
 *   that the framework does not see
 */

/**
 * Answers some requests before the framework, because Fastify's overhead per request exceeds the cost of a cached
 * response. Neither routes nor hooks see these requests. The framework gets all others unchanged, together with the
 * result of `find`. See docs/decisions/0017.
 * @template Found
 * @param {object} on
 * @param {(method: string) => void} on.begun  called for each request for which `find` returns a result or a promise
 */
export function createFastPath ({ begun }) {
  /** @type {Finder<Found>} */
  let finder = { find: () => undefined, ready: () => undefined }
  /**
   * Requests that started here and went on to the framework.
   * @type {WeakMap<IncomingMessage, {found: Found | Promise<Found>, lead_ms: number}>}
   */
  const left = new WeakMap()
  // The clock is read only if `answered` needs the duration.
  const now = () => finder.answered === undefined ? 0 : performance.now()

  /**
   * @param {Found} found
   * @param {IncomingMessage} request
   */
  function readyOf (found, request) {
    try {
      return finder.ready(found, request.headers)
    } catch {
      // The framework runs into the same error, and its error handler responds.
      return undefined
    }
  }

  return {
    /** @param {Finder<Found>} only  before this call the framework answers everything */
    use (only) { finder = only },

    /**
     * Creates Fastify's server. https://fastify.dev/docs/latest/Reference/Server/#serverfactory
     * @param {import('fastify').FastifyServerFactoryHandler} byFramework
     * @param {Record<string, any>} options  Fastify's; it applies none of them to a server that it did not create
     */
    serverFactory (byFramework, { keepAliveTimeout, requestTimeout }) {
      const server = createServer((request, response) => {
        // While the server closes, each response needs `Connection: close`, which the framework adds.
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
     * @param {IncomingMessage} request  that reached the framework
     * @returns {Found | Promise<Found> | undefined} what `find` returned for it
     */
    foundOf: (request) => left.get(request)?.found,
    /** @param {IncomingMessage} request @returns {number} ms before the framework got it */
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
