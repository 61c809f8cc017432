import yazl from 'yazl'

/** @typedef {import('node:stream').Readable} Readable */

/**
 * A file to be.
 * @typedef {object} ZipItem
 * @property {string} path
 * @property {Date} modifiedAt
 * @property {() => Readable} open  called when it is the file's turn
 */

/**
 * A zip as it is made: only one file at a time is in memory, besides the list that a zip ends with. The same items give the same bytes.
 * @param {AsyncIterable<ZipItem>} items  left when the reader goes away
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
  let goOn = (/** @type {unknown} */ _ = undefined) => {}
  output.once('close', () => goOn())
  for await (const { path, modifiedAt, ...item } of items) {
    await new Promise((resolve, reject) => {
      goOn = resolve
      /** @type {(() => Readable) | null} */
      let open = item.open
      zip.addReadStreamLazy(path, { mtime: shownAs(modifiedAt), forceDosTimestamp: true }, (take) => {
        const stream = /** @type {() => Readable} */ (open)()
        // The zip keeps this function to its end, and with it whatever it holds.
        open = null
        stream.once('end', resolve).once('error', reject)
        take(null, stream)
      })
    })
    if (output.destroyed) return
  }
  zip.end()
}

/**
 * Times in a zip have no zone; these are UTC.
 * @param {Date} time
 */
const shownAs = (time) => new Date(time.getUTCFullYear(), time.getUTCMonth(), time.getUTCDate(), time.getUTCHours(), time.getUTCMinutes(), time.getUTCSeconds())
