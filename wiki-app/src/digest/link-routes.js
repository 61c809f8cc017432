import createError from '@fastify/error'
import { t } from '../language.js'
import { HTML, renderFor } from '../views.js'
import { ACCOUNT_URL } from '../people/addresses.js'
import { WATCHING_URL } from '../watching/addresses.js'
import { CONFIRM_ROUTE, confirmUrl, STOP_ROUTE, stopUrl } from './addresses.js'

/** @import {FastifyPluginAsync, FastifyReply, FastifyRequest} from 'fastify' */
/** @import {Wish} from './confirmations.js' */
/** @import {OwnAddresses} from '../password-mail/own-addresses.js' */
/** @import {Subscriptions} from './subscriptions.js' */

const BODY_MAX_BYTES = 16_384
const SCHEMA = {
  params: { type: 'object', properties: { secret: { type: 'string', pattern: '^[A-Za-z0-9_-]{43}$' } } }
}

const NothingToConfirm = createError(
  'WIKI_DIGEST_NOTHING_TO_CONFIRM',
  'This link has been used, is older than a day, or was replaced by a newer one. ' +
    'You can have another one sent where you gave the address.',
  404
)
const NoDigest = createError(
  'WIKI_DIGEST_MISSING',
  'These mails have been ended already. If you still get some, use the link in the newest one.',
  404
)

/**
 * The links in mails. Their readers are not signed in, so a secret is in each. A GET changes nothing: programs that
 * look for dangerous mails open links, too.
 * @type {FastifyPluginAsync<{subscriptions: Subscriptions, ownAddresses: OwnAddresses}>}
 */
export async function linkRoutes (app, { subscriptions, ownAddresses }) {
  const config = { role: 'anyone', forStrangers: true }
  const form = { config, schema: SCHEMA, bodyLimit: BODY_MAX_BYTES }

  app.addHook('onRequest', (_request, reply, done) => {
    reply.header('cache-control', 'private, no-store')
    done()
  })
  // RFC 8058 §3.2: a mail program sends this type, or that of a form. Nothing in it counts.
  app.addContentTypeParser('multipart/form-data', { parseAs: 'buffer' }, async () => ({}))

  app.get(CONFIRM_ROUTE, { config, schema: SCHEMA }, async (request, reply) => {
    const secret = secretIn(request)
    const wish = await subscriptions.findWish(secret) ?? await ownAddresses.findWish(secret)
    if (wish === null) throw new NothingToConfirm()
    return send(request, reply, {
      title: t('Confirm your mail address'),
      text: wishText(wish),
      action: confirmUrl(secret),
      button: t('Confirm')
    })
  })

  app.post(CONFIRM_ROUTE, form, async (request, reply) => {
    const secret = secretIn(request)
    const wish = await subscriptions.confirm(secret) ?? await ownAddresses.confirm(secret)
    if (wish === null) throw new NothingToConfirm()
    return send(request, reply, {
      title: t('Your mail address is confirmed'),
      text: confirmedText(wish),
      ...wish.every === undefined && { listUrl: ACCOUNT_URL, listText: t('Your account') }
    })
  })

  app.get(STOP_ROUTE, { config, schema: SCHEMA }, async (request, reply) => {
    const digest = await subscriptions.findStop(secretIn(request))
    if (digest === null) throw new NoDigest()
    return send(request, reply, {
      title: t('End these mails'),
      text: t('{{address}} then gets no mail about changes any more.', { address: digest.address }),
      action: stopUrl(secretIn(request)),
      button: t('End')
    })
  })

  app.post(STOP_ROUTE, form, async (request, reply) => {
    if (!await subscriptions.stop(secretIn(request))) throw new NoDigest()
    return send(request, reply, {
      title: t('These mails have ended'), text: t('You can turn them on again on the page “Watching”.')
    })
  })
}

/** @param {FastifyRequest} request */
const secretIn = ({ params }) => /** @type {{secret: string}} */ (params).secret

/** @param {Wish} wish */
function wishText (wish) {
  if (wish.every === undefined) {
    return t('If “{{user}}” forgets the password, {{address}} can get a link for a new one.', values(wish))
  }
  return wish.every === 'daily'
    ? t('Once a day, {{address}} gets the changes of what “{{user}}” watches.', values(wish))
    : t('Once an hour, {{address}} gets the changes of what “{{user}}” watches.', values(wish))
}

/** @param {Wish} wish */
function confirmedText (wish) {
  if (wish.every === undefined) {
    return t('If you forget your password, {{address}} can get a link for a new one.', values(wish))
  }
  return wish.every === 'daily'
    ? t('Once a day, {{address}} gets what changed, if something did.', values(wish))
    : t('Once an hour, {{address}} gets what changed, if something did.', values(wish))
}

/** @param {Wish} wish */
const values = ({ address, user }) => ({ address, user })

/**
 * @param {FastifyRequest} request @param {FastifyReply} reply
 * @param {{title: string, text: string, action?: string, button?: string, listUrl?: string, listText?: string}} shown
 */
const send = (request, reply, shown) => reply.type(HTML).send(renderFor(request, 'digest-link', {
  listUrl: WATCHING_URL, listText: t('What you watch'), ...shown
}))
