import { t } from '../language.js'
import { nameOfPerson } from '../access/access.js'
import { changesUrl } from '../history/change-item.js'
import { viewUrl } from '../pages/name.js'
import { isMisspelt, nameIn } from '../reading/address.js'
import { toolUrls } from '../reading/tools.js'
import { HTML, renderFor, wantsHtml } from '../views.js'
import { AUTHOR_SCHEMA } from '../writing/change.js'
import { WATCH_AUTHOR_URL, watchAuthorUrl, WATCHING_URL, watchUrl } from './addresses.js'

/** @import {FastifyPluginAsync, FastifyReply, FastifyRequest} from 'fastify' */
/** @import {Watching} from './watching.js' */
/** @import {Kind} from './watch-list.js' */

const BODY_MAX_BYTES = 16_384

const WATCH = { type: 'string', enum: ['yes', 'no'] }
const AUTHOR = { ...AUTHOR_SCHEMA, minLength: 1 }
const only = (/** @type {Record<string, object>} */ properties) =>
  ({ type: 'object', additionalProperties: false, required: Object.keys(properties), properties })

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
      watched: await isWatched(request, 'pages', name),
      url,
      author: null,
      backUrl: viewUrl(name)
    })
  })

  app.post('/edit/watch/*', { ...form, schema: { body: only({ watch: WATCH }) } }, async (request, reply) => {
    const name = nameIn(request)
    await change(request, 'pages', name)
    return reply.redirect(watchUrl(name), 303)
  })

  app.get(WATCH_AUTHOR_URL, { config, schema: { querystring: only({ author: AUTHOR }) } }, async (request, reply) => {
    const { author } = /** @type {{author: string}} */ (request.query)
    return send(request, reply, {
      title: t('Watch the author {{author}}', { author }),
      watched: await isWatched(request, 'authors', author),
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
  const isWatched = async (request, kind, name) =>
    (await watching.of(nameOfPerson(request)))[kind].includes(name)

  /** @param {FastifyRequest} request @param {Kind} kind @param {string} name */
  async function change (request, kind, name) {
    const { watch } = /** @type {{watch: 'yes' | 'no'}} */ (request.body)
    await watching[watch === 'yes' ? 'watch' : 'stop'](nameOfPerson(request), kind, name)
  }
}

/**
 * @param {FastifyRequest} request @param {FastifyReply} reply
 * @param {{watched: boolean} & Record<string, unknown>} shown
 */
function send (request, reply, shown) {
  if (!wantsHtml(request)) return reply.send({ watched: shown.watched })
  return reply.type(HTML).send(renderFor(request, 'watch', { ...shown, watchingUrl: WATCHING_URL }))
}
