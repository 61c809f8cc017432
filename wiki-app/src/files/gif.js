import { Broken } from './bytes.js'

const EXTENSION = 0x21
const FRAME = 0x2c
const TRAILER = 0x3b

/** https://www.w3.org/Graphics/GIF/spec-gif89a.txt @type {import('./image.js').Parser} */
export async function parseGif (bytes, acceptSize) {
  const screen = await bytes.read(13)
  if (!['GIF87a', 'GIF89a'].includes(screen.toString('latin1', 0, 6))) throw new Broken('its version is unknown')
  await bytes.skip(tableBytes(screen[10]))
  let frames = 0
  for (;;) {
    const [kind] = await bytes.read(1)
    if (kind === TRAILER) break
    if (kind === EXTENSION) {
      await bytes.read(1)
    } else if (kind === FRAME) {
      const frame = await bytes.read(9)
      // Browsers enlarge the screen to the first frame's size.
      const size = {
        width: Math.max(screen.readUInt16LE(6), frame.readUInt16LE(0) + frame.readUInt16LE(4)),
        height: Math.max(screen.readUInt16LE(8), frame.readUInt16LE(2) + frame.readUInt16LE(6))
      }
      if (frames++ === 0) acceptSize(size)
      await bytes.skip(tableBytes(frame[8]))
      const [codeBits] = await bytes.read(1)
      if (codeBits < 1 || codeBits > 8) throw new Broken('its pixels cannot be unpacked')
    } else {
      throw new Broken('its blocks are in no order')
    }
    const dataBytes = await skipSubBlocks(bytes)
    if (kind === FRAME && dataBytes === 0) throw new Broken('a frame has no pixels')
  }
  if (frames === 0) throw new Broken('it has no pixels')
}

/** @param {number} flags  of the screen or of a frame */
const tableBytes = (flags) => flags & 0x80 ? 3 << (flags & 7) + 1 : 0

/** @param {import('./bytes.js').Bytes} bytes */
async function skipSubBlocks (bytes) {
  let sum = 0
  await bytes.pass((unread) => {
    let at = 0
    for (; at < unread.length && at + unread[at] < unread.length; at += 1 + unread[at]) {
      if (unread[at] === 0) return { read: at + 1, done: true }
      sum += unread[at]
    }
    return { read: at, done: false }
  })
  return sum
}
