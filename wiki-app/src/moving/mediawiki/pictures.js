import { opendir, readFile, stat } from 'node:fs/promises'
import path from 'node:path'
import createError from '@fastify/error'
import { readDump } from './dump.js'

/** @import {LeftOut, Moved, MovedPicture} from '../content.js' */
/** @import {DumpUpload} from './dump.js' */

/** The folders of MediaWiki's `images` that have no present pictures. */
const OTHERS = new Set(['thumb', 'archive', 'deleted', 'temp', 'lockdir', 'math', 'timeline', 'transcoded'])
const PICTURE = /\.(?:png|jpe?g|gif|webp)$/i
const DEPTH_MAX = 3
const PICTURE_MAX_BYTES = 52_428_800

const TooLarge = createError('WIKI_FILE_TOO_LARGE', 'The picture is larger than 50 MiB.', 413)
const NoContents = createError('WIKI_NO_CONTENTS', 'The dump does not have its contents, or more than 50 MiB.', 415)

/** @typedef {(name: string, url: string) => void} OnStored  `name`: as in links, `Red bee.png` */

/** @param {string} file @returns {string} */
const titleOf = (file) => {
  const name = file.replaceAll('_', ' ')
  const [first = ''] = name
  return first.toUpperCase() + name.slice(first.length)
}

/** @param {string} title */
const altOf = (title) => title.replace(/\.[^.]*$/, '')

/**
 * Of MediaWiki's folder `images`, with its folders by hash or flat.
 * @param {string} folder @param {OnStored} onStored @param {AbortSignal} [signal]
 * @returns {AsyncGenerator<MovedPicture | LeftOut>}
 */
export async function * picturesIn (folder, onStored, signal) {
  const others = { count: 0 }
  yield * below(folder, 0)
  if (others.count > 0) {
    yield {
      kind: 'left-out', source: folder, count: others.count, reason: 'these files are no pictures that can be shown'
    }
  }

  /** @param {string} within @param {number} depth @returns {AsyncGenerator<MovedPicture>} */
  async function * below (within, depth) {
    const entries = []
    for await (const entry of await opendir(within)) entries.push(entry)
    entries.sort((a, b) => a.name < b.name ? -1 : 1)
    for (const entry of entries) {
      signal?.throwIfAborted()
      const file = path.join(within, entry.name)
      if (entry.isDirectory()) {
        if (depth < DEPTH_MAX && !(depth === 0 && OTHERS.has(entry.name))) yield * below(file, depth + 1)
      } else if (!entry.isFile() || !PICTURE.test(entry.name)) {
        if (!/^(?:README|\.|index\.html)/.test(entry.name)) others.count++
      } else {
        const title = titleOf(entry.name)
        yield {
          kind: 'picture',
          source: `File:${title}`,
          alt: altOf(title),
          read: () => readPicture(file),
          stored: (url) => onStored(title, url)
        }
      }
    }
  }
}

/** @param {string} file */
async function readPicture (file) {
  if ((await stat(file)).size > PICTURE_MAX_BYTES) throw new TooLarge()
  return readFile(file)
}

/**
 * Of a dump with the contents of files (`--include-files --uploads`).
 * @param {string} file @param {OnStored} onStored @param {AbortSignal} [signal]
 * @returns {AsyncGenerator<Moved>}
 */
export async function * uploadsIn (file, onStored, signal) {
  /** Only the newest of a page is shown. @type {DumpUpload | null} */
  let newest = null
  let others = 0
  for await (const event of readDump(file, { signal, uploads: true })) {
    if (event.type === 'upload') newest = event.upload
    if (event.type !== 'end' || newest === null) continue
    if (PICTURE.test(newest.filename)) yield pictureOf(newest, onStored)
    else others++
    newest = null
  }
  if (others > 0) {
    yield { kind: 'left-out', source: file, count: others, reason: 'these files are no pictures that can be shown' }
  }
}

/** @param {DumpUpload} upload @param {OnStored} onStored @returns {MovedPicture} */
function pictureOf ({ filename, author, contents, isTooLong }, onStored) {
  const title = titleOf(filename)
  return {
    kind: 'picture',
    source: `File:${title}`,
    alt: altOf(title),
    author,
    async read () {
      if (isTooLong || contents === '') throw new NoContents()
      return Buffer.from(contents, 'base64')
    },
    stored: (url) => onStored(title, url)
  }
}
