import { crc32, deflateSync } from 'node:zlib'

/**
 * @param {string} type
 * @param {Buffer} data
 */
export function pngChunk (type, data) {
  const named = Buffer.concat([Buffer.from(type, 'latin1'), data])
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)]
  length.writeUInt32BE(data.length)
  sum.writeUInt32BE(crc32(named))
  return Buffer.concat([length, named, sum])
}

/**
 * Returns a grey PNG that every browser shows.
 * @param {number} [width]
 * @param {number} [height]
 * @param {number} [shade]  0 to 255
 */
export function png (width = 1, height = 1, shade = 128) {
  const header = Buffer.from([0, 0, 0, 0, 0, 0, 0, 0, 8, 0, 0, 0, 0])
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  // An image too large to be decoded needs only its header.
  const pixels = width * height > 1_000_000
    ? Buffer.alloc(0)
    : Buffer.alloc(height * (width + 1), shade).map((value, index) => index % (width + 1) === 0 ? 0 : value)
  return Buffer.concat([
    Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'),
    pngChunk('IHDR', header),
    pngChunk('IDAT', deflateSync(pixels)),
    pngChunk('IEND', Buffer.alloc(0))
  ])
}

/**
 * Returns a PNG of one pixel, filled to any length by a metadata chunk, as cameras and programs write them.
 * @param {number} bytes  of the whole file
 */
export function largePng (bytes, shade = 128) {
  const small = png(1, 1, shade)
  const note = pngChunk('noTe', Buffer.alloc(bytes - small.length - 12))
  return Buffer.concat([small.subarray(0, -12), note, small.subarray(-12)])
}

/**
 * Returns a grey JPEG, with metadata segments in front as cameras write them. Each block of 8 × 8 pixels has one code
 * for its grey and one for its end.
 * @param {number} width
 * @param {number} height
 * @param {number} [notes]  segments of 60,000 bytes
 */
export function jpeg (width, height, notes = 0) {
  const note = Buffer.concat([Buffer.from([0xff, 0xe1, 0xea, 0x62]), Buffer.alloc(60_000)])
  const quantisation = Buffer.concat([Buffer.from([0xff, 0xdb, 0, 67, 0]), Buffer.alloc(64, 1)])
  const frame = Buffer.from([0xff, 0xc0, 0, 11, 8, 0, 0, 0, 0, 1, 1, 0x11, 0])
  frame.writeUInt16BE(height, 5)
  frame.writeUInt16BE(width, 7)
  const codes = (/** @type {number} */ kind) => Buffer.from([0xff, 0xc4, 0, 20, kind, 1, ...Array(15).fill(0), 0])
  const scan = Buffer.from([0xff, 0xda, 0, 8, 1, 1, 0, 0, 63, 0])
  const bits = 2 * Math.ceil(width / 8) * Math.ceil(height / 8)
  const pixels = Buffer.alloc(Math.ceil(bits / 8))
  if (bits % 8 !== 0) pixels[pixels.length - 1] = 0xff >> bits % 8
  return Buffer.concat([
    Buffer.from([0xff, 0xd8]), ...Array.from({ length: notes }, () => note),
    quantisation, Buffer.from([0xff]), frame, codes(0), codes(0x10), scan, pixels,
    Buffer.from([0xff, 0xd9])
  ])
}

/**
 * @param {number} width  of the logical screen
 * @param {number} height
 * @param {number} [frameWidth]
 */
export function gif (width, height, frameWidth = width) {
  const bytes = Buffer.concat([
    Buffer.from('GIF89a\0\0\0\0\x80\0\0', 'latin1'),
    Buffer.from([0, 0, 0, 255, 255, 255]),
    Buffer.from([0x21, 0xfe, 3]),
    Buffer.from('abc\0'),
    Buffer.from([0x2c, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 2, 0x44, 1, 0, 0x3b])
  ])
  bytes.writeUInt16LE(width, 6)
  bytes.writeUInt16LE(height, 8)
  bytes.writeUInt16LE(frameWidth, 31)
  bytes.writeUInt16LE(height, 33)
  return bytes
}

/** One lossless pixel. https://developers.google.com/speed/webp/docs/webp_lossless_bitstream_specification */
const VP8L = Buffer.from('LwAAABAHEBERiIj+BwA=', 'base64')

/**
 * @param {'VP8 ' | 'VP8L' | 'VP8X'} kind
 * @param {number} width
 * @param {number} height
 */
export function webp (kind, width, height) {
  const lossless = Buffer.from(VP8L)
  lossless.writeUInt32LE(
    (lossless.readUInt32LE(1) & 0xf0000000) + ((width - 1) & 0x3fff) + (((height - 1) & 0x3fff) << 14) >>> 0,
    1
  )
  if (kind === 'VP8L') return riff(chunk('VP8L', lossless))
  const data = Buffer.alloc(kind === 'VP8X' ? 10 : 20)
  if (kind === 'VP8X') {
    data.writeUIntLE(width - 1, 4, 3)
    data.writeUIntLE(height - 1, 7, 3)
    return riff(chunk('VP8X', data), chunk('VP8L', lossless))
  }
  // A key frame with show_frame set and a first partition of 4 bytes (RFC 6386, section 9.1).
  data.writeUIntLE((4 << 5) + 0x10, 0, 3)
  data.writeUIntBE(0x9d012a, 3, 3)
  data.writeUInt16LE(width, 6)
  data.writeUInt16LE(height, 8)
  return riff(chunk('VP8 ', data))
}

/** @param {string} kind @param {Buffer} data */
export function chunk (kind, data) {
  const head = Buffer.alloc(8)
  head.write(kind, 'latin1')
  head.writeUInt32LE(data.length, 4)
  return Buffer.concat([head, data, Buffer.alloc(data.length % 2)])
}

/** @param {Buffer[]} chunks */
export function riff (...chunks) {
  const data = Buffer.concat([Buffer.from('WEBP'), ...chunks])
  return chunk('RIFF', data)
}
