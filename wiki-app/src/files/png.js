import { once } from 'node:events'
import { crc32, createInflate } from 'node:zlib'
import { Broken } from './bytes.js'

/** By colour type: samples of a pixel, possible bits of a sample (PNG §11.2.1). */
const COLOURS = new Map([
  [0, [1, 1, 2, 4, 8, 16]], [2, [3, 8, 16]], [3, [1, 1, 2, 4, 8]], [4, [2, 8, 16]], [6, [4, 8, 16]]
])
const PALETTE = 3
/** Start (x, y) and steps (x, y) of each interlace pass (PNG §8.2). */
const PASSES = [[0, 0, 8, 8], [4, 0, 8, 8], [0, 4, 4, 8], [2, 0, 4, 4], [0, 2, 2, 4], [1, 0, 2, 2], [0, 1, 1, 2]]
/** Encoders write some hundred; a million tiny ones would block the process. */
const CHUNKS_MAX = 20_000
const OUTPUT_CHUNK_BYTES = 262_144
const NO_ORDER = 'its chunks are in no order'
const ONCE = new Set(['IHDR', 'PLTE', 'IEND'])

/**
 * Unpacks the pixels, in zlib's threads, to count them.
 * https://www.w3.org/TR/png-3/
 * @type {import('./image.js').Parser}
 */
export async function parsePng (bytes, acceptSize) {
  await bytes.read(8)
  /** @type {ReturnType<typeof unpack> | undefined} */
  let pixels
  let pixelsEnded = false
  let hasPalette = false
  /** @type {Header | undefined} */
  let header
  const seen = new Set()
  try {
    for (let chunks = 1; ; chunks++) {
      if (chunks > CHUNKS_MAX) throw new Broken('it has too many chunks')
      const head = await bytes.read(8)
      const [length, type] = [head.readUInt32BE(0), head.toString('latin1', 4)]
      if (!/^[A-Za-z]{4}$/.test(type) || length > 0x7fffffff) throw new Broken('a chunk has no name')
      const isFirst = header === undefined
      if (isFirst !== (type === 'IHDR') || (ONCE.has(type) && seen.has(type))) throw new Broken(NO_ORDER)
      seen.add(type)
      let sum = crc32(head.subarray(4))
      const data = ['IHDR', 'PLTE'].includes(type) ? await bytes.read(Math.min(length, 769)) : undefined
      if (data !== undefined) sum = crc32(data, sum)
      if (type === 'IHDR') {
        header = headerOf(/** @type {Buffer} */ (data), length)
        acceptSize(header)
      } else if (type === 'PLTE') {
        if (length === 0 || length % 3 !== 0 || length > 768) throw new Broken('its palette has no whole colours')
        hasPalette = true
      } else if (type === 'IDAT') {
        if (pixelsEnded) throw new Broken(NO_ORDER)
        if (header?.colour === PALETTE && !hasPalette) throw new Broken('it has no palette')
        pixels ??= unpack(rawBytes(/** @type {Header} */ (header)))
        const { write } = pixels
        await bytes.skip(length, (piece) => { sum = crc32(piece, sum); return write(piece) })
      } else {
        if (pixels !== undefined) pixelsEnded = true
        // Lower case: a decoder may skip the chunk.
        if (type !== 'IEND' && type[0] < 'a') throw new Broken(`nobody knows its chunk ${type}`)
        await bytes.skip(length, (piece) => { sum = crc32(piece, sum) })
      }
      if ((await bytes.read(4)).readUInt32BE(0) !== sum) throw new Broken(`the checksum of its chunk ${type} is wrong`)
      if (type === 'IEND') break
    }
    if (pixels === undefined) throw new Broken('it has no pixels')
    await pixels.end()
  } finally {
    pixels?.close()
  }
}

/** @typedef {{width: number, height: number, colour: number, bitsPerPixel: number, interlaced: boolean}} Header */

/** @param {Buffer} data @param {number} length */
function headerOf (data, length) {
  if (length !== 13) throw new Broken('its header must have 13 bytes')
  const [depth, colour, compression, filter, interlace] = data.subarray(8, 13)
  const [samples, ...depths] = COLOURS.get(colour) ?? [0]
  const isPng = depths.includes(depth) && compression === 0 && filter === 0 && interlace <= 1
  if (!isPng) throw new Broken('its header has values that PNG does not know')
  const [width, height] = [data.readUInt32BE(0), data.readUInt32BE(4)]
  return { width, height, colour, bitsPerPixel: samples * depth, interlaced: interlace === 1 }
}

/** Each row begins with a filter byte. @param {Header} header */
function rawBytes ({ width, height, bitsPerPixel, interlaced }) {
  const rowBytes = (/** @type {number} */ columns) => columns === 0 ? 0 : 1 + Math.ceil(columns * bitsPerPixel / 8)
  const steps = (/** @type {number} */ length, /** @type {number} */ step) => Math.max(0, Math.ceil(length / step))
  if (!interlaced) return height * rowBytes(width)
  return PASSES.reduce((sum, [x, y, dx, dy]) => sum + steps(height - y, dy) * rowBytes(steps(width - x, dx)), 0)
}

/** @param {number} expectedBytes */
function unpack (expectedBytes) {
  const inflate = createInflate({ chunkSize: OUTPUT_CHUNK_BYTES })
  let [bytes, ended] = [0, false]
  /** @type {Error | undefined} */
  let failure
  const fail = (/** @type {string} */ reason) => {
    failure ??= new Broken(reason)
    inflate.destroy()
  }
  inflate.on('error', () => fail('its pixels cannot be unpacked'))
  inflate.on('data', (/** @type {Buffer} */ piece) => {
    bytes += piece.length
    if (bytes > expectedBytes) fail('it has more pixels than it says')
  })
  inflate.once('end', () => { ended = true })
  const closed = new Promise((resolve) => { inflate.once('close', resolve) })
  return {
    /** @param {Buffer} piece */
    async write (piece) {
      // Bytes behind the end hold no pixels.
      if (!ended && !failure && !inflate.write(piece)) {
        await Promise.race([once(inflate, 'drain').catch(() => {}), closed])
      }
      if (failure) throw failure
    },
    async end () {
      inflate.end()
      await closed
      if (failure) throw failure
      if (bytes !== expectedBytes) throw new Broken('it has fewer pixels than it says')
    },
    close () { inflate.destroy() }
  }
}
