import { createRequire } from 'node:module'
import createError from '@fastify/error'

const InvalidFrontMatter = createError('WIKI_INVALID_FRONT_MATTER', 'The front matter, the part between two lines “---”, cannot be read: %s.', 400)

const require = createRequire(import.meta.url)
/** Loaded when an archive is made or read, and not at each start: it is many modules. @returns {typeof import('yaml')} */
const yaml = () => require('yaml')

/**
 * More than the longest name, all tags and FORMER_NAMES_MAX names take. Parsing holds the main thread, so it is
 * not much more.
 */
export const FRONT_MATTER_MAX_BYTES = 32_768
export const FORMER_NAMES_MAX = 20

/**
 * A text with what is known about it before it, as YAML between two lines of three dashes.
 * @param {object} known
 * @param {string} content  Markdown
 */
export const withFrontMatter = (known, content) => `---\n${yaml().stringify(known, { lineWidth: 0 })}---\n${content}`

/**
 * @param {string} text
 * @returns {{name?: string, tags?: string | string[], content: string}} what is not there is not known; everything else that front matter may say is left out
 * @throws {Error} 400
 */
export function readFrontMatter (text) {
  const parts = split(text)
  const known = parts && read(parts.yaml)
  // A text may begin with a rule and have another one further down.
  if (parts === null || known === null || typeof known !== 'object' || Array.isArray(known)) return { content: text }
  const { name, tags } = /** @type {Record<string, unknown>} */ (known)
  if (name !== undefined && typeof name !== 'string') throw new InvalidFrontMatter('the name is no text')
  if (tags !== undefined && !isTags(tags)) throw new InvalidFrontMatter('the tags are no list of words')
  return { name, tags, content: parts.content }
}

/**
 * @param {string} text
 * @returns {{yaml: string, content: string} | null} null when there is no front matter
 */
function split (text) {
  const opening = /^---[ \t]*\r?\n/.exec(text)?.[0]
  if (opening === undefined) return null
  const closing = /^---[ \t]*(?:\r?\n|$(?![^]))/gm
  closing.lastIndex = opening.length
  const found = closing.exec(text)
  return found === null ? null : { yaml: text.slice(opening.length, found.index), content: text.slice(closing.lastIndex) }
}

/** @param {string} text  YAML */
function read (text) {
  if (Buffer.byteLength(text) > FRONT_MATTER_MAX_BYTES) throw new InvalidFrontMatter(`it is longer than ${FRONT_MATTER_MAX_BYTES} bytes`)
  try {
    // Every value is taken for the text that it is written as, and none can stand for another.
    // The library compares each key with all others to see that none is there twice: seconds for a few thousand.
    const document = yaml().parseDocument(text, { schema: 'failsafe', logLevel: 'silent', uniqueKeys: false })
    if (document.errors.length > 0) throw document.errors[0]
    refuseTwice(document.contents)
    return document.toJS({ maxAliasCount: 0 })
  } catch (error) {
    throw new InvalidFrontMatter(/** @type {Error} */ (error).message.split('\n', 1)[0].replace(/[:.]$/, ''))
  }
}

/**
 * @param {unknown} contents  of the document
 * @throws {Error} when what counts is said twice
 */
function refuseTwice (contents) {
  if (!yaml().isMap(contents)) return
  for (const known of ['name', 'tags']) {
    const pairs = contents.items.filter(({ key }) => yaml().isScalar(key) && key.value === known)
    if (pairs.length > 1) throw new Error(`it has “${known}” twice`)
  }
}

/**
 * @param {unknown} tags
 * @returns {tags is string | string[]}
 */
const isTags = (tags) => typeof tags === 'string' || (Array.isArray(tags) && tags.every((tag) => typeof tag === 'string'))
