import { excerpt } from '../search/excerpt.js'
import { freshnessOf } from '../search/freshness.js'
import { canonicalTag } from '../pages/tags.js'
import { nameIn } from './address.js'
import { sendPart } from './answers.js'
import { ANY, limitIn, readCursor } from './cursor.js'
import { positionOf, WANTED_POSITION } from '../search/search.js'
import { list, named, otherwise, partQuery, QUERY, strict, TAG_PARAMETER } from './schemas.js'

/** @import {FastifyPluginAsync, FastifyRequest} from 'fastify' */
/** @import {Found, PageItem, Part} from '../search/search.js' */

/** For each part the database reads all parts before it. */
const HITS_MAX = 1_000

const HITS = /^[1-9]\d{0,2}$/
const WANTED = new RegExp(WANTED_POSITION, 'su')

const INDEX_FIELD = {
  schema: strict({
    state: {
      type: 'string',
      enum: ['current', 'behind', 'building', 'failing'],
      description: '`current`: edits are found within a second. `behind`: the newest are not found yet. `building`: ' +
        'not every page is found yet. `failing`: nothing newer is found until the operator helps.'
    },
    behind_s: {
      type: 'number', description: 'How old the oldest edit is that is not found yet, in seconds; 0 below one.'
    }
  }),
  example: { state: 'current', behind_s: 0 }
}

const SUGGESTION_FIELD = {
  schema: {
    type: ['string', 'null'],
    description: 'The query, with similar words of the wiki in place of words that no page has. Pages with them are ' +
      'among the hits, behind all others. null: every word was found, or there is no similar one.'
  },
  example: null
}

const tags = ['search']
const MODIFIED = { modified_at: '2026-01-01T10:00:00.000Z' }
const HANDBOOK = { name: 'Handbook', revision: 1, ...MODIFIED }
const DRAFT = { name: 'Draft', revision: 1, ...MODIFIED }
const WRITING = { name: 'Handbook/Writing', revision: 2, ...MODIFIED }
export const EXCERPT_EXAMPLE = [
  { text: 'Use ', hit: false },
  { text: 'plain', hit: true },
  { text: ' ', hit: false },
  { text: 'words', hit: true },
  { text: '.', hit: false }
]

/** @type {Record<string, import('fastify').FastifySchema>} */
const SCHEMAS = {
  pages: {
    tags,
    summary: 'List pages by title',
    description: 'In alphabetical order, numbers by value. With `q` first those whose title begins with it, then ' +
      'those where each of its words begins a word of the title, or that have it further in. Case and accents do not matter.',
    querystring: partQuery({ q: QUERY.title }),
    response: { 200: list('Pages', 'PageItem', [WRITING]), ...otherwise(304) }
  },
  search: {
    tags,
    summary: 'Search titles and texts',
    description: 'Pages with any of the words, the best match first, at most ' +
      `${HITS_MAX}. Words are found whole, whatever their case and accents. Excerpts are plain text.`,
    querystring: partQuery({ q: QUERY.words }, ['q']),
    response: {
      200: list('Pages and where they have the words', 'Hit', [{ ...WRITING, excerpt: EXCERPT_EXAMPLE }], {
        index: INDEX_FIELD, suggestion: SUGGESTION_FIELD
      }),
      ...otherwise(304)
    }
  },
  tags: {
    tags,
    summary: 'List tags',
    description: 'In alphabetical order.',
    querystring: partQuery(),
    response: {
      200: list('Tags', 'TagItem', [{ tag: 'guide', pages: 2 }, { tag: 'style', pages: 1 }]),
      ...otherwise(304)
    }
  },
  tagged: {
    tags,
    summary: 'List the pages with a tag',
    description: 'In alphabetical order.',
    params: { type: 'object', required: ['tag'], properties: { tag: TAG_PARAMETER } },
    querystring: partQuery(),
    response: { 200: list('Pages', 'PageItem', [HANDBOOK, WRITING]), ...otherwise(304) }
  },
  backlinks: {
    tags,
    summary: 'List the pages that link to a page',
    description: 'Or to a name that it had. The page itself need not exist.',
    params: named('Handbook/Writing'),
    querystring: partQuery(),
    response: { 200: list('Pages', 'PageItem', [HANDBOOK]), ...otherwise(304) }
  },
  subpages: {
    tags,
    summary: 'List the pages below a page',
    description: 'Those whose names begin with its name and a slash, at any depth, in alphabetical order. ' +
      'The page itself need not exist.',
    params: named('Handbook'),
    querystring: partQuery(),
    response: { 200: list('Pages', 'PageItem', [WRITING]), ...otherwise(304) }
  },
  orphaned: {
    tags,
    summary: 'List the pages that no other links to',
    description: 'In alphabetical order, without the home page. A link to a former name of a page is a link to the ' +
      'page, and the redirect from there counts as one.',
    querystring: partQuery(),
    response: { 200: list('Names', 'NameItem', [{ name: 'Draft' }, { name: 'Handbook' }]), ...otherwise(304) }
  },
  wanted: {
    tags,
    summary: 'List names that pages link to and nobody has written yet',
    description: 'The most wanted first, those with as many links in alphabetical order. ' +
      'You can write names of a part before you ask for the next.',
    querystring: partQuery(),
    response: { 200: list('Names', 'WantedItem', [{ name: 'Handbook/Speaking', sources: 1 }]), ...otherwise(304) }
  },
  deadEnds: {
    tags,
    summary: 'List the pages that link to no page',
    description: 'In alphabetical order. ' +
      'Links in the text count, also to a name without a page and to the page itself.',
    querystring: partQuery(),
    response: { 200: list('Pages', 'PageItem', [DRAFT, WRITING]), ...otherwise(304) }
  }
}

/** @type {FastifyPluginAsync<Pick<import('../services.js').Services, 'search' | 'policy'>>} */
export async function searchApi (app, { search, policy: { listControl: cacheControl } }) {
  /**
   * @template T @param {string} url @param {object} schema
   * @param {{find: (part: Part, request: FastifyRequest) => Promise<Found<T>>, shown?: (item: T) => object, position:
   *   (item: T) => string, form?: RegExp}} list  `form`: of positions
   */
  function listRoute (url, schema, { find, shown = (item) => /** @type {object} */ (item), position, form = ANY }) {
    app.get(url, { config: { costly: 'list' }, schema }, async (request, reply) => {
      const found = await find({ after: readCursor(request, form), limit: limitIn(request) }, request)
      return sendPart(request, reply, { cacheControl, found, shown, position })
    })
  }
  const pages = { shown: page, position: nameOf }

  listRoute('/pages', SCHEMAS.pages, {
    find: (part, request) => search.byTitle({ q: wordsIn(request), ...part }),
    ...pages
  })
  listRoute('/tags', SCHEMAS.tags, { find: search.tags, position: ({ tag }) => tag })
  listRoute('/tags/:tag/pages', SCHEMAS.tagged, {
    find: (part, { params }) => search.byTag({ tag: canonicalTag(/** @type {{tag: string}} */ (params).tag), ...part }),
    ...pages
  })
  listRoute('/pages/:name/backlinks', SCHEMAS.backlinks, {
    find: (part, request) => search.linkingTo({ name: nameIn(request), ...part }),
    ...pages
  })
  listRoute('/pages/:name/subpages', SCHEMAS.subpages, {
    find: (part, request) => search.below({ name: nameIn(request), ...part }),
    ...pages
  })
  listRoute('/orphaned', SCHEMAS.orphaned, { find: search.orphaned, position: ({ name }) => name })
  listRoute('/wanted', SCHEMAS.wanted, { find: search.wanted, position: positionOf, form: WANTED })
  listRoute('/dead-ends', SCHEMAS.deadEnds, { find: search.deadEnds, ...pages })

  app.get('/search', { config: { costly: 'search' }, schema: SCHEMAS.search }, async (request, reply) => {
    const [q, skip] = [wordsIn(request), Number(readCursor(request, HITS) ?? 0)]
    const limit = Math.min(limitIn(request), HITS_MAX - skip)
    const { items, forms, suggestion, more, freshness } = await search.byText({ q, skip, limit })
    return sendPart(request, reply, {
      cacheControl,
      found: { items, more: more && skip + limit < HITS_MAX },
      shown: ({ content, modifiedAt, ...hit }) =>
        ({ ...hit, modified_at: modifiedAt, excerpt: excerpt(content, q, forms) }),
      position: () => skip + limit,
      others: { index: freshnessOf(freshness), suggestion }
    })
  })
}

/** @param {FastifyRequest} request */
export const wordsIn = ({ query }) => (/** @type {{q?: string}} */ (query).q ?? '').trim()

/** @param {PageItem} page */
export const page = ({ _id: name, revision, modified_at: modifiedAt }) => ({ name, revision, modified_at: modifiedAt })

/** @param {PageItem} page */
export const nameOf = ({ _id: name }) => name
