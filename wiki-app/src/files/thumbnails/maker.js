import { spawn } from 'node:child_process'
import { pipeline } from 'node:stream/promises'
import { fileURLToPath } from 'node:url'
import { createLimit } from '../../process/limit.js'
import { EXIT } from './limits.js'

/** @import {Readable} from 'node:stream' */
/** @import {FastifyBaseLogger} from 'fastify' */

/** `refused`: why this picture has none. @typedef {{data: Buffer} | {refused: string}} Made */
/** @typedef {{cpuMaxMs: number, memoryMaxMib: number, wallMaxMs: number, bytesMax: number}} Limits */

const PROGRAM = fileURLToPath(new URL('program.js', import.meta.url))
/** The time on the clock is for a program that hangs, not for a busy machine. */
const LIMITS = { cpuMaxMs: 20_000, memoryMaxMib: 256, wallMaxMs: 600_000, bytesMax: 262_144 }
const AT_ONCE = 1
const WAITING_MAX = 100
const STDERR_MAX_CHARS = 300
/** systemd and terminals send these to all processes of the wiki at once. @type {Set<string | null>} */
const STOPS = new Set(['SIGHUP', 'SIGINT', 'SIGQUIT', 'SIGTERM'])
const CLOSES = 'the wiki closes'
const NO_DECODER = 'there is no decoder'

/** Nothing was made, and that says nothing about the picture: it may be asked for again. */
export class NotMade extends Error {}

/**
 * Makes thumbnails, each in a process of its own: a picture that breaks the decoder, or takes too much, ends that
 * process and not the wiki. It gets no settings, and the picture through standard input. It is no sandbox.
 * @param {object} options
 * @param {Pick<FastifyBaseLogger, 'warn'>} options.log
 * @param {Partial<Limits>} [options.limits]
 * @param {string} [options.program]  for tests
 */
export function createMaker ({ log, limits: given, program = PROGRAM }) {
  const limits = { ...LIMITS, ...given }
  const limit = createLimit(AT_ONCE)
  const closing = new AbortController()
  let isWithoutDecoder = false

  return {
    /**
     * @param {() => Promise<Readable>} open  the picture, when its turn has come
     * @returns {Promise<Made>}
     * @throws {NotMade} too many wait, the wiki closes, the process cannot start or has no decoder; errors of `open`
     */
    async make (open) {
      if (limit.waiting() >= WAITING_MAX) throw new NotMade(`${WAITING_MAX} others wait`)
      return limit.run(async () => {
        if (isWithoutDecoder) throw new NotMade(NO_DECODER)
        if (closing.signal.aborted) throw new NotMade(CLOSES)
        const { code, signal, data, stderr } = await runOn(await open(), program, limits, closing.signal)
        if (closing.signal.aborted || STOPS.has(signal)) throw new NotMade(CLOSES)
        if (code === EXIT.noDecoder) {
          isWithoutDecoder = true
          log.warn({ reason: stderr }, 'thumbnails cannot be made: sharp does not load')
          throw new NotMade(NO_DECODER)
        }
        return code === 0 && data !== null ? { data } : { refused: stderr || `it ended with ${signal ?? code}` }
      })
    },

    close () { closing.abort() }
  }
}

/**
 * @param {Readable} picture @param {string} program @param {Limits} limits @param {AbortSignal} closing
 * @returns {Promise<{code: number | null, signal: string | null, data: Buffer | null, stderr: string}>} `data`: null
 *   where it is too long or empty
 * @throws {NotMade} it cannot start; errors of `picture`
 */
async function runOn (picture, program, { cpuMaxMs, memoryMaxMib, wallMaxMs, bytesMax }, closing) {
  const args = ['--max-old-space-size=64', program, String(cpuMaxMs), String(memoryMaxMib)]
  const child = spawn(process.execPath, args, { env: {}, stdio: ['pipe', 'pipe', 'pipe'] })
  const ended = new Promise((resolve, reject) => {
    // At once: an error that nothing listens to would end the wiki.
    child.once('error', (error) => reject(new NotMade(`the process cannot start: ${error.message}`)))
    child.once('close', (code, signal) => resolve({ code, signal }))
  })
  const kill = () => { child.kill('SIGKILL') }
  const timer = setTimeout(kill, wallMaxMs)
  closing.addEventListener('abort', kill, { once: true })
  if (closing.aborted) kill()
  try {
    // Without a free file descriptor it has not even its pipes.
    if (child.pid === undefined) return await ended
    const failed = feed(picture, child.stdin, kill)
    /** @type {Buffer[]} */
    const pieces = []
    let bytes = 0
    let stderr = ''
    child.stdout.on('data', (piece) => {
      bytes += piece.length
      if (bytes > bytesMax) kill()
      else pieces.push(piece)
    })
    child.stderr.setEncoding('utf8').on('data', (text) => { stderr = (stderr + text).slice(0, STDERR_MAX_CHARS) })
    const { code, signal } = await ended
    failed.throwIfAborted()
    return { code, signal, data: bytes > 0 && bytes <= bytesMax ? Buffer.concat(pieces) : null, stderr: stderr.trim() }
  } finally {
    clearTimeout(timer)
    closing.removeEventListener('abort', kill)
    // It may have no end, as when its place hangs.
    picture.destroy()
  }
}

/**
 * The process may end before it has read everything, which is no error.
 * @param {Readable} picture @param {import('node:stream').Writable} stdin @param {() => void} kill
 * @returns {AbortSignal} aborted, and the process killed, once the picture cannot be read
 */
function feed (picture, stdin, kill) {
  const failure = new AbortController()
  async function * pieces () {
    try {
      yield * picture
    } catch (error) {
      failure.abort(error)
      kill()
      throw error
    }
  }
  pipeline(pieces, stdin).catch(() => {})
  return failure.signal
}

/** @typedef {ReturnType<typeof createMaker>} Maker */
