import { setImmediate as nextTurn } from 'node:timers/promises'
import createError from '@fastify/error'
import { currentRevision } from '../pages/head.js'
import { basePrecondition, StaleEdit } from '../pages/preconditions.js'
import { canonicalTags } from '../pages/tags.js'
import { writableName } from '../pages/name.js'
import { refuseHiddenName } from '../pages/visible.js'
import { isPageFile, nameOfFile } from './file-names.js'
import { FRONT_MATTER_MAX_BYTES } from './front-matter.js'

/** @import {FastifyBaseLogger} from 'fastify' */
/** @import {Refusal} from '../access/write-limit.js' */
/** @import {Attribution} from '../pages/commit.js' */
/** @import {PageStore} from '../pages/store.js' */
/** @import {FrontMatterReader} from './front-matter-reader.js' */
/** @import {Unzipped} from './unzip.js' */

const Refused = createError('WIKI_IMPORT_REFUSED', '%s', 400)

/** Saves mostly wait for the disk. */
const SAVES_AT_ONCE = 4
const ATTEMPTS_MAX = 3
/** An error that every file causes must not fill the log. */
const CAUSES_LOGGED_MAX = 10
const UNEXPECTED = 'Something went wrong in the wiki with this file. It has been logged.'

const utf8 = new TextDecoder('utf-8', { fatal: true })

/** @typedef {'replace' | 'keep' | 'fail'} OnConflict  what to do with a page that has another text already */

/**
 * @typedef {{path: string, name?: string, result: Result, revision?: number, reason?: string}} ImportLine
 * @typedef {'created' | 'replaced' | 'unchanged' | 'kept' | 'refused'} Result
 */

/**
 * `left`: files beyond the write limit.
 * @typedef {{done: boolean, reason?: string, left?: number, retry_after_s?: number}} Progress
 * @typedef {Record<Result, number> & Progress} ImportTotals
 */

/**
 * Pages that have the text and tags of their file stay, so a broken-off import can be sent again.
 * @typedef {{store: PageStore, maxBytes: number, frontMatter: FrontMatterReader}} Parts  `maxBytes`: of a page
 * @param {Parts & {isUnavailable: (error: unknown) => boolean, log: Pick<FastifyBaseLogger, 'warn' | 'error'>}} parts
 */
export function createImport ({ store, maxBytes, frontMatter, isUnavailable, log }) {
  /**
   * @param {AsyncIterable<Unzipped>} files
   * @param {{attribution: Attribution, onConflict: OnConflict, take: () => Promise<Refusal | null>}} options
   * @returns {AsyncGenerator<ImportLine | ImportTotals>} a line for each file, in order; then the totals
   */
  return async function * importFiles (files, { attribution, onConflict, take: allow }) {
    /** @type {ImportTotals} */
    const totals = { done: true, created: 0, replaced: 0, unchanged: 0, kept: 0, refused: 0 }
    /** @type {Set<string>} */
    const seen = new Set()
    /** @type {Set<string>} */
    const logged = new Set()
    /** @type {Promise<ImportLine | null>[]} */
    const inFlight = []
    /** @returns {Promise<ImportLine[]>} empty: the write limit is reached */
    const next = async () => {
      const line = await inFlight[0]
      inFlight.shift()
      if (line === null) {
        totals.left = (totals.left ?? 0) + 1
        return []
      }
      totals[line.result]++
      return [line]
    }
    const mayWrite = async () => {
      const refusal = totals.left === undefined ? await allow() : null
      if (refusal !== null) pause(totals, refusal)
      return totals.left === undefined
    }
    try {
      for await (const file of untilBroken(files, totals)) {
        if (totals.left !== undefined) {
          totals.left++
          continue
        }
        const line = readPage(file, seen, { maxBytes, frontMatter })
          .then((page) => savePage(page, { store, attribution, onConflict, mayWrite }))
          .catch((error) => refusal(file.path, error, logged))
        // Awaited later; until then a rejection must not count as unhandled.
        line.catch(() => {})
        inFlight.push(line)
        if (inFlight.length >= SAVES_AT_ONCE) yield * await next()
        await nextTurn()
      }
      while (inFlight.length > 0) yield * await next()
    } catch (error) {
      log.warn(`an import broke off: ${/** @type {Error} */ (error).message}`)
      breakOff(
        totals,
        'The wiki could not go on. Send the same file again in a moment: what is done already is left as it is.'
      )
    } finally {
      await Promise.allSettled(inFlight)
    }
    yield totals
  }

  /**
   * @param {string} path @param {unknown} error @param {Set<string>} logged  messages
   * @returns {ImportLine}
   * @throws what affects all files: the database or the machine is not available
   */
  function refusal (path, error, logged) {
    if (isForClient(error)) return { path, result: 'refused', reason: error.message }
    const { message, statusCode } = /** @type {Error & {statusCode?: number}} */ (error)
    if (statusCode === 503 || isUnavailable(error)) throw error
    if (!logged.has(message) && logged.size < CAUSES_LOGGED_MAX) {
      log.error({ err: error, path }, 'unexpected error with a file of an import')
      logged.add(message)
    }
    return { path, result: 'refused', reason: UNEXPECTED }
  }
}

/** @param {Unzipped} file @param {Set<string>} seen @param {Pick<Parts, 'maxBytes' | 'frontMatter'>} parts */
async function readPage ({ path, error, read }, seen, { maxBytes, frontMatter }) {
  if (error) throw error
  if (!isPageFile(path)) throw new Refused('Only Markdown is taken, in files whose names end in “.md”.')
  const bytes = await read(maxBytes + FRONT_MATTER_MAX_BYTES)
  const { name: given, tags, content } = await frontMatter.read(textOf(bytes))
  const name = writableName(given ?? nameOfFile(path))
  if (content === '') throw new Refused('It has no text.')
  if (seen.has(name)) throw new Refused(`Another file of the zip is the page “${name}”, too.`)
  seen.add(name)
  return { path, name, content, tags: canonicalTags(tags) }
}

/**
 * @param {Awaited<ReturnType<typeof readPage>>} page
 * @typedef {{store: PageStore, attribution: Attribution, onConflict: OnConflict}} SaveOptions
 * @param {SaveOptions & {mayWrite: () => Promise<boolean>}} options
 * @returns {Promise<ImportLine | null>} null: the write limit is reached
 */
async function savePage ({ path, name, content, tags }, { store, attribution, onConflict, mayWrite }) {
  for (let attempt = 1; ; attempt++) {
    const there = await store.findSource(name)
    if (there === null) refuseHiddenName(name)
    if (there !== null) {
      if (there.content === content && (tags === undefined || tags.join() === there.tags.join())) {
        return { path, name, result: 'unchanged', revision: there.revision }
      }
      if (onConflict === 'keep') return { path, name, result: 'kept', revision: there.revision }
      if (onConflict === 'fail') throw new Refused(`There is a page “${name}” with another text or other tags.`)
    }
    if (attempt === 1 && !await mayWrite()) return null
    try {
      const { revision, created } =
        await store.save(name, { content, tags }, attribution, basePrecondition(currentRevision(there)))
      return { path, name, result: created ? 'created' : 'replaced', revision }
    } catch (error) {
      if (!(error instanceof StaleEdit) || attempt === ATTEMPTS_MAX) throw error
    }
  }
}

/** @param {ImportTotals} totals @param {string} reason */
const breakOff = (totals, reason) => { Object.assign(totals, { done: false, reason }) }

/** @param {ImportTotals} totals @param {Refusal} refusal */
function pause (totals, { pages, retryAfterS }) {
  const next = `Send the same file again in ${retryAfterS} s: what is done already is left as it is.`
  breakOff(totals, `An import writes at most ${pages} pages at once. ${next}`)
  Object.assign(totals, { left: 0, retry_after_s: retryAfterS })
}

/** @param {AsyncIterable<Unzipped>} files @param {ImportTotals} totals */
async function * untilBroken (files, totals) {
  try {
    yield * files
  } catch (error) {
    if (!isForClient(error)) throw error
    breakOff(totals, error.message)
  }
}

/** @param {unknown} error @returns {error is Error} */
function isForClient (error) {
  const { statusCode = 500 } = /** @type {{statusCode?: number}} */ (error)
  return statusCode >= 400 && statusCode < 500
}

/** @param {Buffer} bytes */
function textOf (bytes) {
  try {
    return utf8.decode(bytes)
  } catch {
    throw new Refused('It is not UTF-8.')
  }
}
