import fp from 'fastify-plugin'
import { spaceRedirects } from './redirects.js'
import { spaceRefusals } from './refusals.js'

/** @import {FastifyPluginAsync} from 'fastify' */
/** @import {FindSpace} from './find-space.js' */

/** What public routes say of names in private spaces. Before these routes. */
export const spacesPlugin = fp(
  /** @type {FastifyPluginAsync<{find: FindSpace['find']}>} */
  async function spacesPlugin (app, { find }) {
    await app.register(spaceRedirects, { find })
    await app.register(spaceRefusals, { find })
  }
)
