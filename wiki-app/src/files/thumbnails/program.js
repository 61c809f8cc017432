// A process of its own, see maker.js: a picture on standard input, its thumbnail on standard output.
import { writeFileSync } from 'node:fs'
import { setPriority } from 'node:os'
import { buffer } from 'node:stream/consumers'
import { PIXELS_MAX } from '../image.js'
import { BOX, EXIT } from './limits.js'

/** @import {Metadata, Sharp} from 'sharp' */

/** What shows a picture: https://sharp.pixelplumbing.com/api-utility/#block */
const LOADERS = ['VipsForeignLoadJpeg', 'VipsForeignLoadPng', 'VipsForeignLoadWebp', 'VipsForeignLoadNsgif']
const QUALITY = 75
/** Of those that are decoded as a whole: about five bytes each. */
const WHOLE_PIXELS_MAX = 24_000_000
const NICE = 10
const FIRST_TO_BE_KILLED = '1000'
const CHECK_INTERVAL_MS = 50
const MIB = 1_048_576

const [cpuMaxMs, memoryMaxMib] = process.argv.slice(2).map(Number)

/** A decoder works in threads of its own, so this one can look at what it takes. */
setInterval(() => {
  const { user, system } = process.cpuUsage()
  if ((user + system) / 1_000 > cpuMaxMs) breakOff(`more than ${cpuMaxMs} ms of processor time`)
  if (process.memoryUsage.rss() > memoryMaxMib * MIB) breakOff(`more than ${memoryMaxMib} MiB of memory`)
}, CHECK_INTERVAL_MS).unref()

const { default: sharp } = await import('sharp').catch((error) => end(EXIT.noDecoder, String(error)))
yieldToTheWiki()
sharp.concurrency(1)
sharp.cache(false)
sharp.block({ operation: ['VipsForeignLoad'] })
sharp.unblock({ operation: LOADERS })

try {
  const image = sharp(await buffer(process.stdin), {
    limitInputPixels: PIXELS_MAX, sequentialRead: true, failOn: 'truncated'
  })
  if (isTooLarge(await image.metadata())) end(EXIT.refused, 'too many pixels to be decoded as a whole')
  process.stdout.write(await thumbnailOf(image))
} catch (error) {
  end(EXIT.refused, String(error))
}

/** Page views come first; and where memory ends, Linux ends this process (proc_pid_oom_score_adj(5)). */
function yieldToTheWiki () {
  const steps = [() => setPriority(NICE), () => writeFileSync('/proc/self/oom_score_adj', FIRST_TO_BE_KILLED)]
  for (const step of steps) {
    try {
      step()
    } catch {
      // Another system than Linux, or a sandbox that forbids it.
    }
  }
}

/**
 * Others are decoded row by row. https://www.libvips.org/API/current/how-it-opens-files.html
 * @param {Metadata} metadata
 */
function isTooLarge ({ format, width, height, isProgressive = false, pages = 1, orientation = 1 }) {
  const isTurned = orientation > 1 && format !== 'jpeg'
  const isWhole = format === 'gif' || isProgressive || pages > 1 || isTurned
  return isWhole && width * height > WHOLE_PIXELS_MAX
}

/**
 * Upright, in sRGB, without the metadata, which may say where a photo was taken; of an animation its first frame.
 * @param {Sharp} image @returns {Promise<Buffer>} WebP
 */
function thumbnailOf (image) {
  return image
    .autoOrient()
    .resize({ width: BOX, height: BOX, fit: 'inside', withoutEnlargement: true })
    .webp({ quality: QUALITY })
    .toBuffer()
}

/** An exit would wait for the decoder, which of a PNG one pixel high takes gigabytes meanwhile. @param {string} why */
function breakOff (why) {
  process.stderr.write(`${why}\n`)
  process.kill(process.pid, 'SIGKILL')
}

/** @param {number} code @param {string} why @returns {never} */
function end (code, why) {
  process.stderr.write(`${why}\n`)
  process.exit(code)
}
