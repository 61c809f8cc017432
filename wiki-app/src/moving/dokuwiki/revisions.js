import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import { TEXT_MAX_BYTES } from '../texts.js'
import { outsideId, outsideOf } from './outside.js'
import { FileError } from './tree.js'

/** @import {AboutTexts, Convert, LostRevision, MovedRevision} from '../content.js' */
/** @import {Tree} from './tree.js' */

/** @typedef {{id: string, createdAt: Date, author: string, summary: string, isDeletion: boolean}} Change */
/**
 * `isOutside`: DokuWiki does not know of it. `text`: null when it is not there any more.
 * @typedef {{change: Change, text: string | null, isOutside: boolean}} Stored
 */

const CHANGES_MAX_BYTES = 67_108_864
/** Texts that are converted together. */
const BATCH_MAX_CHARS = 1_048_576
const BATCH_MAX = 64

const unzip = promisify(gunzip)

/**
 * Of a page, oldest first. https://www.dokuwiki.org/devel:changelog
 * @param {Tree} tree @param {string} file  relative to `pages`, without `.txt`
 * @returns {Promise<Change[]>} [] without a history @throws {FileError}
 */
export async function changesOf (tree, file) {
  const found = await tree.read(`meta/${file}.changes`, CHANGES_MAX_BYTES)
  /** @type {Map<string, Change>} */
  const changes = new Map()
  for (const line of found?.bytes.toString('utf8').split('\n') ?? []) {
    const [time = '', , type, , author = '', summary = ''] = line.split('\t')
    if (!/^\d{1,11}$/.test(time) || type === undefined) continue
    changes.set(time, {
      id: time,
      createdAt: new Date(1000 * Number(time)),
      author: author.trim(),
      summary: summary.trim(),
      isDeletion: type === 'D'
    })
  }
  return [...changes.values()].sort((a, b) => Number(a.id) - Number(b.id))
}

/**
 * @param {object} page
 * @param {Tree} page.tree
 * @param {string} page.file  relative to `pages`, without `.txt`
 * @param {Convert} page.convert
 * @param {AboutTexts} page.about
 * @param {string | null} page.stored  the id of the newest revision that is here already
 * @param {() => void} page.onMissing  called for each new revision of which the text is not there
 * @returns {AsyncGenerator<MovedRevision | LostRevision>}
 */
export async function * revisionsOf ({ tree, file, convert, about, stored, onMissing }) {
  /** @type {(Stored & {text: string})[]} */
  let batch = []
  let chars = 0
  async function * converted () {
    const results = await convert(batch.map(({ text }) => text), about)
    for (const [index, { change: { id, author, summary, createdAt } }] of batch.entries()) {
      const { content, tags = [], problem } = results[index]
      yield { id, content, tags, author, summary, createdAt, ...problem !== undefined && { problem } }
    }
    batch = []
    chars = 0
  }

  const changes = await changesOf(tree, file)
  const before = stored === null ? null : outsideOf(stored)
  let isStored = before !== null || changes.some(({ id }) => id === stored)
  for await (const { change, text, isOutside } of storedTexts(tree, file, { changes, stored })) {
    if (text === null) {
      if (!isStored) onMissing()
      yield { id: change.id, isLost: true }
      if (change.id === stored) isStored = false
      continue
    }
    if (isStored && stored !== null) {
      // DokuWiki gives a change of another program its number later.
      const isNewest = change.id === stored || before?.isText(text, change.id, isOutside) === true
      // The next change of another program has replaced that one.
      const isGone = !isNewest && before?.isBefore(change.id, isOutside) === true
      isStored = !isNewest && !isGone
      const { author, summary, createdAt } = change
      yield { id: isStored ? change.id : stored, content: '', author, summary, createdAt }
      if (!isGone) continue
    }
    batch.push({ change, text, isOutside })
    chars += text.length
    if (batch.length >= BATCH_MAX || chars >= BATCH_MAX_CHARS) yield * converted()
  }
  if (batch.length > 0) yield * converted()
}

/**
 * @param {Tree} tree @param {string} file @param {{changes: Change[], stored: string | null}} known
 * @returns {AsyncGenerator<Stored>}
 */
async function * storedTexts (tree, file, { changes, stored }) {
  const current = await tree.read(`pages/${file}.txt`, TEXT_MAX_BYTES)
  const newest = changes[changes.length - 1]
  let last = ''
  for (const change of changes) {
    if (change.isDeletion) continue
    const text = await oldText(tree, file, change.id) ??
      (change === newest ? current?.bytes.toString('utf8') : undefined)
    if (text !== undefined) last = text
    yield { change, text: text ?? null, isOutside: false }
  }
  // Changed by another program, or its history is lost.
  const text = current?.bytes.toString('utf8')
  if (current === null || text === undefined || (newest !== undefined && text === last)) return
  const createdAt = new Date(Math.max(current.modifiedAt.getTime(), newest?.createdAt.getTime() ?? 0))
  const id = outsideId(text, { after: newest?.id ?? '', stored })
  yield { change: { id, createdAt, author: '', summary: '', isDeletion: false }, text, isOutside: true }
}

/** @param {Tree} tree @param {string} file @param {string} time @returns {Promise<string | undefined>} */
async function oldText (tree, file, time) {
  try {
    const zipped = await tree.read(`attic/${file}.${time}.txt.gz`, TEXT_MAX_BYTES)
    if (zipped !== null) return (await unzip(zipped.bytes, { maxOutputLength: TEXT_MAX_BYTES })).toString('utf8')
    return (await tree.read(`attic/${file}.${time}.txt`, TEXT_MAX_BYTES))?.bytes.toString('utf8')
  } catch (error) {
    const isOfZip = /^(?:Z_|ERR_BUFFER_TOO_LARGE)/.test(String(/** @type {NodeJS.ErrnoException} */ (error).code))
    if (!isOfZip && !(error instanceof FileError)) throw error
    return undefined
  }
}
