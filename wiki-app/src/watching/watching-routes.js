import { t } from '../language.js'
import { nameOfPerson } from '../access/access.js'
import { DIGEST_END_URL, DIGEST_URL } from '../digest/addresses.js'
import { changeItem, changesUrl } from '../history/change-item.js'
import { absoluteRoot } from '../http/absolute-root.js'
import { viewUrl } from '../pages/name.js'
import { IN } from '../reading/address.js'
import { readableTime } from '../readable.js'
import { HTML, renderFor } from '../views.js'
import { feedUrl, watchAuthorUrl, WATCHING_URL, watchUrl } from './addresses.js'
import { READ_MARK_PATTERN } from './read-marks.js'

/** @import {FastifyPluginAsync, FastifyReply, FastifyRequest} from 'fastify' */
/** @import {Subscriptions} from '../digest/subscriptions.js' */
/** @import {WatchedItem, Watching} from './watching.js' */

const ITEMS_PER_PART = 50
const BODY_MAX_BYTES = 16_384

const SCHEMAS = {
  list: {
    querystring: { type: 'object', properties: { before: { type: 'string', pattern: '^[0-9a-f]{24}$' } } }
  },
  read: {
    body: {
      type: 'object',
      additionalProperties: false,
      required: ['mark'],
      properties: { mark: { type: 'string', pattern: READ_MARK_PATTERN } }
    }
  }
}

/**
 * What changed in what a person watches, and the list of that.
 * @type {FastifyPluginAsync<{watching: Watching, publicUrl?: string, subscriptions?: Subscriptions}>}
 */
export async function watchingRoutes (app, { watching, publicUrl, subscriptions }) {
  const config = { role: 'reader' }
  const form = { config, bodyLimit: BODY_MAX_BYTES }

  // The session's cookie is sent below /edit/ alone.
  app.get('/watching', async (_request, reply) => reply.redirect(WATCHING_URL, 303))

  app.get(WATCHING_URL, { config, schema: SCHEMAS.list }, async (request, reply) => {
    const { before } = /** @type {{before?: string}} */ (request.query)
    return sendList(request, reply, { before })
  })

  app.post(`${WATCHING_URL}/read`, { ...form, schema: SCHEMAS.read }, async (request, reply) => {
    const { mark } = /** @type {{mark: string}} */ (request.body)
    await watching.markRead(nameOfPerson(request), mark)
    return reply.redirect(WATCHING_URL, 303)
  })

  app.post(`${WATCHING_URL}/feed`, form, async (request, reply) => {
    const secret = await watching.newFeed(nameOfPerson(request))
    const path = feedUrl(secret)
    return sendList(request, reply, { feed: { path, url: absoluteRoot(request, publicUrl) + path } })
  })

  /**
   * @param {FastifyRequest} request @param {FastifyReply} reply
   * @param {{before?: string, feed?: {path: string, url: string}}} shown
   */
  async function sendList (request, reply, { before, feed }) {
    const user = nameOfPerson(request)
    const [{ items, more, hasNew, readMark }, { pages, authors, hasFeed }, digest] = await Promise.all([
      watching.changes(user, { before, limit: ITEMS_PER_PART }), watching.of(user), subscriptions?.of(user)
    ])
    return reply.type(HTML).send(renderFor(request, 'watching', {
      title: t('Watching'),
      named: true,
      first: before === undefined,
      items: items.map(shownItem),
      nextUrl: more ? changesUrl(WATCHING_URL, { before: String(items[items.length - 1]._id) }) : null,
      readUrl: `${WATCHING_URL}/read`,
      readMark: before === undefined && hasNew ? readMark : null,
      hasPrivate: pages.some(({ space }) => space !== null),
      pages: pages.map(({ name, until, space }) => ({
        name,
        space,
        url: (space === null ? '' : IN) + viewUrl(name),
        watchUrl: watchUrl(name),
        ...until && shownEnd(until.toISOString())
      })),
      authors: authors.map(({ name }) => ({
        name, url: changesUrl('/changes', { author: name }), watchUrl: watchAuthorUrl(name)
      })),
      newFeedUrl: `${WATCHING_URL}/feed`,
      hasFeed,
      feed,
      digest,
      digestUrl: DIGEST_URL,
      digestEndUrl: DIGEST_END_URL
    }))
  }
}

/** @param {WatchedItem} item @returns what the list shows; of private pages, with the addresses of members */
function shownItem ({ isNew, space, ...change }) {
  const item = { ...changeItem(change), isNew, space }
  if (space === null) return item
  const { viewUrl, historyUrl, revisionUrl, differenceUrl } = item
  return {
    ...item,
    viewUrl: IN + viewUrl,
    historyUrl: IN + historyUrl,
    revisionUrl: IN + revisionUrl,
    differenceUrl: differenceUrl && IN + differenceUrl
  }
}

/** @param {string} until  ISO 8601 */
const shownEnd = (until) => ({ until, untilTime: readableTime(until) })
