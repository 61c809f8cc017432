import createError from '@fastify/error'
import fp from 'fastify-plugin'
import { canonicalName } from '../pages/name.js'

/** @import {FastifyPluginAsync, FastifyRequest} from 'fastify' */
/** @import {WithoutDatabase} from '../http/limit-handlers.js' */
/** @import {FindSpace} from './find-space.js' */

/** @typedef {{withoutDatabase?: WithoutDatabase}} Config */

const NotInSpaces = createError(
  'WIKI_NOT_IN_SPACES',
  'This does not work for “%s” yet, a name in a private space: ' +
    'short addresses are for public pages.',
  409
)

/** @param {FastifyRequest} request */
function ofAddress ({ params }) {
  const { '*': rest, name = rest } = /** @type {Record<string, string | undefined>} */ (params)
  return name
}
/** @param {string} field @returns {(request: FastifyRequest) => string | undefined} */
const ofBody = (field) => ({ body }) => /** @type {Record<string, string>} */ (body ?? {})[field]

/** What is for public pages alone, and the name that a request is about. @type {Record<string, typeof ofAddress>} */
const ROUTES = {
  'GET /edit/short-link/*': ofAddress,
  'POST /edit/short-link/*': ofAddress,
  'POST /api/v1/short-links': ofBody('page')
}

/** Whether the page is there or not. Before the routes that it is about. */
export const spaceRefusals = fp(
  /** @type {FastifyPluginAsync<{find: FindSpace['find']}>} */
  async function spaceRefusals (app, { find }) {
    app.addHook('onRoute', (route) => {
      const nameOf = ROUTES[`${route.method} ${route.url}`]
      if (nameOf === undefined) return
      route.preHandler = [...[route.preHandler ?? []].flat(), async (request) => {
        // What waits for the database is refused there: it knows no page of this name.
        if (/** @type {Config} */ (request.routeOptions.config).withoutDatabase?.(request)) return
        const name = canonicalName(nameOf(request) ?? '')
        if (await find(name) !== null) throw new NotInSpaces(name)
      }]
    })
  }
)
