import { spaceIn } from '../access/access.js'
import { keepFromCaches } from '../access/private-answers.js'
import { NoSpace } from './find-space.js'

/** @import {FastifyInstance, FastifyPluginAsync, RouteHandlerMethod} from 'fastify' */

const METHODS = /** @type {const} */ (['get', 'post', 'put', 'delete', 'patch'])
/** A pattern that ends with the name of a page, or has it. Others may name a space in the query. */
const HAS_NAME = /\/\*$|\/:name(?:\/|$)/

/** @typedef {{url: string, handler: RouteHandlerMethod}} Registered */

/**
 * Routes with two handlers each: one with the public services, one with those of the spaces. The name in the address,
 * or the space in the query of a route that is `placed`, decides before either runs: see access.js, which also checks
 * the person's role in the space.
 * @template {object} Options @template {object} Inside
 * @param {FastifyPluginAsync<Options>} plugin @param {Inside | undefined} inside  undefined: the wiki has no spaces
 * @returns {FastifyPluginAsync<Options>}
 */
export const placed = (plugin, inside) => async (app, options) => {
  const routes = /** @type {(app: FastifyInstance, options: Options) => Promise<void>} */ (plugin)
  if (inside === undefined) return routes(app, options)
  /** @type {Map<string, RouteHandlerMethod>} */
  const handlers = new Map()
  await routes(instead(app, (method, url, _options, handler) => { handlers.set(`${method} ${url}`, handler) }, false),
    { ...options, ...inside })
  app.addHook('onSend', (request, reply, payload, done) =>
    spaceIn(request) === null ? done() : keepFromCaches(request, reply, payload, done))
  await routes(instead(app, (method, url, given, handler) => {
    const within = handlers.get(`${method} ${url}`)
    const hasQuery = /** @type {{placed?: boolean}} */ (configOf(given) ?? {}).placed ?? false
    if (!(HAS_NAME.test(url) || hasQuery) || within === undefined) return app[method](url, given, handler)
    /** @type {RouteHandlerMethod} */
    const either = function (request, reply) {
      if (spaceIn(request) !== null) return within.call(this, request, reply)
      const { space } = /** @type {{space?: unknown}} */ (request.query)
      if (hasQuery && space !== undefined) throw new NoSpace(String(space))
      return handler.call(this, request, reply)
    }
    app[method](url, { ...given, config: /** @type {object} */ ({ ...configOf(given), placed: true }) }, either)
  }, true), options)
}

/** @param {FastifyInstance} app @param {object} config  of all routes that are registered with the result */
export const withConfig = (app, config) => instead(app, (method, url, options, handler) => {
  app[method](url, { ...options, config: { ...configOf(options), ...config } }, handler)
}, true)

/** @param {object} options  of a route */
const configOf = (options) => /** @type {{config?: object}} */ (options).config

/**
 * @typedef {(method: (typeof METHODS)[number], url: string, options: object, handler: RouteHandlerMethod) => void}
 *   Register
 * @param {FastifyInstance} app @param {Register} register
 * @param {boolean} withHooks
 * @returns {FastifyInstance} as `app`, but for what registers routes
 */
function instead (app, register, withHooks) {
  const other = Object.create(app)
  for (const method of METHODS) {
    other[method] = (/** @type {string} */ url, /** @type {any} */ options, /** @type {any} */ handler) => {
      if (handler === undefined) register(method, url, {}, options)
      else register(method, url, options, handler)
      return other
    }
  }
  other.addHook = (/** @type {[any, any]} */ ...hook) => {
    if (withHooks) app.addHook(...hook)
    return other
  }
  return other
}
