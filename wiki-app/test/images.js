import { crc32, deflateSync } from 'node:zlib'

/**
 * @param {string} type
 * @param {Buffer} data
 */
function pngChunk (type, data) {
  const named = Buffer.concat([Buffer.from(type, 'latin1'), data])
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)]
  length.writeUInt32BE(data.length)
  sum.writeUInt32BE(crc32(named))
  return Buffer.concat([length, named, sum])
}

/**
 * A grey picture that every browser shows.
 * @param {number} [width]
 * @param {number} [height]
 * @param {number} [shade]  0 to 255
 */
export function png (width = 1, height = 1, shade = 128) {
  const header = Buffer.from([0, 0, 0, 0, 0, 0, 0, 0, 8, 0, 0, 0, 0])
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  // Of one that nobody should decode the header is enough.
  const pixels = width * height > 1_000_000 ? Buffer.alloc(0) : Buffer.alloc(height * (width + 1), shade).map((value, index) => index % (width + 1) === 0 ? 0 : value)
  return Buffer.concat([Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), pngChunk('IHDR', header), pngChunk('IDAT', deflateSync(pixels)), pngChunk('IEND', Buffer.alloc(0))])
}

/**
 * A JPEG as far as its frame header, behind notes as cameras write them.
 * @param {number} width
 * @param {number} height
 * @param {number} [notes]  segments of 60,000 bytes
 */
export function jpeg (width, height, notes = 0) {
  const note = Buffer.concat([Buffer.from([0xff, 0xe1, 0xea, 0x62]), Buffer.alloc(60_000)])
  const frame = Buffer.from([0xff, 0xc2, 0, 11, 8, 0, 0, 0, 0, 1, 1, 0x11, 0])
  frame.writeUInt16BE(height, 5)
  frame.writeUInt16BE(width, 7)
  return Buffer.concat([Buffer.from([0xff, 0xd8]), ...Array.from({ length: notes }, () => note), Buffer.from([0xff]), frame, Buffer.from([0xff, 0xd9])])
}

/**
 * @param {number} width  of the screen
 * @param {number} height
 * @param {number} [frameWidth]
 */
export function gif (width, height, frameWidth = width) {
  const bytes = Buffer.concat([
    Buffer.from('GIF89a\0\0\0\0\x80\0\0', 'latin1'), Buffer.from([0, 0, 0, 255, 255, 255]), Buffer.from([0x21, 0xfe, 3]), Buffer.from('abc\0'),
    Buffer.from([0x2c, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 2, 0x44, 1, 0, 0x3b])
  ])
  bytes.writeUInt16LE(width, 6)
  bytes.writeUInt16LE(height, 8)
  bytes.writeUInt16LE(frameWidth, 31)
  bytes.writeUInt16LE(height, 33)
  return bytes
}

/**
 * @param {'VP8 ' | 'VP8L' | 'VP8X'} kind
 * @param {number} width
 * @param {number} height
 */
export function webp (kind, width, height) {
  const bytes = Buffer.alloc(40)
  bytes.write('RIFF', 0, 'latin1')
  bytes.writeUInt32LE(32, 4)
  bytes.write(`WEBP${kind}`, 8, 'latin1')
  if (kind === 'VP8X') {
    bytes.writeUIntLE(width - 1, 24, 3)
    bytes.writeUIntLE(height - 1, 27, 3)
  } else if (kind === 'VP8L') {
    bytes[20] = 0x2f
    bytes.writeUInt32LE((width - 1) + ((height - 1) << 14), 21)
  } else {
    bytes.writeUIntBE(0x9d012a, 23, 3)
    bytes.writeUInt16LE(width, 26)
    bytes.writeUInt16LE(height, 28)
  }
  return bytes
}
