import { createFrontMatterReader } from '../archive/front-matter-reader.js'
import { flatTags } from '../archive/flat-tags.js'
import { isForClient } from '../archive/client-error.js'
import { createRelink } from '../archive/relink.js'
import { pageName } from '../markdown/page-address.js'
import { createAuthorsPool } from '../threads/authors.js'
import { withWikiPictures } from './git/picture-links.js'

/** @import {Folder} from '../archive/folder.js' */
/** @import {Known} from '../archive/front-matter.js' */
/** @import {MovedRedirect} from './content.js' */

/** Of a file: more than any wiki takes. */
export const TEXT_MAX_BYTES = 16_777_216
export const TOO_LONG = `It is longer than ${TEXT_MAX_BYTES / 1_048_576} MiB.`
export const NOT_UTF8 = 'It is not UTF-8.'
export const OTHER_KIND = 'It is neither Markdown, in a file whose name ends in “.md”, nor a ' +
  'picture (PNG, JPEG, WebP, GIF), nor a document such as PDF.'
export const NAME_TAKEN = 'Another file is the page of that name, or no page can be called so.'
export const PICTURE_MAX_BYTES = 67_108_864

const utf8 = new TextDecoder('utf-8', { fatal: true })

/**
 * Texts of Markdown files, as the import of a folder reads them (archive/import-saves.js).
 * @param {Folder} folder
 */
export function createTexts (folder) {
  const authors = createAuthorsPool()
  const frontMatter = createFrontMatterReader(authors)
  const relink = createRelink({ authors, maxBytes: TEXT_MAX_BYTES })

  /** Front matter that cannot be read is text. @param {string} text @returns {ReturnType<typeof frontMatter.read>} */
  const split = (text) => frontMatter.read(text).catch((error) => {
    if (isForClient(error)) return { content: text }
    throw error
  })

  return {
    /** @param {Buffer} bytes @returns {Promise<Partial<Known> | null>} null when it is not UTF-8 */
    async identify (bytes) {
      const text = textOf(bytes)
      return text === null ? null : split(text)
    },

    /**
     * @param {Buffer} bytes @param {string} path  whose links lead on from there
     * @param {{sameLinks?: boolean}} [options]  of a file of an export, see message.js
     * @returns {Promise<{content: string, tags: string[], author?: string} | null>} null when it is not UTF-8
     */
    async read (bytes, path, { sameLinks = false } = {}) {
      const text = textOf(bytes)
      if (text === null) return null
      const { content, tags, author, exported = false } = await split(text)
      if (exported) {
        return { content: sameLinks ? content : withWikiPictures(content, path), tags: listOf(tags), author }
      }
      const linked = await relink(path, content, folder).catch((error) => {
        if (isForClient(error)) return { content }
        throw error
      })
      return { content: linked.content, tags: listOf(flatTags(tags)) }
    },

    close: () => authors.close()
  }
}

/**
 * @param {Map<string, {to: string, source: string}>} aliases  by name as it is written
 * @param {Set<string>} taken  names of pages
 * @returns {Generator<MovedRedirect>}
 */
export function * redirectsOf (aliases, taken) {
  const seen = new Set(taken)
  for (const [alias, { to, source }] of aliases) {
    const name = pageName(alias)
    if (name === null || seen.has(name)) continue
    seen.add(name)
    yield { kind: 'redirect', source, name, to }
  }
}

/** @param {Buffer} bytes */
function textOf (bytes) {
  try {
    return utf8.decode(bytes)
  } catch {
    return null
  }
}

/** A `#` before a tag is none of it. @param {string | string[] | undefined} tags */
const listOf = (tags = []) => (Array.isArray(tags) ? tags : tags.split(','))
  .map((tag) => tag.trim().replace(/^#/, ''))
  .filter((tag) => tag !== '')
