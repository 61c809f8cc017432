import { canonicalName } from '../pages/name.js'
import { API_PREFIX } from '../views.js'

/** @import {FastifyReply, FastifyRequest} from 'fastify' */

/** @param {FastifyRequest} request @returns {string} as the client spells it */
export const askedName = ({ params }) => /** @type {{name: string}} */ (params).name

/** @param {FastifyRequest} request @returns {string} canonical @throws {Error} 400 when no page can have this name */
export const nameIn = (request) => canonicalName(askedName(request))

/** @param {string} name */
export const pageUrl = (name) => `${API_PREFIX}/pages/${encodeURIComponent(name)}`

/** @param {FastifyRequest} request @param {FastifyReply} _reply @param {() => void} done */
export function readNumbers (request, _reply, done) {
  const { params, querystring } =
    /** @type {Record<string, {properties?: Record<string, {type?: string}>} | undefined>} */ (
      request.routeOptions.schema ?? {}
    )
  for (const [values, schema] of [[request.params, params], [request.query, querystring]]) {
    for (const [key, value] of Object.entries(/** @type {Record<string, unknown>} */ (values))) {
      const { type } = /** @type {typeof params} */ (schema)?.properties?.[key] ?? {}
      if (
        type === 'integer' && /^\d{1,15}$/.test(String(value))
      ) /** @type {Record<string, unknown>} */ (values)[key] = Number(value)
    }
  }
  done()
}
