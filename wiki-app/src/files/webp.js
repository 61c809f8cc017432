import { Broken } from './bytes.js'

/** @import {Bytes} from './bytes.js' */

const FRAME_BYTES = 16

/** @typedef {{width: number, height: number}} Size */

/** The chunks' lengths add up to the file's. RFC 9649 §2 @type {import('./image.js').Parser} */
export async function parseWebp (bytes, acceptSize) {
  const file = await bytes.read(12)
  if (file.toString('latin1', 8) !== 'WEBP') throw new Broken('it holds something else')
  let left = file.readUInt32LE(4) - 4
  if (left % 2 !== 0) throw new Broken('its length is odd')
  /** @type {Size | undefined} */
  let canvas
  let [first, pictures] = [true, 0]
  while (left > 0) {
    if (left < 8) throw new Broken('its chunks do not fill it')
    const head = await bytes.read(8)
    const [kind, length] = [head.toString('latin1', 0, 4), head.readUInt32LE(4)]
    const padded = length + length % 2
    left -= 8 + padded
    if (left < 0) throw new Broken('a chunk is longer than the file')
    const size = SIZES[kind] && await SIZES[kind](bytes, length)
    if (first) {
      if (size === undefined || kind === 'ANMF') throw new Broken('it does not begin with a picture')
      acceptSize(size)
      canvas = size
    } else if (kind === 'VP8X' || (size !== undefined && !fits(size, /** @type {Size} */ (canvas), kind))) {
      throw new Broken('its parts do not fit together')
    }
    if (size !== undefined && kind !== 'VP8X') pictures++
    first = false
    await bytes.skip(padded - (size === undefined ? 0 : READ_BYTES[kind]))
  }
  if (pictures === 0) throw new Broken('it has no pixels')
}

/** @param {Size} size @param {Size} canvas @param {string} kind */
const fits = ({ width, height }, canvas, kind) =>
  kind === 'ANMF'
    ? width <= canvas.width && height <= canvas.height
    : width === canvas.width && height === canvas.height

/** @type {Record<string, number>} */
const READ_BYTES = { VP8X: 10, VP8L: 5, 'VP8 ': 10, ANMF: FRAME_BYTES }

/** @type {Record<string, (bytes: Bytes, length: number) => Promise<Size>>} */
const SIZES = {
  async VP8X (bytes, length) {
    const data = await beginning(bytes, 'VP8X', length)
    return { width: data.readUIntLE(4, 3) + 1, height: data.readUIntLE(7, 3) + 1 }
  },
  // RFC 9649 §3.4: 14 bits each for width and height, 1 for alpha, 3 for the version: 0.
  async VP8L (bytes, length) {
    const data = await beginning(bytes, 'VP8L', length)
    const bits = data.readUInt32LE(1)
    if (data[0] !== 0x2f || bits >>> 29 !== 0) throw new Broken('its pixels cannot be unpacked')
    return { width: (bits & 0x3fff) + 1, height: (bits >>> 14 & 0x3fff) + 1 }
  },
  // RFC 6386 §9.1: a key frame that contains its first partition.
  async 'VP8 ' (bytes, length) {
    const data = await beginning(bytes, 'VP8 ', length)
    const tag = data.readUIntLE(0, 3)
    const isKey = (tag & 1) === 0 && data.readUIntBE(3, 3) === 0x9d012a
    if (!isKey || tag >>> 5 > length - READ_BYTES['VP8 ']) throw new Broken('its pixels cannot be unpacked')
    return { width: data.readUInt16LE(6) & 0x3fff, height: data.readUInt16LE(8) & 0x3fff }
  },
  async ANMF (bytes, length) {
    const data = await beginning(bytes, 'ANMF', length)
    const [left, top] = [2 * data.readUIntLE(0, 3), 2 * data.readUIntLE(3, 3)]
    return { width: left + data.readUIntLE(6, 3) + 1, height: top + data.readUIntLE(9, 3) + 1 }
  }
}

/** @param {Bytes} bytes @param {string} kind @param {number} length */
function beginning (bytes, kind, length) {
  if (length < READ_BYTES[kind]) throw new Broken(`its chunk ${kind.trim()} is too short`)
  return bytes.read(READ_BYTES[kind])
}
