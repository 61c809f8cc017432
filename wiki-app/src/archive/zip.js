import yazl from 'yazl'

/** @typedef {import('node:stream').Readable} Readable */

/**
 * A file for a zip.
 * @typedef {object} ZipItem
 * @property {string} path
 * @property {Date} modifiedAt
 * @property {() => Readable} open  called when it is the file's turn
 */

/**
 * Returns a zip as a stream: only one file at a time is in memory, besides the central directory at the zip's end.
 * The same items give the same bytes.
 * @param {AsyncIterable<ZipItem>} items  no longer read when the reader closes the stream
 * @returns {Readable}
 */
export function zipOf (items) {
  const zip = new yazl.ZipFile()
  const output = /** @type {import('node:stream').PassThrough} */ (zip.outputStream)
  const fail = (/** @type {unknown} */ error) => { output.destroy(/** @type {Error} */ (error)) }
  zip.on('error', fail)
  fill(zip, output, items).catch(fail)
  return output
}

/**
 * @param {yazl.ZipFile} zip
 * @param {Readable} output
 * @param {AsyncIterable<ZipItem>} items
 */
async function fill (zip, output, items) {
  for await (const { path, modifiedAt, open } of items) {
    await add(zip, output, path, modifiedAt, open)
    if (output.destroyed) return
  }
  zip.end()
}

/**
 * @param {yazl.ZipFile} zip
 * @param {Readable} output
 * @param {string} path
 * @param {Date} modifiedAt
 * @param {(() => Readable) | null} open
 * @returns {Promise<void>} when the file is read, or the output is closed
 */
function add (zip, output, path, modifiedAt, open) {
  return new Promise((resolve, reject) => {
    output.once('close', resolve)
    zip.addReadStreamLazy(path, { mtime: shownAs(modifiedAt), forceDosTimestamp: true }, (take) => {
      const stream = /** @type {() => Readable} */ (open)()
      // The zip keeps this function, and all that it references, until its end.
      open = null
      stream.once('end', resolve).once('error', reject).once('close', () => output.off('close', resolve))
      take(null, stream)
    })
  })
}

/**
 * Times in a zip have no zone; these are UTC.
 * @param {Date} time
 */
const shownAs = (time) => new Date(
  time.getUTCFullYear(),
  time.getUTCMonth(),
  time.getUTCDate(),
  time.getUTCHours(),
  time.getUTCMinutes(),
  time.getUTCSeconds()
)
