import { once } from 'node:events'
import { Readable } from 'node:stream'
import yazl from 'yazl'

/**
 * A file to be.
 * @typedef {object} ZipItem
 * @property {string} path
 * @property {Date} modifiedAt
 * @property {() => Readable} open  called when it is the file's turn
 */

/**
 * A zip as it is made: nothing but one file at a time and the list of files is in memory. The same items give the same bytes.
 * @param {AsyncIterable<ZipItem>} items
 * @returns {Readable}
 */
export function zipOf (items) {
  const zip = new yazl.ZipFile()
  const output = /** @type {import('node:stream').PassThrough} */ (zip.outputStream)
  const fail = (/** @type {unknown} */ error) => output.destroy(/** @type {Error} */ (error))
  zip.on('error', fail)
  fill(zip, items, output).catch(fail)
  return output
}

/**
 * @param {yazl.ZipFile} zip
 * @param {AsyncIterable<ZipItem>} items
 * @param {Readable} output
 */
async function fill (zip, items, output) {
  for await (const { path, modifiedAt, open } of items) {
    const opened = new AbortController()
    const given = new Promise((resolve, reject) => {
      zip.addReadStreamLazy(path, { mtime: shownAs(modifiedAt), forceDosTimestamp: true }, (take) => {
        const stream = open()
        stream.once('end', resolve).once('error', reject).once('close', () => opened.abort())
        take(null, stream)
      })
      output.once('close', resolve)
    })
    await given
    if (output.destroyed) return
  }
  zip.end()
}

/**
 * Zips hold times without a zone; these are UTC.
 * @param {Date} time
 */
const shownAs = (time) => new Date(time.getUTCFullYear(), time.getUTCMonth(), time.getUTCDate(), time.getUTCHours(), time.getUTCMinutes(), time.getUTCSeconds())
