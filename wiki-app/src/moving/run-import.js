import { createMoving } from './import.js'
import { converterOf, KINDS } from './kinds.js'
import { createOldAddresses } from './old-addresses.js'
import { openWiki } from './open-wiki.js'
import { openReport } from './report.js'

/** @import {Config} from '../settings.js' */
/** @import {Convert, ReaderOptions} from './content.js' */
/** @import {Totals} from './report.js' */
/** @import {OnConflict} from './store-page.js' */

/**
 * @typedef {object} Import
 * @property {Config} config  of the wiki that it comes into
 * @property {string} kind  see kinds.js
 * @property {string} file
 * @property {OnConflict} [onConflict]
 * @property {boolean} [dryRun]
 * @property {string} [report]  a file for JSON lines
 * @property {{file: string, oldPath: string}} [redirects]  a file for a map of nginx
 * @property {AbortSignal} [signal]
 * @property {(totals: Totals, read: {done: number, total: number}) => void} [onProgress]
 * @property {string} [pandoc]  its path, for kinds that need it
 * @property {{convert?: Convert, close: () => Promise<void>}} [converter]  default: that of the kind
 * @property {Pick<ReaderOptions, 'namespaces' | 'pictures' | 'includeFiles'>} [reading]
 */

/**
 * Moves a file of another wiki in, see createMoving.
 * @param {Import} options
 * @returns {Promise<{totals: Totals, problems: string[]}>}
 * @throws {Error} AbortError, ConfigError; of the files, the converter, the database
 */
export async function runImport ({
  config, kind, file, onConflict, dryRun = false, report, redirects, signal, onProgress = () => {}, pandoc, converter,
  reading
}) {
  const read = await KINDS[kind].reader()
  const { convert, close } = converter ?? await converterOf(KINDS[kind], pandoc)
  /** @type {(() => Promise<void>)[]} */
  const closing = [close]
  try {
    const lines = report === undefined ? null : await openReport(report)
    if (lines) closing.push(lines.close)
    const wiki = await openWiki(config, { mayWrite: !dryRun })
    closing.push(wiki.close)
    const addresses = redirects && createOldAddresses(redirects)
    const moving = createMoving({ ...wiki, kind, onConflict, dryRun, signal })
    const soFarRead = { done: 0, total: 0 }
    const things = read(file, {
      ...reading,
      signal,
      convert,
      newestStored: moving.newestStored,
      onRead (done, total) { Object.assign(soFarRead, { done, total }) }
    })
    const totals = await moving.run(things, async (outcome, soFar) => {
      addresses?.add(outcome)
      await lines?.add(outcome)
      onProgress(soFar, soFarRead)
    })
    if (redirects) await addresses?.write(redirects.file)
    const problems = addresses?.isFull() ? ['the map of old addresses has the first 200 000 alone'] : []
    return { totals, problems }
  } finally {
    await endAll(closing)
  }
}

/** Each, also where one fails. @param {(() => Promise<void>)[]} closing @throws {Error} of the first that fails */
async function endAll (closing) {
  const ended = await Promise.allSettled(closing.map((end) => end()))
  for (const each of ended) if (each.status === 'rejected') throw each.reason
}
