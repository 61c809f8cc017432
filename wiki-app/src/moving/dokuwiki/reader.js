import { stat } from 'node:fs/promises'
import path from 'node:path'
import { SourceError } from '../source-error.js'
import { PICTURE_MAX_BYTES, TEXT_MAX_BYTES } from '../texts.js'
import { createNames, idOf, withoutAccents } from './names.js'
import { changesOf, revisionsOf } from './revisions.js'
import { FileError, openTree } from './tree.js'

/** @import {Moved, MovedPicture, Reader, ReaderOptions} from '../content.js' */
/** @import {Tree} from './tree.js' */

const PICTURE = /\.(?:png|jpe?g|gif|webp)$/i
const TEXT = '.txt'
const CHANGES = '.changes'

/**
 * DokuWiki's folder `data`, or the folder that contains it. https://www.dokuwiki.org/devel:dirlayout
 * @type {Reader}
 */
export async function * read (folder, { signal, convert, onRead, newestStored = async () => null }) {
  if (convert === undefined) throw new TypeError('DokuWiki needs a converter')
  const tree = await openTree(await dataFolder(folder))
  /** Addresses by id. @type {Map<string, string>} */
  const pictures = new Map()
  yield * picturesOf(tree, pictures, signal)

  const names = createNames(tree.root)
  let total = 0
  for await (const { name } of tree.files('pages')) total += await tree.size(`pages/${name}`)
  let done = 0
  const pictureUrl = (/** @type {string} */ id) => pictures.get(id) ?? pictures.get(withoutAccents(id))
  for await (const { name, isFile } of tree.files('pages')) {
    signal?.throwIfAborted()
    yield * pageOf(name, isFile)
    done += await tree.size(`pages/${name}`)
    onRead?.(done, total)
  }
  yield * deletedPages(tree, signal)

  /** @param {string} name @param {boolean} isFile @returns {AsyncGenerator<Moved>} */
  async function * pageOf (name, isFile) {
    if (!isFile || !name.endsWith(TEXT)) {
      yield { kind: 'untaken', source: name, reason: 'It is no page: these are files with names in .txt.' }
      return
    }
    const problem = await problemOf(tree, name)
    if (problem !== null) {
      yield { kind: 'untaken', source: name, reason: problem }
      return
    }
    const id = idOf(name)
    const about = { page: id, pictureUrl, pageName: names.linked }
    const known = { source: name, name: names.nameOf(id) }
    let missing = 0
    const revisions = revisionsOf({
      tree,
      file: name.slice(0, -TEXT.length),
      convert: /** @type {NonNullable<ReaderOptions['convert']>} */ (convert),
      about,
      stored: await newestStored(known),
      onMissing: () => { missing++ }
    })
    yield { kind: 'page', ...known, revisions }
    if (missing > 0) {
      yield { kind: 'untaken', source: name, reason: `Not to be found in “attic”: ${counted(missing)}.` }
    }
  }
}

/** @param {number} revisions */
const counted = (revisions) => revisions === 1 ? 'one revision' : `${revisions} revisions`

/** @param {string} folder @throws {SourceError} when it is none of DokuWiki's */
async function dataFolder (folder) {
  for (const data of [folder, path.join(folder, 'data')]) {
    const isThere = await stat(path.join(data, 'pages')).then((found) => found.isDirectory(), () => false)
    if (isThere) return data
  }
  throw new SourceError(`${folder} has no folder “pages”; give DokuWiki's folder “data”, as it is on the server`)
}

/** @param {Tree} tree @param {string} name  of a page @returns {Promise<string | null>} why it cannot be read */
async function problemOf (tree, name) {
  try {
    await changesOf(tree, name.slice(0, -TEXT.length))
    await tree.read(`pages/${name}`, TEXT_MAX_BYTES)
    return null
  } catch (error) {
    if (error instanceof FileError) return error.message
    throw error
  }
}

/**
 * @param {Tree} tree @param {Map<string, string>} pictures  gets their addresses @param {AbortSignal} [signal]
 * @returns {AsyncGenerator<Moved>}
 */
async function * picturesOf (tree, pictures, signal) {
  for await (const { name, isFile } of tree.files('media')) {
    signal?.throwIfAborted()
    const source = `media/${name}`
    if (!isFile || !PICTURE.test(name)) {
      yield { kind: 'left-out', source, count: 1, reason: 'It is no picture (PNG, JPEG, GIF or WebP).' }
      continue
    }
    yield /** @satisfies {MovedPicture} */ ({
      kind: 'picture',
      source,
      async read () {
        const found = await tree.read(source, PICTURE_MAX_BYTES)
        if (found === null) throw new FileError('It is not there any more.')
        return found.bytes
      },
      stored: (url) => { pictures.set(idOf(name), url) }
    })
  }
}

/**
 * Pages of which only the history is left.
 * @param {Tree} tree @param {AbortSignal} [signal] @returns {AsyncGenerator<Moved>}
 */
async function * deletedPages (tree, signal) {
  for await (const { name, isFile } of tree.files('meta')) {
    signal?.throwIfAborted()
    // `_dokuwiki.changes` is that of the whole wiki.
    if (!isFile || !name.endsWith(CHANGES) || name.startsWith('_')) continue
    const page = `${name.slice(0, -CHANGES.length)}${TEXT}`
    if (await tree.size(`pages/${page}`) > 0) continue
    yield { kind: 'left-out', source: page, count: 1, reason: 'It was deleted.' }
  }
}
