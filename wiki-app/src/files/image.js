import { crc32 } from 'node:zlib'

/** @typedef {{type: string, extension: string, width: number, height: number}} Image  width and height in pixels */

/** How much of a picture's beginning is looked at; cameras put kilobytes of notes before the size. */
export const HEAD_MAX_BYTES = 262_144

/** Bits per sample that each colour type can have (PNG §11.2.1). */
const PNG_DEPTHS = new Map([[0, [1, 2, 4, 8, 16]], [2, [8, 16]], [3, [1, 2, 4, 8]], [4, [8, 16]], [6, [8, 16]]])

/**
 * What a picture is, by its own bytes.
 * @param {Buffer} head  its beginning; HEAD_MAX_BYTES are enough
 * @returns {Image | null} null when it is none of PNG, JPEG, WebP and GIF, or begins unlike one that can be shown
 */
export function readImage (head) {
  for (const [type, extension, sizeOf] of READERS) {
    const size = sizeOf(head)
    if (size !== null) return size.width > 0 && size.height > 0 ? { type, extension, ...size } : null
  }
  return null
}

/** @typedef {(head: Buffer) => {width: number, height: number} | null} SizeReader  null when it is not of this type */

/** @type {[string, string, SizeReader][]} */
const READERS = [
  ['image/png', 'png', pngSize],
  ['image/jpeg', 'jpg', jpegSize],
  ['image/webp', 'webp', webpSize],
  ['image/gif', 'gif', gifSize]
]

/** @type {SizeReader} https://www.w3.org/TR/png-3/#11IHDR */
function pngSize (head) {
  if (head.length < 33 || head.toString('latin1', 0, 16) !== '\x89PNG\r\n\x1a\n\0\0\0\rIHDR') return null
  const [depth, colour, compression, filter, interlace] = head.subarray(24, 29)
  if (!PNG_DEPTHS.get(colour)?.includes(depth) || compression !== 0 || filter !== 0 || interlace > 1) return null
  return crc32(head.subarray(12, 29)) === head.readUInt32BE(29) ? { width: head.readUInt32BE(16), height: head.readUInt32BE(20) } : null
}

/** @type {SizeReader} ITU-T T.81 §B.2: segments up to the frame header. */
function jpegSize (head) {
  if (head.length < 4 || head.readUInt16BE(0) !== 0xffd8) return null
  for (let at = 2; at + 9 <= head.length && head[at] === 0xff;) {
    const marker = head[at + 1]
    if (marker === 0xff) {
      at++
    } else if (marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker)) {
      return { width: head.readUInt16BE(at + 7), height: head.readUInt16BE(at + 5) }
    } else if (marker < 0xc0 || (marker >= 0xd0 && marker <= 0xda)) {
      return null
    } else {
      at += 2 + Math.max(2, head.readUInt16BE(at + 2))
    }
  }
  return null
}

/** @type {SizeReader} RFC 9649 §2: the canvas of an extended file, or the only frame. */
function webpSize (head) {
  if (head.length < 30 || head.toString('latin1', 0, 4) !== 'RIFF') return null
  switch (head.toString('latin1', 8, 16)) {
    case 'WEBPVP8X': return { width: head.readUIntLE(24, 3) + 1, height: head.readUIntLE(27, 3) + 1 }
    case 'WEBPVP8L': return head[20] === 0x2f ? { width: (head.readUInt32LE(21) & 0x3fff) + 1, height: (head.readUInt32LE(21) >>> 14 & 0x3fff) + 1 } : null
    case 'WEBPVP8 ': return head.readUIntBE(23, 3) === 0x9d012a ? { width: head.readUInt16LE(26) & 0x3fff, height: head.readUInt16LE(28) & 0x3fff } : null
    default: return null
  }
}

/** @type {SizeReader} https://www.w3.org/Graphics/GIF/spec-gif89a.txt: browsers make the screen as large as the first frame. */
function gifSize (head) {
  if (head.length < 13 || !/^GIF8[79]a/.test(head.toString('latin1', 0, 6))) return null
  let at = 13 + (head[10] & 0x80 ? 3 << (head[10] & 7) + 1 : 0)
  while (head[at] === 0x21) {
    at += 2
    while (head[at] > 0) at += head[at] + 1
    at++
  }
  if (head[at] !== 0x2c || at + 10 > head.length) return null
  return {
    width: Math.max(head.readUInt16LE(6), head.readUInt16LE(at + 1) + head.readUInt16LE(at + 5)),
    height: Math.max(head.readUInt16LE(8), head.readUInt16LE(at + 3) + head.readUInt16LE(at + 7))
  }
}
