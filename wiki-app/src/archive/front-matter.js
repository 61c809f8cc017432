import { createRequire } from 'node:module'

const require = createRequire(import.meta.url)
/** Loaded on first use: its many modules would delay the wiki's start. @returns {typeof import('yaml')} */
const yaml = () => require('yaml')

/** Fits the longest name, all tags and former names. */
export const FRONT_MATTER_MAX_BYTES = 32_768
export const FORMER_NAMES_MAX = 20

/** @param {object} known @param {string} content  Markdown */
export const withFrontMatter = (known, content) => `---\n${yaml().stringify(known, { lineWidth: 0 })}---\n${content}`

/**
 * What the front matter contains.
 * @typedef {object} Known
 * @property {string} [name]
 * @property {string} [title]  as other programs call the name
 * @property {string | string[]} [tags]
 * @property {string[]} [aliases]  other names, as Obsidian has them
 * @property {string} [author]
 * @property {boolean} exported  an export of the wiki wrote it
 */

/** @param {string} text @returns {{yaml: string, content: string} | null} null when there is no front matter */
export function splitFrontMatter (text) {
  const opening = /^---[ \t]*\r?\n/.exec(text)?.[0]
  if (opening === undefined) return null
  const closing = /^---[ \t]*(?:\r?\n|$(?![^]))/gm
  closing.lastIndex = opening.length
  const found = closing.exec(text)
  if (found === null) return null
  return { yaml: text.slice(opening.length, found.index), content: text.slice(closing.lastIndex) }
}

/**
 * Takes up to 0.3 s, so only a worker thread may call it.
 * @param {string} text  YAML
 * @returns {Known | null} null: no front matter, but text between two horizontal rules
 * @throws {Error}
 */
export function parseFrontMatter (text) {
  // `failsafe` keeps values as text; `uniqueKeys` would take seconds for a few thousand keys.
  const document = yaml().parseDocument(text, { schema: 'failsafe', logLevel: 'silent', uniqueKeys: false })
  if (document.errors.length > 0) throw document.errors[0]
  refuseTwice(document.contents)
  const known = document.toJS({ maxAliasCount: 0 })
  if (known === null || typeof known !== 'object' || Array.isArray(known)) return null
  const { name, title, tags, aliases, author, revision } = /** @type {Record<string, unknown>} */ (known)
  if (name !== undefined && typeof name !== 'string') throw new Error('the name is no text')
  if (tags !== undefined && !isTags(tags)) throw new Error('the tags are no list of words')
  return {
    tags,
    ...(name !== undefined && { name }),
    ...(typeof title === 'string' && title.trim() !== '' && { title: title.trim() }),
    ...(aliases !== undefined && { aliases: [aliases].flat().filter((alias) => typeof alias === 'string') }),
    ...(typeof author === 'string' && { author }),
    exported: name !== undefined && revision !== undefined
  }
}

/** @param {unknown} contents @throws {Error} */
function refuseTwice (contents) {
  if (!yaml().isMap(contents)) return
  for (const known of ['name', 'tags']) {
    const pairs = contents.items.filter(({ key }) => yaml().isScalar(key) && key.value === known)
    if (pairs.length > 1) throw new Error(`it has “${known}” twice`)
  }
}

/** @param {unknown} tags */
const isTags = (tags) =>
  typeof tags === 'string' || (Array.isArray(tags) && tags.every((tag) => typeof tag === 'string'))
