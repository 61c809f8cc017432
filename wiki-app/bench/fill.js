import mongoose from 'mongoose'
import { defineModels } from '../src/pages/model.js'
import { searchKey } from '../src/pages/search-key.js'
import { hashOf } from '../src/http/hash.js'
import { RENDERER_VERSION } from '../src/markdown/version.js'

export const WORDS = [
  'ash', 'birch', 'cedar', 'dogwood', 'elm', 'fir', 'ginkgo', 'hazel', 'ivy', 'juniper', 'kapok', 'larch', 'maple',
  'nutmeg', 'oak', 'pine', 'quince', 'rowan', 'spruce', 'teak', 'ulex', 'vine', 'willow', 'yew'
]
const BATCH = 1_000
const START = Date.UTC(2026, 0, 1)

/**
 * Fills an empty database with pages of about 3 kB, with links and tags, and with revisions of each, as edits would.
 * @param {string} uri
 * @param {{pages?: number, revisions?: number, onProgress?: (pages: number) => void}} [options]
 */
export async function fillWiki (uri, { pages = 10_000, revisions = 3, onProgress = () => {} } = {}) {
  const connection = await mongoose.createConnection(uri).asPromise()
  const { Pages, Revisions, Targets, Tags } = defineModels(connection)
  const renderer = RENDERER_VERSION
  try {
    await Promise.all([Pages, Revisions, Targets, Tags].map((Model) => Model.createIndexes()))
    for (let first = 0; first < pages; first += BATCH) {
      const numbers = Array.from({ length: Math.min(BATCH, pages - first) }, (_, index) => first + index)
      await Pages.insertMany(numbers.map((number) => page(number, pages, revisions, renderer)), { lean: true })
      await Revisions.insertMany(
        numbers.flatMap((number) =>
          Array.from({ length: revisions }, (_, index) => revisionOf(number, index + 1))),
        { lean: true }
      )
      await Targets.insertMany(
        numbers.map((number) => ({ _id: nameOf(number), is: 'page', sources: number % 10 === 0 ? 0 : 2 })),
        { lean: true }
      )
      onProgress(first + numbers.length)
    }
    await Targets.insertMany(
      Array.from({ length: pages / 10 }, (_, number) =>
        ({ _id: `Wanted ${number}`, is: null, sources: 1 + number % 7 })),
      { lean: true }
    )
    await Tags.insertMany(WORDS.map((tag) => ({ _id: tag, pages: Math.floor(pages / WORDS.length) })), { lean: true })
  } finally {
    await connection.close()
  }
}

/** @param {number} number */
export const nameOf = (number) => `${WORDS[number % WORDS.length]} page ${number}`

/** @param {number} number @returns {string} Markdown of about 3 kB */
export function textOf (number) {
  const sentence = Array.from({ length: 12 }, (_, index) => WORDS[(number * 7 + index * 5) % WORDS.length]).join(' ')
  const link = isDeadEnd(number) ? '' : ` [[${nameOf(number + 1)}]]`
  return `The common beginning. ${`Of ${sentence}. `.repeat(34)}\n\nunique${number}${link}\n`
}

/** @param {number} number */
const isDeadEnd = (number) => number % 10 === 5

/**
 * @param {number} number
 * @param {number} pages
 * @param {number} revisions
 * @param {number} renderer
 */
function page (number, pages, revisions, renderer) {
  const [name, content] = [nameOf(number), textOf(number)]
  const html = Buffer.from(`<p>${content}</p>`)
  const at = new Date(START + number * 1_000)
  return {
    _id: name,
    search_key: searchKey(name),
    revision: revisions,
    content,
    content_bytes: Buffer.byteLength(content),
    tags: [WORDS[number % WORDS.length]],
    links: isDeadEnd(number) ? [] : [nameOf((number + 1) % pages)],
    html,
    html_hash: hashOf(html),
    renderer,
    rendered_at: at,
    created_at: at,
    modified_at: at,
    deleted_at: null,
    redirect_to: null
  }
}

/**
 * @param {number} number
 * @param {number} revision
 */
function revisionOf (number, revision) {
  const content = textOf(number)
  return {
    page: nameOf(number),
    revision,
    follows: revision === 1 ? null : revision - 1,
    content,
    content_bytes: Buffer.byteLength(content),
    tags: [],
    author: WORDS[revision % WORDS.length],
    summary: '',
    deleted: false,
    created_at: new Date(START + number * 1_000)
  }
}
