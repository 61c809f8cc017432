import { canonicalName } from '../pages/name.js'
import { SAVE_ID_PATTERN } from '../deferred/save.js'
import { saveUrl } from '../deferred/deferred-saves.js'
import { withoutDatabase } from '../deferred/without-database.js'
import { answer, NAME, otherwise, queryOf, strict } from './schemas.js'

/** @import {FastifyPluginAsync} from 'fastify' */
/** @import {DeferredSaves} from '../deferred/deferred-saves.js' */
/** @import {FindStatus} from '../deferred/save-status.js' */

const [ID, PAGE] = ['Zm9yIHRoZSBleGFtcGxlcw', 'News/January']
/** An example of what a save is answered with. */
export const PENDING = { id: ID, url: saveUrl(ID, PAGE), name: PAGE, status: 'pending', revision: null, problem: null }

/** For a wiki with an unsafe WRITE_STRATEGY alone. */
export const SAVE_SCHEMA = {
  $id: 'Save',
  ...strict({
    id: { type: 'string' },
    url: { type: 'string', description: 'Where its status is: a path of this wiki.' },
    name: NAME,
    status: {
      type: 'string',
      enum: ['pending', 'saved', 'failed'],
      description: 'A save that is pending is lost when the wiki’s process, or Redis, dies.'
    },
    revision: { type: ['integer', 'null'], description: 'What it made; null until it is saved.' },
    problem: {
      anyOf: [{ $ref: 'Problem#' }, { type: 'null' }], description: 'Why it has failed; null when it has not.'
    }
  })
}

const PARAMETERS = {
  params: {
    type: 'object',
    required: ['id'],
    properties: { id: { type: 'string', pattern: SAVE_ID_PATTERN, examples: [ID] } }
  },
  querystring: queryOf({
    page: { type: 'string', description: 'The name of the page that was saved.', examples: [PAGE] }
  }, ['page'])
}

const SCHEMA = {
  ...PARAMETERS,
  tags: ['pages'],
  summary: 'Read what became of a save',
  description: 'Of one that was answered with 202. 404: it waits in another process of the wiki, or was lost with one.',
  response: {
    200: answer('Its status', 'Save', { ...PENDING, status: 'saved', revision: 2 }),
    ...otherwise(404)
  }
}

/**
 * Also where each save is stored before its answer: what was deferred before the wiki was started again can be read.
 * @type {FastifyPluginAsync<{findStatus: FindStatus, deferred?: DeferredSaves}>}
 */
export async function saveApi (app, { findStatus, deferred }) {
  const schema = deferred ? SCHEMA : { ...PARAMETERS, hide: true }
  const config = withoutDatabase(deferred, () => true)
  app.get('/saves/:id', { config, schema }, async (request) => {
    const { id } = /** @type {{id: string}} */ (request.params)
    const { page } = /** @type {{page: string}} */ (request.query)
    return findStatus(id, canonicalName(page))
  })
}
