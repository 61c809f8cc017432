import { HTML, renderFor } from '../views.js'
import { aboveHtml } from './document.js'
import { editUrl, historyUrl, viewUrl } from '../pages/name.js'
import { subpagesHtml } from './subpages-html.js'
import { pageOfTalk, talkOf, topicUrl } from '../pages/talk.js'

/** @import {FastifyReply, FastifyRequest} from 'fastify' */

/**
 * For people: what may have been meant, and the pages below. Programs get a problem document.
 * @param {FastifyRequest} request @param {FastifyReply} reply
 * @param {{store: import('../pages/store.js').PageStore, name: string, hasHistory: boolean}} page
 */
export async function sendMissing (request, reply, { store, name, hasHistory }) {
  const talk = talkOf(name)
  const [similar, subpages, talkKind] = await Promise.all([
    store.findSimilar(name), store.findSubpages(name), talk && store.findKind(talk)
  ])
  const page = pageOfTalk(name)
  reply.code(404).header('cache-control', 'no-store').type(HTML)
  return renderFor(request, 'missing', {
    title: name,
    similar: similar.map((each) => ({ name: each, url: viewUrl(each) })),
    createUrl: editUrl(name),
    ...page !== null && { page, pageUrl: viewUrl(page), topicUrl: topicUrl(name) },
    talkUrl: talk !== null && talkKind !== null ? viewUrl(talk) : null,
    historyUrl: hasHistory ? historyUrl(name) : null,
    aboveHtml: aboveHtml(name),
    subpagesHtml: subpagesHtml(name, subpages)
  })
}
