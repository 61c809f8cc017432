import { nameOfPerson } from '../access/access.js'
import { NO_COPY } from '../caching/cache-policy.js'
import { DAYS_MAX, endAfter } from '../watching/ends.js'
import { READ_MARK_PATTERN } from '../watching/read-marks.js'
import { AUTHOR_SCHEMA } from '../writing/change.js'
import { nameIn } from './address.js'
import { sendPart } from './answers.js'
import { limitIn, readCursor } from './cursor.js'
import { change, CHANGE_EXAMPLE, CHANGE_ID } from './history-routes.js'
import { answer, bodyOf, CHANGE, list, NAME, named, partQuery, queryOf, refusals, strict } from './schemas.js'

/** @import {FastifyPluginAsync, FastifyRequest} from 'fastify' */
/** @import {Watching} from '../watching/watching.js' */

const tags = ['watching']
const security = [{ token: [] }]
const { name: PAGE, author: ANA } = CHANGE_EXAMPLE
const MARK = '1767261600000'

const AUTHOR = {
  type: 'object',
  required: ['author'],
  properties: { author: { ...AUTHOR_SCHEMA, minLength: 1, description: 'The author’s name.', examples: [ANA] } }
}
const DONE = { 204: { description: 'It is so now', type: 'null' } }

export const WATCHING_SCHEMAS = Object.entries({
  Watched: strict({
    pages: { type: 'array', items: NAME },
    authors: { type: 'array', items: { type: 'string' } },
    ending: {
      type: 'array',
      description: 'Which of the pages you watch for some time only.',
      items: strict({ name: NAME, until: { type: 'string', format: 'date-time' } })
    },
    in_spaces: {
      type: 'array',
      description: 'Which of the pages are private, and in which space. You have a role there now.',
      items: strict({ name: NAME, space: NAME })
    }
  }),
  WatchedChange: strict({
    ...CHANGE,
    new: { type: 'boolean', description: 'Whether you have not seen it yet.' },
    space: { type: ['string', 'null'], description: 'The private space of the page; null: the page is public.' }
  })
}).map(([$id, schema]) => ({ $id, ...schema }))

/** @type {Record<string, import('fastify').FastifySchema>} */
const SCHEMAS = {
  list: {
    tags,
    security,
    summary: 'List what you watch',
    description: 'You are the owner of the token. Pages have the names that they have now.',
    response: {
      200: answer('Names', 'Watched', {
        pages: [PAGE], authors: [ANA], ending: [{ name: PAGE, until: '2026-02-01T10:00:00.000Z' }], in_spaces: []
      }),
      ...refusals()
    }
  },
  watchPage: {
    tags,
    security,
    summary: 'Watch a page',
    description: 'Also one that does not exist yet. Without `days`: for good. Watching it again replaces the end. A ' +
      'page in a private space takes a role there.',
    params: named(PAGE),
    querystring: queryOf({
      days: {
        type: 'integer',
        minimum: 1,
        maximum: DAYS_MAX,
        description: 'Watch it for so many days from now on.',
        examples: [30]
      }
    }),
    response: { ...DONE, ...refusals(409) }
  },
  stopPage: {
    tags,
    security,
    summary: 'Stop watching a page',
    description: 'Nothing happens if you do not watch it. In a private space, it takes no role.',
    params: named(PAGE),
    response: { ...DONE, ...refusals() }
  },
  watchAuthor: {
    tags,
    security,
    summary: 'Watch an author',
    description: 'By the name that the history shows.',
    params: AUTHOR,
    response: { ...DONE, ...refusals(409) }
  },
  stopAuthor: {
    tags,
    security,
    summary: 'Stop watching an author',
    description: 'Nothing happens if you do not watch this one.',
    params: AUTHOR,
    response: { ...DONE, ...refusals() }
  },
  changes: {
    tags,
    security,
    summary: 'List the changes of what you watch',
    description: 'The newest first. `new` are those that others made since you watch the page or the author, and that ' +
      'are not marked as read.',
    querystring: partQuery(),
    response: {
      200: list('Revisions without their texts', 'WatchedChange', [{ ...CHANGE_EXAMPLE, new: true, space: null }], {
        read_mark: {
          schema: { type: 'string', description: 'To mark all of now as read, the newest 100 of the last minute and all before.' }, example: MARK
        }
      }),
      ...refusals()
    }
  },
  read: {
    tags,
    security,
    summary: 'Mark changes as read',
    description: 'With the `read_mark` of the list’s first part. Changes that came since stay new.',
    body: bodyOf(
      { read_mark: { type: 'string', maxLength: 2_600, pattern: READ_MARK_PATTERN, description: 'From the list.' } },
      ['read_mark'],
      { read_mark: MARK }
    ),
    response: { ...DONE, ...refusals() }
  }
}

/** @param {FastifyRequest} request */
const authorIn = ({ params }) => /** @type {{author: string}} */ (params).author

/** @param {{name: string}[]} watched */
const namesOf = (watched) => watched.map(({ name }) => name)

const NAMED = /** @type {const} */ ([
  {
    path: '/watching/pages/:name',
    kind: 'pages',
    nameIn,
    watched: SCHEMAS.watchPage,
    stopped: SCHEMAS.stopPage
  },
  {
    path: '/watching/authors/:author',
    kind: 'authors',
    nameIn: authorIn,
    watched: SCHEMAS.watchAuthor,
    stopped: SCHEMAS.stopAuthor
  }
])

/** @type {FastifyPluginAsync<{watching: Watching}>} */
export async function watchingApi (app, { watching }) {
  const config = { role: 'reader' }

  app.get('/watching', { config, schema: SCHEMAS.list }, async (request, reply) => {
    const { pages, authors } = await watching.of(nameOfPerson(request))
    reply.header('cache-control', NO_COPY)
    return {
      pages: namesOf(pages),
      authors: namesOf(authors),
      ending: pages.flatMap(({ name, until }) => until === undefined ? [] : [{ name, until }]),
      in_spaces: pages.flatMap(({ name, space }) => space === null ? [] : [{ name, space }])
    }
  })

  for (const { path, kind, nameIn, watched, stopped } of NAMED) {
    app.put(path, { config, schema: watched }, async (request, reply) => {
      const { days = 0 } = /** @type {{days?: number}} */ (request.query)
      await watching.watch(nameOfPerson(request), kind, nameIn(request), endAfter(days))
      return reply.code(204).send()
    })

    app.delete(path, { config, schema: stopped }, async (request, reply) => {
      await watching.stop(nameOfPerson(request), kind, nameIn(request))
      return reply.code(204).send()
    })
  }

  app.get('/watching/changes', { config, schema: SCHEMAS.changes }, async (request, reply) => {
    const { readMark, items, more } = await watching.changes(nameOfPerson(request), {
      before: readCursor(request, CHANGE_ID), limit: limitIn(request)
    })
    return sendPart(request, reply, {
      cacheControl: NO_COPY,
      found: { items, more },
      shown: (item) => ({ ...change(item), new: item.isNew, space: item.space }),
      position: ({ _id: id }) => String(id),
      others: { read_mark: readMark }
    })
  })

  app.post('/watching/read', { config, schema: SCHEMAS.read }, async (request, reply) => {
    const { read_mark: mark } = /** @type {{read_mark: string}} */ (request.body)
    await watching.markRead(nameOfPerson(request), mark)
    return reply.code(204).send()
  })
}
