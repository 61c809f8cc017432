import createError from '@fastify/error'
import { currentRevision } from '../pages/head.js'
import { basePrecondition, StaleEdit } from '../pages/preconditions.js'
import { canonicalTags } from '../pages/tags.js'
import { writableName } from '../pages/name.js'
import { AUTHOR_SCHEMA } from '../writing/change.js'
import { refuseHiddenName, visibleAuthor } from '../pages/visible.js'
import { shown } from '../files/receive.js'
import { acceptedLine } from './accepted-line.js'
import { nameOfAttachment, OF_SPACES } from './attachment-paths.js'
import { isForClient } from './client-error.js'
import { isPageFile, nameOfFile } from './file-names.js'
import { flatTags } from './flat-tags.js'
import { FRONT_MATTER_MAX_BYTES } from './front-matter.js'
import { aboutPicture } from './picture-files.js'
import { onlyOfSpaces } from './relink.js'

/** @import {FileStore} from '../files/store.js' */
/** @import {Attribution} from '../pages/commit.js' */
/** @import {PageStore} from '../pages/store.js' */
/** @import {FrontMatterReader} from './front-matter-reader.js' */
/** @import {ImportLine, Run} from './import.js' */
/** @import {createRelink} from './relink.js' */
/** @import {ArchiveFile} from './unzip.js' */

const Refused = createError('WIKI_IMPORT_REFUSED', '%s', 400)

const ATTEMPTS_MAX = 3
/** The write limit is reached; nothing was written. */
export const BEYOND_LIMIT = Symbol('beyond the write limit')

const OTHER_KIND =
  'Only Markdown, in files whose names end in “.md”, pictures (PNG, JPEG, WebP, GIF) and ' +
  'documents such as PDF are taken.'

const utf8 = new TextDecoder('utf-8', { fatal: true })

/**
 * @typedef {object} SaveParts
 * @property {PageStore} store
 * @property {FileStore} pictures
 * @property {number} maxBytes  of a page
 * @property {FrontMatterReader} frontMatter
 * @property {ReturnType<typeof createRelink>} relink
 */

/** @typedef {ReturnType<typeof createSaves>} Saves */

/** What an import does with one file. @param {SaveParts} parts */
export function createSaves ({ store, pictures, ...reading }) {
  return {
    /**
     * @param {ArchiveFile} file  of a page
     * @returns {Promise<import('./folder-names.js').Known | null>} null: it is refused when it is read again
     */
    async identify (file) {
      try {
        const { name, title } = await readText(file, reading)
        return { name, title }
      } catch (error) {
        if (isForClient(error)) return null
        throw error
      }
    },

    /** @param {ArchiveFile} picture @param {Run} run @returns {Promise<ImportLine | typeof BEYOND_LIMIT>} */
    async savePicture (picture, { attribution, mayWrite }) {
      const { path } = picture
      const bytes = await picture.read(pictures.maxBytes)
      const name = nameOfAttachment(path)
      const there = await pictures.findWhole(bytes, name)
      if (there !== null) return { path, url: shown(there, name).url, result: 'unchanged' }
      if (!await mayWrite()) return BEYOND_LIMIT
      const { alt, author } = aboutPicture(picture)
      const { file, created } = await pictures.saveWhole(bytes, { author: attribution.author || author, alt, name })
      return { path, url: shown(file, name).url, result: created ? 'created' : 'unchanged' }
    },

    /** @param {Run} run */
    createPageSave (run) {
      /** @type {Set<string>} */
      const seen = new Set()
      /** @param {ArchiveFile} file @returns {Promise<ImportLine | typeof BEYOND_LIMIT>} */
      return async (file) => {
        const page = await readPage(file, run, seen, reading)
        const { path, name, missing, reason } = page
        const saved = await savePage(page, run, store)
        if (saved === BEYOND_LIMIT) return saved
        return { path, name, ...saved, ...(missing.length > 0 && { missing }), ...(reason && { reason }) }
      }
    }
  }
}

/** @typedef {Pick<SaveParts, 'maxBytes' | 'frontMatter' | 'relink'>} Reading */

/** @param {ArchiveFile} file @param {Reading} reading */
const readText = async ({ read }, { maxBytes, frontMatter }) =>
  frontMatter.read(textOf(await read(maxBytes + FRONT_MATTER_MAX_BYTES)))

/**
 * @typedef {{path: string, name: string, content: string, tags?: string[], attribution: Attribution}} PageOfFile
 * @param {ArchiveFile} file @param {Run} run @param {Set<string>} seen  names @param {Reading} reading
 * @returns {Promise<PageOfFile & import('./relink.js').Relinked>}
 */
async function readPage (file, { folder, attribution }, seen, reading) {
  const { path, error } = file
  if (error) throw error
  if (!isPageFile(path)) throw new Refused(OTHER_KIND)
  const { name: given, tags, author, exported = false, content } = await readText(file, reading)
  const own = folder.nameOf(path)
  const name = own ?? writableName(given ?? nameOfFile(path))
  if (content === '') throw new Refused('It has no text.')
  if (own === undefined || seen.has(name)) throw new Refused(`Another of the files is the page “${name}”, too.`)
  seen.add(name)
  if (!exported) {
    const relinked = await reading.relink(path, content, folder)
    return { path, name, tags: canonicalTags(flatTags(tags)), attribution, ...relinked }
  }
  // The links of the wiki's own texts are right already, but for those to files of a private space.
  const isRight = !content.includes(`/${OF_SPACES}`)
  const text = isRight ? content : (await reading.relink(path, content, onlyOfSpaces(folder))).content
  const by = attribution.author || acceptedLine(author, AUTHOR_SCHEMA, visibleAuthor)
  const attributed = { attribution: { ...attribution, author: by } }
  return { path, name, tags: canonicalTags(tags), ...attributed, content: text, missing: [] }
}

/**
 * @param {PageOfFile} page @param {Run} run @param {PageStore} store
 * @returns {Promise<Pick<ImportLine, 'result' | 'revision'> | typeof BEYOND_LIMIT>}
 */
async function savePage ({ name, content, tags, attribution }, { onConflict, mayWrite }, store) {
  for (let attempt = 1; ; attempt++) {
    const there = await store.findSource(name)
    if (there === null) refuseHiddenName(name)
    if (there !== null) {
      if (there.content === content && (tags === undefined || tags.join() === there.tags.join())) {
        return { result: 'unchanged', revision: there.revision }
      }
      if (onConflict === 'keep') return { result: 'kept', revision: there.revision }
      if (onConflict === 'fail') throw new Refused(`There is a page “${name}” with another text or other tags.`)
    }
    if (attempt === 1 && !await mayWrite()) return BEYOND_LIMIT
    try {
      const { revision, created } =
        await store.save(name, { content, tags }, attribution, basePrecondition(currentRevision(there)))
      return { result: created ? 'created' : 'replaced', revision }
    } catch (error) {
      if (!(error instanceof StaleEdit) || attempt === ATTEMPTS_MAX) throw error
    }
  }
}

/** @param {Buffer} bytes */
function textOf (bytes) {
  try {
    return utf8.decode(bytes)
  } catch {
    throw new Refused('It is not UTF-8.')
  }
}
