import { t } from '../language.js'
import { sendRevalidated } from '../http/send-revalidated.js'
import { readableTime } from '../readable.js'
import { HTML, renderFor } from '../views.js'
import { editUrl, viewUrl } from '../pages/name.js'

/** @import {FastifyReply, FastifyRequest} from 'fastify' */
/** @import {Services} from '../services.js' */

const CHANGES_MAX = 100
const PAGES_MAX = 10

/**
 * Shown at `/` until the home page is written. Caches revalidate it each time, as lists.
 * @param {Pick<Services, 'history' | 'policy'> & {home: string}} options  `home`: the page's name
 */
export function createInvitation ({ history, policy: { listControl }, home }) {
  return async (/** @type {FastifyRequest} */ request, /** @type {FastifyReply} */ reply) => {
    const { items } = await history.changes({ limit: CHANGES_MAX })
    /** The newest change of each page. @type {Map<string, typeof items[number]>} */
    const newest = new Map()
    for (const item of items) if (!newest.has(item.page)) newest.set(item.page, item)
    const pages = [...newest.values()].filter(({ deleted }) => !deleted).slice(0, PAGES_MAX)
    return sendRevalidated(request, reply, {
      cacheControl: listControl,
      type: HTML,
      body: renderFor(request, 'home', {
        title: t('Welcome'),
        createUrl: editUrl(home),
        isEmpty: items.length === 0,
        pages: pages.map(({ page: name, created_at: createdAt }) => {
          const modifiedAt = createdAt.toISOString()
          return { name, url: viewUrl(name), modifiedAt, modified: readableTime(modifiedAt) }
        })
      })
    })
  }
}
