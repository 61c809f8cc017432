import { BOX } from '../files/thumbnails/limits.js'
import { AUTHOR_SCHEMA, CHANGE_PROPERTIES, LINE } from '../writing/change.js'

const LIMIT_MAX = 100
const LIMIT_DEFAULT = 50

export const NAME = { type: 'string', description: 'The name of a page, in its one spelling. A slash makes a subpage.' }
export const REVISION = { type: 'integer', minimum: 0, maximum: 999_999_999 }
const TIME = { type: 'string', format: 'date-time' }
const TAGS = { type: 'array', items: { type: 'string' }, description: 'In lower case and alphabetical order.' }

/** @param {Record<string, object>} properties  all required */
export const strict = (properties) => ({
  type: 'object',
  additionalProperties: false,
  required: Object.keys(properties),
  properties
})

/** @param {Record<string, object>} optional @param {Record<string, object>} required */
export const withOptional = (optional, required) => {
  const schema = strict(required)
  return { ...schema, properties: { ...schema.properties, ...optional } }
}

export const CHANGE = {
  name: NAME,
  revision: { ...REVISION, description: 'Larger than all before it of this name.' },
  follows: { type: ['integer', 'null'], description: 'The revision before it, null for the first.' },
  content_bytes: { type: 'integer', description: 'Length of the text in UTF-8.' },
  tags: TAGS,
  author: { type: 'string', description: 'The name that the author gave, empty for none.' },
  summary: { type: 'string', description: 'What the author says of the change, may be empty.' },
  deleted: { type: 'boolean', description: 'Whether this is the deletion of the page.' },
  erased: { type: 'boolean', description: 'Whether an administrator has erased its text, tags and summary.' },
  created_at: TIME
}

export const SHARED_SCHEMAS = Object.entries({
  Problem: {
    type: 'object',
    description: 'What went wrong, for programs and for people (RFC 9457).',
    required: ['type', 'title', 'status', 'detail'],
    properties: {
      type: { type: 'string' },
      title: { type: 'string' },
      status: { type: 'integer' },
      detail: { type: 'string', description: 'A sentence that one can act on.' },
      request_id: { type: 'string', description: 'Names this request in the wiki’s log.' },
      current_revision: {
        type: 'integer',
        description: 'With 412: the revision that the page is at, 0 when there is none.'
      }
    }
  },
  PageItem: strict({ name: NAME, revision: REVISION, modified_at: TIME }),
  Page: strict({
    name: NAME,
    revision: REVISION,
    content: { type: 'string', description: 'Markdown.' },
    content_bytes: { type: 'integer', description: 'Its length in UTF-8.' },
    tags: TAGS,
    modified_at: TIME
  }),
  Saved: strict({
    name: NAME,
    revision: REVISION,
    created: { type: 'boolean', description: 'Whether there was no such page before.' }
  }),
  Renamed: strict({
    name: NAME,
    revision: REVISION,
    subpages: { type: 'integer', description: 'How many pages below it were renamed, too.' }
  }),
  Change: strict(CHANGE),
  Revision: strict({ ...CHANGE, content: { type: 'string', description: 'Markdown, empty for a deletion.' } }),
  Hit: strict({
    name: NAME,
    revision: REVISION,
    modified_at: TIME,
    excerpt: {
      type: 'array',
      description: 'The text around the first word found, in pieces.',
      items: strict({
        text: { type: 'string' },
        hit: { type: 'boolean', description: 'Whether this is a word that was searched for.' }
      })
    }
  }),
  TagItem: strict({ tag: { type: 'string' }, pages: { type: 'integer', description: 'How many pages have it.' } }),
  NameItem: strict({ name: NAME }),
  WantedItem: strict({ name: NAME, sources: { type: 'integer', description: 'How many pages lead there.' } }),
  Picture: withOptional({
    name: { type: 'string', description: 'Of a file that is no picture: what it is called when it is downloaded.' },
    width: { type: 'integer', description: 'In pixels, of a picture.' },
    height: { type: 'integer', description: 'In pixels, of a picture.' },
    thumbnail_url: {
      type: 'string',
      description: `Of a larger picture, a WebP of at most ${BOX} × ${BOX} pixels. It leads to the picture until it ` +
        'is made, and where it cannot be.'
    }
  }, {
    url: { type: 'string' },
    alt: { type: 'string', description: 'What it shows, empty when nobody said.' },
    markdown: { type: 'string', description: 'What shows it in a page.' },
    type: { type: 'string', enum: ['image/png', 'image/jpeg', 'image/webp', 'image/gif', 'application/octet-stream'] },
    size_bytes: { type: 'integer' },
    author: { type: 'string', description: 'Who uploaded it, empty for nobody known.' },
    created_at: TIME
  }),
  ShortLink: strict({
    id: { type: 'string' },
    url: { type: 'string', description: 'The short address: a path of this wiki.' },
    page: { ...NAME, description: 'The name now of the page that it leads to.' },
    revision: {
      type: ['integer', 'null'], description: 'The revision that it leads to; null: the page as it is at any time.'
    },
    created_at: TIME
  }),
  Counter: strict({
    epoch: { type: 'string', description: 'Differs when something counted was lost, e.g. after a restart.' },
    count: strict({
      requests: { type: 'integer' },
      reads: { type: 'integer', description: 'GET, HEAD and OPTIONS.' },
      writes: { type: 'integer' }
    })
  }),
  Preview: strict({ html: { type: 'string' }, content_bytes: { type: 'integer' } })
}).map(([$id, schema]) => ({ $id, ...schema }))

/** @param {string} example @param {string} [description] */
const text = (example, description) => ({
  type: 'string',
  maxLength: 200,
  pattern: LINE,
  examples: [example],
  ...(description && { description })
})

/** Of the path. @param {Record<string, object>} properties */
export const inPath = (properties) => ({ type: 'object', required: Object.keys(properties), properties })

/** @param {string} example */
export const named = (example) => ({
  type: 'object',
  required: ['name'],
  properties: {
    name: {
      type: 'string',
      description: 'The page’s name as one percent-encoded segment: `a%2Fb` for the subpage b of a.',
      examples: [example]
    }
  }
})

/** @param {number} example */
export const revisionParameter = (example) =>
  ({ type: 'integer', minimum: 1, maximum: 999_999_999, examples: [example] })

export const TAG_PARAMETER = { type: 'string', maxLength: 200, examples: ['guide'] }

const PART = {
  limit: {
    type: 'integer',
    minimum: 1,
    maximum: LIMIT_MAX,
    default: LIMIT_DEFAULT,
    description: 'How many items at most.',
    examples: [2]
  },
  cursor: { type: 'string', maxLength: 2_000, description: 'The `next_cursor` of the part before.' }
}

/** @param {Record<string, object>} [properties] */
export const queryOf = (properties = {}, required = /** @type {string[]} */ ([])) =>
  ({ type: 'object', additionalProperties: false, required, properties })

/** @param {Record<string, object>} [properties] */
export const partQuery = (properties = {}, required = /** @type {string[]} */ ([])) =>
  queryOf({ ...properties, ...PART }, required)

export const QUERY = {
  title: text('writ', 'Words that the title has in it.'),
  words: text('plain words', 'Words, "phrases in quotes", and -words that must not be there.')
}
export const AUTHOR = {
  ...AUTHOR_SCHEMA,
  description: 'Only this author’s; empty: only those without a name.',
  examples: ['Ana']
}

const { author, summary } = CHANGE_PROPERTIES
export const CHANGE_FIELDS = {
  author: { ...author, description: 'Your name.' },
  summary: { ...summary, description: 'What you changed and why.' },
  base_revision: {
    ...REVISION,
    description: 'The revision that your change is based on, 0 for none. ' +
      'When it is not the newest any more, nothing is changed and the answer is 412. ' +
      '`If-Match` with the page’s ETag says the same.'
  }
}

export const CONTENT = { type: 'string', minLength: 1, description: 'Markdown.' }
export const TAGS_FIELD = {
  type: 'array',
  maxItems: 20,
  items: { type: 'string', maxLength: 100 },
  description: 'When they are left out the page keeps its tags.'
}

/** @param {Record<string, object>} properties @param {string[]} required @param {object} example */
export const bodyOf = (properties, required, example) => ({
  content: {
    'application/json': {
      schema: { type: 'object', additionalProperties: false, required, properties, examples: [example] }
    }
  }
})

/** @param {string} description @param {string} schema  name of a shared schema @param {object} example */
export const answer = (description, schema, example) =>
  ({ description, content: { 'application/json': { schema: { $ref: `${schema}#` }, example } } })

/**
 * @param {string} description @param {string} schema  name of a shared schema @param {object[]} items  an example
 * @param {Record<string, {schema: object, example: unknown}>} [others]  fields beside the list
 */
export const list = (description, schema, items, others = {}) => ({
  description,
  content: {
    'application/json': {
      schema: strict({
        items: { type: 'array', maxItems: LIMIT_MAX, items: { $ref: `${schema}#` } },
        next_cursor: { type: ['string', 'null'], description: 'For the next part; null: there is no more.' },
        ...Object.fromEntries(Object.entries(others).map(([name, { schema }]) => [name, schema]))
      }),
      example: {
        items,
        next_cursor: null,
        ...Object.fromEntries(Object.entries(others).map(([name, { example }]) => [name, example]))
      }
    }
  }
})

const PROBLEMS = {
  302: 'The page has another name now; the Location header leads there.',
  304: 'Nothing has changed since the copy that you have.',
  400: 'The request is not as it is described here.',
  401: 'This wiki takes this only with a token that it knows (ACCESS=users).',
  403: 'You may not do this (your role, a protected page, ACCESS=read-only), or the request comes from another ' +
    'site’s page.',
  404: 'There is nothing of that name or number.',
  408: 'The request did not arrive in time.',
  409: 'The name or the address is taken, there are too many subpages, addresses, watched pages, proposals, spaces, ' +
    'groups or people in one, a proposal is closed, or pages or files are in the way.',
  410: 'An administrator has erased this revision.',
  412: 'The page is not as you expect it. Nothing was changed.',
  413: 'It is too large.',
  415: 'The body is of another type than described here, or a damaged picture.',
  422: 'The text takes too long to render, or the texts to compare.',
  429: 'Too many of these run at the same time, or you asked too often.',
  431: 'The header fields are too long.',
  503: 'The wiki cannot reach its database, or has too much to do. Try again in a moment.'
}

/** @typedef {keyof typeof PROBLEMS} Other */

/** @type {Other[]} */
const ALWAYS = [400, 408, 431, 503]
/** @type {Other[]} */
const WITH_WRITES = [401, 403, 413, 415, 429]

/** @param {...Other} statuses  besides those that any request can get */
export const otherwise = (...statuses) => Object.fromEntries([...new Set([...statuses, ...ALWAYS])].map((status) => [
  status,
  status < 400
    ? { description: PROBLEMS[status], type: 'null' }
    : { description: PROBLEMS[status], content: { 'application/problem+json': { schema: { $ref: 'Problem#' } } } }
]))

/** @param {...Other} statuses */
export const refusals = (...statuses) => otherwise(...statuses, ...WITH_WRITES)

/** RFC 6750 */
export const SECURITY_SCHEMES = {
  token: {
    type: /** @type {const} */ ('http'),
    scheme: 'bearer',
    description: 'Where the wiki runs with ACCESS=users, writes need the token of an editor or an administrator. ' +
      'Reading needs one, of a reader at least, only in private spaces, or where it runs with READ_ACCESS=members.'
  }
}

/** None where anyone may write (ACCESS=open). @type {Record<string, string[]>[]} */
export const SECURITY = [{ token: [] }, {}]
