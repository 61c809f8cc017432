import createError from '@fastify/error'
import { Broken, Bytes } from './bytes.js'
import { parseGif } from './gif.js'
import { parseJpeg } from './jpeg.js'
import { parsePng } from './png.js'
import { parseWebp } from './webp.js'

/** @typedef {{type: string, extension: string, width: number, height: number}} Image  width and height in pixels */
/** @typedef {(size: {width: number, height: number}) => void} AcceptSize  throws when it is too large */
/** @typedef {(bytes: Bytes, acceptSize: AcceptSize) => Promise<void>} Parser  throws Broken */

export const NotAnImage = createError('WIKI_NOT_AN_IMAGE', 'This file is not a picture that the wiki can show. ' +
  'Send a PNG, JPEG, WebP or GIF file. The wiki looks at what is in the file, not at its name.', 415)
const BrokenImage = createError('WIKI_BROKEN_IMAGE', 'This %s is damaged: %s. ' +
  'Save it again as PNG, JPEG, WebP or GIF with a program for pictures, and send that.', 415)
const TooManyPixels = createError('WIKI_TOO_MANY_PIXELS', 'The picture has %d × %d pixels; ' +
  'at most %d million are taken, so that every browser can show it. Make it smaller.', 413)

export const PIXELS_MAX = 50_000_000
const SIGNATURE_BYTES = 12
const RIFF_FORM_AT = 8

/** `form`: of a RIFF file, which may also be sound. */
/** @type {{name: string, type: string, extension: string, signature: string, form?: string, parse: Parser}[]} */
const KINDS = [
  { name: 'PNG', type: 'image/png', extension: 'png', signature: '\x89PNG\r\n\x1a\n', parse: parsePng },
  { name: 'JPEG', type: 'image/jpeg', extension: 'jpg', signature: '\xff\xd8\xff', parse: parseJpeg },
  { name: 'WebP', type: 'image/webp', extension: 'webp', signature: 'RIFF', form: 'WEBP', parse: parseWebp },
  { name: 'GIF', type: 'image/gif', extension: 'gif', signature: 'GIF8', parse: parseGif }
]

/** Bytes behind the end could hold a page or an archive, which browsers and unpackers would find. */
export function inspectImage () {
  const bytes = new Bytes()
  /** @type {Image | undefined} */
  let image
  const parsed = parse(bytes, (found) => { image = found })
  // `feed` and `end` report the error.
  parsed.catch(() => {})
  return {
    /** @param {Buffer} piece @returns {Promise<Buffer>} what belongs to the picture @throws {Error} 413, 415 */
    async feed (piece) {
      if (image !== undefined) return piece.subarray(0, 0)
      await Promise.race([bytes.feed(piece), parsed])
      return image === undefined ? piece : piece.subarray(0, piece.length - bytes.left)
    },

    /** Also of an upload that broke off. */
    stop () { bytes.end() },

    /** @throws {Error} 413, 415 */
    async end () {
      bytes.end()
      await parsed
      return /** @type {Image} */ (image)
    }
  }
}

/** @param {Bytes} bytes @param {(image: Image) => void} onEnd  called at once: no later piece counts as a part */
async function parse (bytes, onEnd) {
  const head = await bytes.peek(SIGNATURE_BYTES).catch(() => Buffer.alloc(0))
  const start = head.toString('latin1')
  const kind = KINDS.find(({ signature, form = '' }) =>
    start.startsWith(signature) && start.startsWith(form, RIFF_FORM_AT))
  if (kind === undefined) throw new NotAnImage()
  const { name, type, extension, parse: read } = kind
  let size = { width: 0, height: 0 }
  try {
    await read(bytes, ({ width, height }) => {
      if (width === 0 || height === 0) throw new Broken('it has no size')
      if (width * height > PIXELS_MAX) throw new TooManyPixels(width, height, PIXELS_MAX / 1_000_000)
      size = { width, height }
    })
  } catch (error) {
    throw error instanceof Broken ? new BrokenImage(name, error.message) : error
  }
  onEnd({ type, extension, ...size })
}
