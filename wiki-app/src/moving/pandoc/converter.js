import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { cpuTimeMs } from './cpu-time.js'
import { createFrameReader, frameOf } from './frames.js'

/** @typedef {{kind: 'link' | 'picture', target: string}} Question */
/** @typedef {{page?: string, href?: string}} Answer  `page`: between `[[` and `]]`; `href`: of a Markdown link */
/** @typedef {{cpuMs: number, memoryMib: number, outputBytes: number}} Limits  of one text */
/** `refused`: why the text is not converted. @typedef {{content: string, tags: string[]} | {refused: string}} Result */
/**
 * `results`: of each text; `refused`: why none is converted; `died`: why pandoc is not there any more.
 * @typedef {{results: Result[]} | {refused: string} | {died: string}} Outcome
 */

const SCRIPT = fileURLToPath(new URL('convert.lua', import.meta.url))
const CHECK_INTERVAL_MS = 100
/** A machine that does other things gives little processor time. Also where the system does not say how much it was. */
const WALL_FACTOR = 20
const START_MAX_MS = 60_000
const CLOSE_MAX_MS = 2_000
/** A process keeps some memory of each text: one that had many would reach its limit. */
const TEXTS_MAX = 1_000
const STDERR_MAX_CHARS = 1_000
/** Of GHC: https://downloads.haskell.org/ghc/latest/docs/users_guide/runtime_control.html */
const EXIT_OUT_OF_MEMORY = 251

/** A running pandoc, and what takes its words. @typedef {ReturnType<typeof startPandoc>} Running */

/** @param {{command: string, from: string, limits: Limits}} options */
function startPandoc ({ command, from, limits }) {
  const args = ['+RTS', `-M${limits.memoryMib}m`, '-A64m', '-RTS', 'lua', SCRIPT, from]
  // No settings of pandoc, no folder of its user.
  const child = spawn(command, args, { env: { LANG: 'C.UTF-8' }, stdio: ['pipe', 'pipe', 'pipe'] })
  let stderr = ''
  child.stderr.setEncoding('utf8').on('data', (text) => { stderr = (stderr + text).slice(-STDERR_MAX_CHARS) })
  // It may have died.
  child.stdin.on('error', () => {})
  const running = {
    child,
    ready: false,
    hasEnded: false,
    /** @type {(frame: string) => void} */
    onFrame: () => {},
    /** @type {(outcome: Outcome) => void} */
    onEnd: () => {},
    ended: Promise.resolve()
  }
  running.ended = new Promise((resolve) => {
    const end = (/** @type {Outcome} */ outcome) => {
      running.hasEnded = true
      running.onEnd(outcome)
      resolve()
    }
    child.once('error', (error) => end({ died: error.message }))
    child.once('close', (code, signal) => end(code === EXIT_OUT_OF_MEMORY
      ? { refused: `converting it takes more than ${limits.memoryMib} MiB of memory` }
      : { died: stderr.trim() || `it ended with ${signal ?? code}` }))
  })
  child.stdout.on('data', createFrameReader({
    maxBytes: limits.outputBytes,
    onFrame: (text) => running.onFrame(text),
    onTooLong () {
      running.onEnd({ refused: `its Markdown would be longer than ${limits.outputBytes} bytes` })
      child.kill('SIGKILL')
    }
  }))
  return running
}

/**
 * One process of pandoc that converts texts, some at a time. It starts with the first ones, and anew after a death.
 * @param {{command: string, from: string, limits: Limits}} options
 */
export function createConverter (options) {
  /** @type {Running | null} */
  let running = null
  let count = 0

  return {
    /**
     * @param {string[]} texts  that together have the limits of one
     * @param {object} settings  for convert.lua
     * @param {(questions: Question[]) => Answer[]} answer
     * @returns {Promise<Outcome & {started: boolean, cpuMs: number}>} `started`: whether pandoc and the script ran at
     *   all; `cpuMs`: 0 where the system does not say it
     */
    async convert (texts, settings, answer) {
      // A killed one must not answer to the next text.
      if (running === null || running.hasEnded || running.child.killed) {
        running = startPandoc(options)
        count = 0
      }
      const current = running
      const cpuBefore = current.ready ? cpuTimeMs(Number(current.child.pid)) : 0
      try {
        const outcome = await converse(current, { texts, settings, answer, limits: options.limits })
        const cpuAfter = cpuBefore === null || current.hasEnded ? null : cpuTimeMs(Number(current.child.pid))
        return { ...outcome, started: current.ready, cpuMs: Math.max(0, (cpuAfter ?? 0) - (cpuBefore ?? 0)) }
      } finally {
        current.onFrame = current.onEnd = () => {}
        count += texts.length
        if (count >= TEXTS_MAX) current.child.kill('SIGKILL')
      }
    },

    async close () {
      if (running === null || running.hasEnded) return
      const { child, ended } = running
      child.stdin.end()
      const timer = setTimeout(() => child.kill('SIGKILL'), CLOSE_MAX_MS)
      await ended
      clearTimeout(timer)
    }
  }
}

/**
 * @param {Running} running
 * @param {{texts: string[], settings: object, answer: (questions: Question[]) => Answer[], limits: Limits}} task
 * @returns {Promise<Outcome>}
 */
async function converse (running, { texts, settings, answer, limits }) {
  const { child } = running
  const send = (/** @type {string[]} */ ...frames) => child.stdin.write(Buffer.concat(frames.map(frameOf)))
  /** @type {NodeJS.Timeout | undefined} */
  let timer
  try {
    return await new Promise((resolve, reject) => {
      const begin = () => {
        running.ready = true
        clearTimeout(timer)
        timer = watch(child, limits, resolve)
        send(JSON.stringify({ ...settings, texts: texts.length }), ...texts)
      }
      /** @type {Result[]} */
      const results = []
      const add = (/** @type {Result} */ result) => {
        results.push(result)
        if (results.length === texts.length) resolve({ results })
      }
      /** @type {string[] | null} */
      let tags = null
      running.onEnd = resolve
      running.onFrame = (frame) => {
        try {
          if (tags !== null) {
            add({ content: frame, tags })
            tags = null
          } else if (frame === 'ready') begin()
          else if (frame[0] === '?') send(JSON.stringify(answer(JSON.parse(frame.slice(1)))))
          else if (frame[0] === '!') add({ refused: `pandoc cannot read it (${frame.slice(1)})` })
          else tags = JSON.parse(frame.slice(1))
        } catch (error) {
          // Of the caller's functions. pandoc still waits for an answer.
          child.kill('SIGKILL')
          reject(error)
        }
      }
      if (running.ready) begin()
      else timer = setTimeout(() => child.kill('SIGKILL'), START_MAX_MS)
    })
  } finally {
    clearTimeout(timer)
  }
}

/**
 * Kills a process that takes too long for a text.
 * @param {import('node:child_process').ChildProcess} child @param {Limits} limits
 * @param {(outcome: Outcome) => void} onKill
 */
function watch (child, { cpuMs }, onKill) {
  const pid = Number(child.pid)
  const [cpuBefore, wallBefore] = [cpuTimeMs(pid), performance.now()]
  return setInterval(() => {
    const now = cpuTimeMs(pid)
    const taken = cpuBefore === null || now === null ? 0 : now - cpuBefore
    if (taken <= cpuMs && performance.now() - wallBefore <= WALL_FACTOR * cpuMs) return
    onKill({ refused: `converting it takes more than ${cpuMs / 1000} s` })
    child.kill('SIGKILL')
  }, CHECK_INTERVAL_MS)
}
