import createError from '@fastify/error'
import { t } from '../language.js'
import { personIn } from '../access/access.js'
import { HTML, renderFor, wantsHtml } from '../views.js'
import { PAGES_MAX } from './author-revert.js'
import { AUTHOR_SCHEMA } from '../writing/change.js'
import { historyUrl } from '../pages/name.js'

/** @import {AuthorRevert} from './author-revert.js' */

const InvalidTime = createError(
  'WIKI_INVALID_TIME', '“%s” is not a point in time: write it like 2026-01-31T18:00, in UTC.', 400
)
const OwnChanges = createError(
  'WIKI_OWN_CHANGES', 'These are your own changes. Undo them page by page, in the history of each.', 400
)

const REVERT_URL = '/edit/revert-author'

const PROPERTIES = {
  author: AUTHOR_SCHEMA,
  after: { type: 'string', maxLength: 800 },
  since: { type: 'string', pattern: '^(\\d{4}-\\d\\d-\\d\\d(T\\d\\d:\\d\\d(:\\d\\d(\\.\\d{1,3})?)?Z?)?)?$' },
  limit: {
    anyOf: [
      { type: 'integer', minimum: 1, maximum: PAGES_MAX },
      { type: 'string', pattern: '^[1-9]\\d{0,2}$|^1000$|^$' }
    ]
  }
}
const PREVIEW_SCHEMA = { querystring: { type: 'object', additionalProperties: false, properties: PROPERTIES } }
const REVERT_SCHEMA = {
  body: { type: 'object', required: ['author'], additionalProperties: false, properties: PROPERTIES }
}

/** @typedef {{author?: string, since?: string, after?: string, limit?: string | number}} Asked  see PROPERTIES */

/** @type {import('fastify').FastifyPluginAsync<{authorRevert: AuthorRevert}>} */
export async function authorRevertRoutes (app, { authorRevert }) {
  app.addHook('onRequest', (_request, reply, done) => {
    reply.header('cache-control', 'private, no-store')
    done()
  })
  const config = { role: 'admin' }

  app.get(REVERT_URL, { config, schema: PREVIEW_SCHEMA }, async (request, reply) => {
    const asked = /** @type {Asked} */ (request.query)
    const found = asked.author === undefined ? null : await authorRevert.plan(optionsIn(request, asked))
    return reply.type(HTML).send(renderFor(request, 'revert-author', {
      title: t('Undo an author’s changes'),
      url: REVERT_URL,
      asked: { author: '', since: '', limit: '', after: '', ...asked },
      limitMax: PAGES_MAX,
      plans: found && found.plans.map((plan) => ({ ...plan, historyUrl: historyUrl(plan.name) })),
      next: found?.next,
      person: personIn(request)
    }))
  })

  app.post(REVERT_URL, { config, schema: REVERT_SCHEMA }, async (request, reply) => {
    const asked = /** @type {Asked} */ (request.body)
    const options = optionsIn(request, asked)
    const { name: author = '', role } = personIn(request) ?? {}
    const { outcomes, next } = await authorRevert.revert(options, { author, role })
    const done = outcomes.filter(({ outcome }) => outcome !== 'skipped').length
    if (!wantsHtml(request)) {
      return { author: options.author, done, skipped: outcomes.length - done, next, pages: outcomes }
    }
    return reply.type(HTML).send(renderFor(request, 'reverted-author', {
      title: options.author === ''
        ? t('Changes without a name undone')
        : t('Changes by “{{author}}” undone', { author: options.author }),
      url: REVERT_URL,
      asked: { since: '', limit: '', ...asked, after: next },
      done,
      outcomes: outcomes.map((outcome) => ({ ...outcome, historyUrl: historyUrl(outcome.name) })),
      person: personIn(request)
    }))
  })
}

/**
 * @param {import('fastify').FastifyRequest} request @param {Asked} asked @returns {Parameters<AuthorRevert['plan']>[0]}
 */
function optionsIn (request, { author = '', since = '', after = '', limit = '' }) {
  if (author.trim() === personIn(request)?.name) throw new OwnChanges()
  return {
    author: author.trim(),
    since: since === '' ? undefined : timeIn(since),
    after: after === '' ? undefined : after,
    limit: limit === '' ? PAGES_MAX : Number(limit)
  }
}

/** @param {string} text */
function timeIn (text) {
  // A date without a time is UTC already (ECMA-262).
  const time = new Date(text.includes('T') && !text.endsWith('Z') ? `${text}Z` : text)
  if (Number.isNaN(time.getTime())) throw new InvalidTime(text)
  return time
}
