import { createHash } from 'node:crypto'
import { realpath, stat } from 'node:fs/promises'
import { isUploadFile, nameOfAttachment } from '../../archive/attachment-paths.js'
import { isPageFile } from '../../archive/file-names.js'
import { Folder } from '../../archive/folder.js'
import { aboutPicture } from '../../archive/picture-files.js'
import {
  createTexts, NAME_TAKEN, NOT_UTF8, OTHER_KIND, PICTURE_MAX_BYTES, redirectsOf, TEXT_MAX_BYTES, TOO_LONG
} from '../texts.js'
import { SourceError } from '../source-error.js'
import { filesBelow, readBelow } from './files.js'

/** @import {Moved, MovedPage, MovedPicture, Untaken} from '../content.js' */

/** @typedef {ReturnType<typeof createTexts>} Texts */
/**
 * @typedef {{root: string, texts: Texts, folder: Folder, signal?: AbortSignal,
 *   newestStored: NonNullable<import('../content.js').ReaderOptions['newestStored']>}} Reading
 */

/**
 * A folder of Markdown: the notes of Obsidian, the `docs` of a project. A page has one revision, of the time of its
 * file; a file that changes since becomes another one.
 * @type {import('../content.js').Reader}
 */
export async function * readMarkdown (from, { signal, onRead = () => {}, newestStored = async () => null } = {}) {
  const root = await folderAt(from)
  const folder = new Folder()
  const texts = createTexts(folder)
  const reading = { root, texts, folder, newestStored, signal }
  try {
    /** @type {string[]} */
    const pages = []
    for await (const { path, refusal } of filesBelow(root, signal)) {
      if (refusal !== undefined) yield untaken(path, refusal)
      else if (isPageFile(path)) pages.push(path)
      else if (isUploadFile(path)) yield pictureOf(path, reading)
      else yield { kind: 'left-out', source: path, count: 1, reason: OTHER_KIND }
    }
    const { aliases, total } = await survey(pages, reading)
    const taken = new Set(pages.flatMap((path) => folder.nameOf(path) ?? []))
    let done = 0
    for (const path of pages) {
      signal?.throwIfAborted()
      const { bytes = 0, ...page } = await pageOf(path, reading)
      yield page
      onRead(done += bytes, total)
    }
    yield * redirectsOf(aliases, taken)
  } finally {
    await texts.close()
  }
}

/** @param {string} from @returns {Promise<string>} @throws {SourceError} */
async function folderAt (from) {
  const found = await stat(from).catch(() => null)
  if (!found?.isDirectory()) throw new SourceError(`there is no folder ${from}`)
  return realpath(from)
}

/**
 * Names the pages.
 * @param {string[]} pages  paths @param {Reading} reading
 * @returns other names of pages that have a name, by the alias; bytes of all pages
 */
async function survey (pages, { root, texts, folder, signal }) {
  /** @type {Map<string, string>} */
  const paths = new Map()
  let total = 0
  for (const path of pages) {
    signal?.throwIfAborted()
    const file = await readBelow(root, path, TEXT_MAX_BYTES).catch(() => null)
    total += file?.bytes.length ?? 0
    const known = file && await texts.identify(file.bytes)
    if (!known) continue
    const { name, title, aliases: others = [] } = known
    folder.addPage(path, { name, title })
    for (const alias of others) if (!paths.has(alias)) paths.set(alias, path)
  }
  await folder.settle()
  /** @type {Map<string, {to: string, source: string}>} */
  const aliases = new Map()
  for (const [alias, path] of paths) {
    const to = folder.nameOf(path)
    if (to !== undefined) aliases.set(alias, { to, source: `${path}: ${alias}` })
  }
  return { aliases, total }
}

/** @param {string} path @param {Reading} reading @returns {Promise<(MovedPage | Untaken) & {bytes?: number}>} */
async function pageOf (path, { root, texts, folder, newestStored }) {
  let file
  try {
    file = await readBelow(root, path, TEXT_MAX_BYTES)
  } catch (error) {
    return untaken(path, `It cannot be read: ${/** @type {Error} */ (error).message}.`)
  }
  if (file === null) return untaken(path, TOO_LONG)
  const text = await texts.read(file.bytes, path)
  if (text === null) return untaken(path, NOT_UTF8)
  const name = folder.nameOf(path)
  if (name === undefined) return untaken(path, NAME_TAKEN)
  const { content, tags, author = '' } = text
  const hash = hashOf([content, tags], 32)
  const stored = await newestStored({ source: path, name })
  const revision = { content, tags, author, summary: '', createdAt: file.modifiedAt }
  const revisions = stored === null || stored.startsWith(hash)
    ? [{ ...revision, id: stored ?? hash }]
    // A text that was there before is a revision of its own when it comes back.
    : [{ ...revision, id: stored, content: '' }, { ...revision, id: `${hash}-${hashOf(stored, 8)}` }]
  return { kind: 'page', source: path, name, revisions: each(revisions), bytes: file.bytes.length }
}

/** @param {unknown} value @param {number} chars */
const hashOf = (value, chars) => createHash('sha256').update(JSON.stringify(value)).digest('hex').slice(0, chars)

/** @param {import('../content.js').MovedRevision[]} revisions */
async function * each (revisions) { yield * revisions }

/** @param {string} path @param {Reading} reading @returns {MovedPicture} */
const pictureOf = (path, { root, folder }) => ({
  kind: 'picture',
  source: path,
  async read () {
    const file = await readBelow(root, path, PICTURE_MAX_BYTES)
    if (file === null) throw new Error('it is too large')
    return file.bytes
  },
  alt: aboutPicture(/** @type {any} */ ({ path })).alt,
  name: nameOfAttachment(path),
  stored: (url) => folder.addPicture(path, url)
})

/** @param {string} source @param {string} reason @returns {Untaken} */
const untaken = (source, reason) => ({ kind: 'untaken', source, reason })
