import createError from '@fastify/error'
import { t } from '../language.js'
import { redirectUnknownQuery } from '../http/known-query.js'
import { linksUrl, viewUrl } from '../pages/name.js'
import { LINE } from '../writing/change.js'
import { newPageUrl } from '../writing/new-page-route.js'
import { createAnswer, LIST_SCHEMA, PAGES_PER_PART, parts, shown } from './search-routes.js'
import { OVERDUE_POSITION, overduePosition } from './overdue.js'
import { positionOf, WANTED_POSITION } from './search.js'

/** @import {FastifyInstance, FastifyPluginAsync} from 'fastify' */
/** @import {Search} from './search.js' */

const CARE_URL = '/care'
/** Of each list on the page that has them all. */
const PAGES_PER_LIST = 10
const POSITION_MAX_CHARS = 211

/** @param {string} pattern */
const positionSchema = (pattern) => ({
  querystring: {
    type: 'object',
    properties: { after: { type: 'string', maxLength: POSITION_MAX_CHARS, allOf: [{ pattern: LINE }, { pattern }] } }
  }
})

const NoPages = createError(
  'WIKI_NO_PAGES',
  'There are no pages yet, so there is none to choose from. Write the first one, or come again later.',
  404
)

/**
 * What authors of a wiki can mend, and a page to begin with.
 * @type {FastifyPluginAsync<Pick<import('../services.js').Services, 'store' | 'search' | 'policy'>>}
 */
export async function careRoutes (app, { store, search, policy }) {
  app.addHook('onRequest', redirectUnknownQuery)
  const answer = createAnswer(policy)
  const lists = listsOf(search)

  app.get('/random', async (_request, reply) => {
    const name = await store.findRandom()
    if (name === null) throw new NoPages()
    return reply.headers({ 'cache-control': 'no-store', 'x-robots-tag': 'noindex' }).redirect(viewUrl(name), 302)
  })

  app.get(CARE_URL, { config: { costly: 'list' } }, async (request, reply) => {
    const found = []
    for (const { path, heading, advice, nothing, find, shownAs } of lists) {
      const { items, more } = await find({ limit: PAGES_PER_LIST })
      const texts = { heading: heading(), advice: advice(), nothing: nothing() }
      found.push({ ...texts, url: path, more, pages: items.map(shownAs) })
    }
    return answer.send(request, reply, 'care', { title: t('Pages that need care'), here: CARE_URL, lists: found })
  })

  for (const list of lists) addList(app, list, answer)
}

/**
 * `T`: an item of it.
 * @template [T=any]
 * @typedef {object} List
 * @property {string} path
 * @property {() => string} heading
 * @property {() => string} advice  what to do
 * @property {() => string} nothing  when it is empty
 * @property {object} schema
 * @property {(part: import('./search.js').Part) => Promise<import('./search.js').Found<T>>} find
 * @property {(item: T) => object} shownAs
 * @property {(item: T) => string} position
 */

/** @param {Search} search @returns {List[]} */
const listsOf = ({ wanted, orphaned, deadEnds, overdue }) => [{
  path: '/wanted',
  heading: () => t('Wanted pages: linked to, but not written yet'),
  advice: () => t('Write them, or correct the links that lead there.'),
  nothing: () => t('There are none: every link leads to a page.'),
  schema: positionSchema(WANTED_POSITION),
  find: wanted,
  shownAs: ({ name, sources }) =>
    ({ name, url: newPageUrl(name), missing: true, sources, linksUrl: linksUrl(name) }),
  position: positionOf
}, {
  path: '/orphaned',
  heading: () => t('Orphaned pages: no other page’s text leads to them'),
  advice: () => t('Readers find them by searching alone. Link to them from the pages where they are looked for.'),
  nothing: () => t('There are none: every page can be reached by a link.'),
  schema: LIST_SCHEMA,
  find: orphaned,
  shownAs: ({ name }) => ({ name, url: viewUrl(name) }),
  position: ({ name }) => name
}, {
  path: '/dead-ends',
  heading: () => t('Dead ends: their texts link to no page'),
  advice: () => t('Readers cannot go on from there. Add links to pages on the same subject.'),
  nothing: () => t('There are none: every page links to one.'),
  schema: LIST_SCHEMA,
  find: deadEnds,
  shownAs: shown,
  position: ({ _id: name }) => name
}, {
  path: '/overdue',
  heading: () => t('Overdue pages: to be read through again by a day that is over'),
  advice: () => t('Read them through, and give each a tag with another day, or none.'),
  nothing: () =>
    t('There are none. A page with a tag such as “review 2027-01-31” stands here once that day is over.'),
  schema: positionSchema(OVERDUE_POSITION),
  find: overdue,
  // The day of the tag, in the place of the last edit.
  shownAs: ({ _id: name, day }) => ({ name, url: viewUrl(name), modifiedAt: day, modified: day }),
  position: overduePosition
}]

/** @param {FastifyInstance} app @param {List} list @param {import('./search-routes.js').Answer} answer */
function addList (app, { path, heading, nothing, schema, find, shownAs, position }, answer) {
  app.get(path, { config: { costly: 'list' }, schema }, async (request, reply) => {
    const { after } = /** @type {{after?: string}} */ (request.query)
    const { items, more } = await find({ after, limit: PAGES_PER_PART })
    return answer.send(request, reply, 'list', {
      title: heading(),
      here: path,
      pages: items.map(shownAs),
      nothing: nothing(),
      ...parts(path, {}, after, more ? position(items[items.length - 1]) : null)
    })
  })
}
