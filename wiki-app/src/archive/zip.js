/** @import {Readable} from 'node:stream' */
/** @import {ZipFile} from 'yazl' */

/**
 * @typedef {{path: string, modifiedAt: Date, open: () => Readable | Promise<Readable>}} Item
 * @typedef {Item & {isCompressed?: boolean, comment?: string}} ZipItem
 */

/**
 * One file at a time is in memory. Equal items give equal bytes.
 * @param {AsyncIterable<ZipItem>} items  no longer read when the reader closes the stream
 */
export async function zipOf (items) {
  // Loaded with the first export: most processes never need it, and all would keep its memory.
  const { default: yazl } = await import('yazl')
  const zip = new yazl.ZipFile()
  const output = /** @type {import('node:stream').PassThrough} */ (zip.outputStream)
  const fail = (/** @type {unknown} */ error) => { output.destroy(/** @type {Error} */ (error)) }
  zip.on('error', fail)
  fill(zip, output, items).catch(fail)
  return output
}

/** @param {ZipFile} zip @param {Readable} output @param {AsyncIterable<ZipItem>} items */
async function fill (zip, output, items) {
  for await (const item of items) {
    await add(zip, output, item)
    if (output.destroyed) return
  }
  zip.end()
}

/**
 * @param {ZipFile} zip @param {Readable} output @param {ZipItem} item
 * @returns {Promise<void>} when the file is read, or the output is closed
 */
function add (zip, output, { path, modifiedAt, isCompressed = false, comment = '', open }) {
  /** @type {typeof open | null} */
  let opener = open
  return new Promise((resolve, reject) => {
    output.once('close', resolve)
    const options = {
      mtime: shownAs(modifiedAt), forceDosTimestamp: true, compress: !isCompressed, fileComment: comment
    }
    zip.addReadStreamLazy(path, options, (take) => {
      const opening = Promise.resolve(/** @type {typeof open} */ (opener)())
      // The zip keeps this function and all that it references.
      opener = null
      opening.then((stream) => {
        stream.once('end', resolve).once('error', reject).once('close', () => output.off('close', resolve))
        take(null, stream)
      }).catch(reject)
    })
  })
}

/** Times in a zip have no zone; these are UTC. @param {Date} time */
const shownAs = (time) => new Date(
  time.getUTCFullYear(),
  time.getUTCMonth(),
  time.getUTCDate(),
  time.getUTCHours(),
  time.getUTCMinutes(),
  time.getUTCSeconds()
)
