import { Broken } from './bytes.js'

const NO_JPEG = 'its header has values that JPEG does not know'

const SOI = 0xd8
const EOI = 0xd9
const SOS = 0xda
const DHT = 0xc4
const DQT = 0xdb
const DAC = 0xcc
const JPG = 0xc8
const isRestart = (/** @type {number} */ marker) => marker >= 0xd0 && marker <= 0xd7
const isFrame = (/** @type {number} */ marker) => marker >= 0xc0 && marker <= 0xcf && ![DHT, JPG, DAC].includes(marker)
/** Not lossless or in layers (SOF3 on), not arithmetic (SOF9 on): browsers do not read these. */
const SHOWN = [0xc0, 0xc1, 0xc2]

/** ITU-T T.81 §B.1, §B.2 @type {import('./image.js').Parser} */
export async function parseJpeg (bytes, acceptSize) {
  await bytes.read(2)
  /** @type {Set<number> | undefined} */
  let components
  let [tables, codes, scans] = [false, false, 0]
  for (let marker = await nextMarker(bytes); marker !== EOI;) {
    if (marker === SOI || isRestart(marker) || marker < 0xc0) throw new Broken('its segments are in no order')
    const length = (await bytes.read(2)).readUInt16BE(0) - 2
    if (length < 0) throw new Broken('a segment has no length')
    if (isFrame(marker)) {
      if (components !== undefined) throw new Broken('it has two frames')
      if (!SHOWN.includes(marker)) throw new Broken('browsers do not know its coding')
      components = frameOf(await bytes.read(length), acceptSize)
    } else if (marker === SOS) {
      if (components === undefined || !tables || !codes) throw new Broken('its pixels come before what they need')
      checkScan(await bytes.read(length), components)
      await bytes.pass(passScan)
      scans++
    } else {
      tables ||= marker === DQT && length >= 65
      codes ||= marker === DHT && length >= 18
      await bytes.skip(length)
    }
    marker = await nextMarker(bytes)
  }
  if (scans === 0) throw new Broken('it has no pixels')
}

/** @param {import('./bytes.js').Bytes} bytes */
async function nextMarker (bytes) {
  let [byte] = await bytes.read(1)
  if (byte !== 0xff) throw new Broken('its segments are in no order')
  while (byte === 0xff) [byte] = await bytes.read(1)
  return byte
}

/** @param {Buffer} frame @param {import('./image.js').AcceptSize} acceptSize */
function frameOf (frame, acceptSize) {
  const count = frame[5]
  const isWhole = frame.length >= 6 && frame.length === 6 + 3 * count && [1, 3, 4].includes(count)
  if (!isWhole || ![8, 12].includes(frame[0])) throw new Broken(NO_JPEG)
  acceptSize({ width: frame.readUInt16BE(3), height: frame.readUInt16BE(1) })
  const numbers = new Set()
  for (let at = 6; at < frame.length; at += 3) {
    const [across, down] = [frame[at + 1] >> 4, frame[at + 1] & 15]
    if (across < 1 || across > 4 || down < 1 || down > 4 || frame[at + 2] > 3) throw new Broken(NO_JPEG)
    numbers.add(frame[at])
  }
  if (numbers.size !== count) throw new Broken(NO_JPEG)
  return numbers
}

/** @param {Buffer} scan @param {Set<number>} components */
function checkScan (scan, components) {
  const count = scan[0]
  const isWhole = scan.length > 0 && scan.length === 4 + 2 * count && count >= 1 && count <= components.size
  if (!isWhole) throw new Broken('the header of a scan is incomplete')
  for (let at = 1; at <= 2 * count; at += 2) {
    if (!components.has(scan[at])) throw new Broken('a scan names a component that the picture does not have')
  }
}

/** In entropy-coded data 00 follows each FF. @param {Buffer} unread */
function passScan (unread) {
  for (let at = unread.indexOf(0xff); at !== -1; at = unread.indexOf(0xff, at)) {
    const next = unread[at + 1]
    if (next === undefined) return { read: at, done: false }
    if (next !== 0 && next !== 0xff && !isRestart(next)) return { read: at, done: true }
    at += next === 0xff ? 1 : 2
  }
  return { read: unread.length, done: false }
}
