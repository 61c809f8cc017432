import { t } from '../language.js'
import { nameOfPerson } from '../access/access.js'
import { changesUrl } from '../history/change-item.js'
import { viewUrl } from '../pages/name.js'
import { isMisspelt, nameIn } from '../reading/address.js'
import { toolUrls } from '../reading/tools.js'
import { readableTime } from '../readable.js'
import { HTML, renderFor, wantsHtml } from '../views.js'
import { AUTHOR_SCHEMA } from '../writing/change.js'
import { WATCH_AUTHOR_URL, watchAuthorUrl, WATCHING_URL, watchUrl } from './addresses.js'
import { endAfter, OFFERED_DAYS } from './ends.js'

/** @import {FastifyPluginAsync, FastifyReply, FastifyRequest} from 'fastify' */
/** @import {Watching} from './watching.js' */
/** @import {Kind} from './watch-list.js' */

const BODY_MAX_BYTES = 16_384

const WATCH = { type: 'string', enum: ['yes', 'no'] }
const AUTHOR = { ...AUTHOR_SCHEMA, minLength: 1 }
const DAYS = { type: 'string', enum: OFFERED_DAYS.map(String) }
/** @param {Record<string, object>} properties  all required @param {Record<string, object>} [optional] */
const only = (properties, optional = {}) => ({
  type: 'object',
  additionalProperties: false,
  required: Object.keys(properties),
  properties: { ...properties, ...optional }
})

/**
 * The button for one page or author. Pages are the same for everybody, so they only lead to it.
 * @type {FastifyPluginAsync<{watching: Watching}>}
 */
export async function watchRoutes (app, { watching }) {
  const config = { role: 'reader' }
  const form = { config, bodyLimit: BODY_MAX_BYTES }

  app.get('/edit/watch/*', { config }, async (request, reply) => {
    const name = nameIn(request)
    const url = watchUrl(name)
    if (isMisspelt(request, url)) return reply.redirect(url, 303)
    return send(request, reply, {
      ...toolUrls(name),
      title: t('Watch “{{name}}”', { name }),
      ...await howWatched(request, 'pages', name),
      url,
      author: null,
      backUrl: viewUrl(name)
    })
  })

  const ofPage = { body: only({ watch: WATCH }, { days: DAYS }) }
  app.post('/edit/watch/*', { ...form, schema: ofPage }, async (request, reply) => {
    const name = nameIn(request)
    await change(request, 'pages', name)
    // Without a role in a private space, a person may only stop: then that address refuses.
    const isOpen = await watching.mayWatch(nameOfPerson(request), name)
    return reply.redirect(isOpen ? watchUrl(name) : WATCHING_URL, 303)
  })

  app.get(WATCH_AUTHOR_URL, { config, schema: { querystring: only({ author: AUTHOR }) } }, async (request, reply) => {
    const { author } = /** @type {{author: string}} */ (request.query)
    return send(request, reply, {
      title: t('Watch the author {{author}}', { author }),
      ...await howWatched(request, 'authors', author),
      url: WATCH_AUTHOR_URL,
      author,
      backUrl: changesUrl('/changes', { author })
    })
  })

  const schema = { body: only({ author: AUTHOR, watch: WATCH }) }
  app.post(WATCH_AUTHOR_URL, { ...form, schema }, async (request, reply) => {
    const { author } = /** @type {{author: string}} */ (request.body)
    await change(request, 'authors', author)
    return reply.redirect(watchAuthorUrl(author), 303)
  })

  /** @param {FastifyRequest} request @param {Kind} kind @param {string} name */
  async function howWatched (request, kind, name) {
    const found = await watching.entry(nameOfPerson(request), kind, name)
    return { watched: found !== null, until: found?.until?.toISOString() ?? null }
  }

  /** @param {FastifyRequest} request @param {Kind} kind @param {string} name */
  async function change (request, kind, name) {
    const { watch, days = '0' } = /** @type {{watch: 'yes' | 'no', days?: string}} */ (request.body)
    if (watch === 'no') await watching.stop(nameOfPerson(request), kind, name)
    else await watching.watch(nameOfPerson(request), kind, name, endAfter(Number(days)))
  }
}

/**
 * @param {FastifyRequest} request @param {FastifyReply} reply
 * @param {{watched: boolean, until: string | null} & Record<string, unknown>} shown
 */
function send (request, reply, shown) {
  const { watched, until } = shown
  if (!wantsHtml(request)) return reply.send({ watched, until })
  return reply.type(HTML).send(renderFor(request, 'watch', {
    ...shown, untilTime: until && readableTime(until), spans: spans(), watchingUrl: WATCHING_URL
  }))
}

/** What OFFERED_DAYS are called. */
function spans () {
  const names = [t('for good'), t('for a week'), t('for a month'), t('for three months'), t('for a year')]
  return OFFERED_DAYS.map((days, at) => ({ days, name: names[at] }))
}
