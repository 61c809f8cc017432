import { setImmediate as nextTurn } from 'node:timers/promises'
import { englishDuration } from '../readable.js'
import { isForClient } from './client-error.js'
import { isUploadFile } from './attachment-paths.js'
import { isPageFile } from './file-names.js'
import { Folder } from './folder.js'
import { BEYOND_LIMIT, createSaves } from './import-saves.js'

/** @import {FastifyBaseLogger} from 'fastify' */
/** @import {Refusal} from '../access/write-limit.js' */
/** @import {Attribution} from '../pages/commit.js' */
/** @import {SaveParts, Saves} from './import-saves.js' */
/** @import {Archive, ArchiveFile} from './unzip.js' */

/** Saves mostly wait for the disk. */
const SAVES_AT_ONCE = 4
/** Shows proxies that the import goes on: they close a connection after 30 s without a byte. */
const FILES_PER_PULSE = 10
/** An error that every file causes must not fill the log. */
const CAUSES_LOGGED_MAX = 10
const UNEXPECTED = 'Something went wrong in the wiki with this file. It has been logged.'

/** @typedef {'replace' | 'keep' | 'fail'} OnConflict  what to do with a page that has another text already */

/**
 * A page has a `name`, a stored picture or other file a `url`. `missing`: files that its links name and that are not
 * there, at most 20; `reason`: why it is refused, or its links were left as they are.
 * @typedef {object} ImportLine
 * @property {string} path
 * @property {Result} result
 * @property {string} [name]
 * @property {string} [url]
 * @property {number} [revision]
 * @property {string[]} [missing]
 * @property {string} [reason]
 * @typedef {'created' | 'replaced' | 'unchanged' | 'kept' | 'refused'} Result
 */

/**
 * `left`: files beyond the write limit.
 * @typedef {{done: boolean, reason?: string, left?: number, retry_after_s?: number}} Progress
 * @typedef {Record<Result, number> & Progress} ImportTotals
 */

/**
 * @typedef {{attribution: Attribution, onConflict: OnConflict, take: () => Promise<Refusal | null>}} Options
 * @typedef {Options & {totals: ImportTotals, folder: Folder, mayWrite: () => Promise<boolean>, refused: Refused}} Run
 * @typedef {(path: string, error: unknown) => ImportLine} Refused  throws what affects all files
 * @typedef {{isUnavailable: (error: unknown) => boolean, log: Pick<FastifyBaseLogger, 'warn' | 'error'>}} Surroundings
 */

/**
 * Reads the files twice: for what they become, then for the texts, whose links lead there. Pages that have the text and
 * tags of their file stay, so a broken-off import can be sent again.
 * @param {SaveParts & Surroundings} parts
 */
export function createImport ({ isUnavailable, log, ...parts }) {
  const saves = createSaves(parts)

  /**
   * @param {Archive} files @param {Options} options
   * @returns {AsyncGenerator<ImportLine | ImportTotals | null>} a line for each picture and other file, then for each
   *   page; null while nothing is done; at last the totals
   */
  return async function * importFiles (files, options) {
    /** @type {ImportTotals} */
    const totals = { done: true, created: 0, replaced: 0, unchanged: 0, kept: 0, refused: 0 }
    /** @type {Run} */
    const run = {
      ...options,
      totals,
      folder: new Folder(),
      mayWrite: createGate(totals, options.take),
      refused: createRefused({ isUnavailable, log })
    }
    try {
      for (const part of [survey, savePages]) {
        for await (const line of part(files, run, saves)) {
          if (line !== null) totals[line.result]++
          yield line
        }
      }
    } catch (error) {
      log.warn(`an import broke off: ${/** @type {Error} */ (error).message}`)
      breakOff(
        totals,
        'The wiki could not go on. Send the same file again in a moment: what is done already is left as it is.'
      )
    }
    yield totals
  }
}

/**
 * Pictures are stored, pages named.
 * @param {Archive} files @param {Run} run @param {Saves} saves @returns {AsyncGenerator<ImportLine | null>}
 */
async function * survey (files, run, { identify, savePicture }) {
  let count = 0
  // The second reading reports where the archive breaks off.
  for await (const file of untilBroken(files(), { done: true })) {
    if (++count % FILES_PER_PULSE === 0) yield null
    if (isUpload(file)) {
      const line = isPaused(run)
        ? BEYOND_LIMIT
        : await savePicture(file, run).catch((error) => run.refused(file.path, error))
      if (line === BEYOND_LIMIT) {
        countLeft(run)
        continue
      }
      if (line.url !== undefined) run.folder.addPicture(file.path, line.url)
      yield line
    } else if (!file.error && isPageFile(file.path) && !isPaused(run)) {
      const known = await identify(file)
      if (known !== null) run.folder.addPage(file.path, known)
    }
    await nextTurn()
  }
  await run.folder.settle()
}

/**
 * @param {Archive} files @param {Run} run @param {Saves} saves
 * @returns {AsyncGenerator<ImportLine>} in the order of the files
 */
async function * savePages (files, run, { createPageSave }) {
  const save = createPageSave(run)
  /** @type {Promise<ImportLine | typeof BEYOND_LIMIT>[]} */
  const inFlight = []
  const next = async () => {
    const line = await inFlight[0]
    inFlight.shift()
    if (line !== BEYOND_LIMIT) return [line]
    countLeft(run)
    return []
  }
  try {
    for await (const file of untilBroken(files(), run.totals)) {
      if (isUpload(file)) continue
      if (isPaused(run)) {
        countLeft(run)
        continue
      }
      const line = save(file).catch((error) => run.refused(file.path, error))
      // Awaited later; until then a rejection must not count as unhandled.
      line.catch(() => {})
      inFlight.push(line)
      if (inFlight.length >= SAVES_AT_ONCE) yield * await next()
      await nextTurn()
    }
    while (inFlight.length > 0) yield * await next()
  } finally {
    await Promise.allSettled(inFlight)
  }
}

/** @param {Surroundings} surroundings @returns {Refused} */
function createRefused ({ isUnavailable, log }) {
  /** Messages. @type {Set<string>} */
  const logged = new Set()
  return (path, error) => {
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

/** @param {ArchiveFile} file */
const isUpload = ({ path, error }) => !error && isUploadFile(path)

/** @param {Run} run */
const isPaused = ({ totals }) => totals.left !== undefined

/** @param {Run} run */
function countLeft ({ totals }) { totals.left = (totals.left ?? 0) + 1 }

/** @param {ImportTotals} totals @param {Options['take']} take */
const createGate = (totals, take) => async () => {
  const refusal = totals.left === undefined ? await take() : null
  if (refusal !== null) pause(totals, refusal)
  return totals.left === undefined
}

/** @param {Progress} progress @param {string} reason */
const breakOff = (progress, reason) => { Object.assign(progress, { done: false, reason }) }

/** @param {ImportTotals} totals @param {Refusal} refusal */
function pause (totals, { pages, retryAfterS }) {
  const next = `Send the same file again in ${englishDuration(retryAfterS)}: what is done already is left as it is.`
  breakOff(totals, `An import writes at most ${pages} pages at once. ${next}`)
  Object.assign(totals, { left: 0, retry_after_s: retryAfterS })
}

/** @param {AsyncIterable<ArchiveFile>} files @param {Progress} progress */
async function * untilBroken (files, progress) {
  try {
    yield * files
  } catch (error) {
    if (!isForClient(error)) throw error
    breakOff(progress, error.message)
  }
}
