import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { ROOT } from '../config.js'
import { ToolError } from './locate.js'

/**
 * A third of the CPU share of other commands (sched(7)). With the lowest priority a command starves beside four busy
 * programs: npm did nothing for five minutes.
 */
const NICENESS = 5
/** A Ctrl-C at the terminal also reaches the command: it has this time to end by itself and clean up. */
const INTERRUPTED_MS = 2_000

/**
 * Runs a command of set-up with its output in a log. Rejects with the end of the output if the command fails.
 * @typedef {(command: string, args: string[], env?: Record<string, string>) => Promise<void>} Runner
 */

/**
 * @param {string} logFile  gets all output
 * @param {object} [options]
 * @param {AbortSignal} [options.signal]  stops the command
 * @param {boolean} [options.lowPriority]  true: the command runs with a lower CPU priority
 * @returns {Runner}
 */
export function createRunner (logFile, { signal, lowPriority = false } = {}) {
  return async (command, args, env = {}) => {
    signal?.throwIfAborted()
    const [program, ...rest] = lowPriority ? ['nice', '-n', String(NICENESS), command, ...args] : [command, ...args]
    const options = { cwd: ROOT, env: { ...process.env, ...env } }
    const child = spawn(program, rest, { ...options, stdio: ['ignore', 'pipe', 'pipe'] })
    /** @type {NodeJS.Timeout | undefined} */
    let timer
    const stop = () => { timer = setTimeout(() => child.kill('SIGINT'), INTERRUPTED_MS) }
    signal?.addEventListener('abort', stop, { once: true })
    let tail = ''
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (/** @type {Buffer} */ chunk) => {
        writeFileSync(logFile, chunk, { flag: 'a' })
        tail = (tail + chunk).slice(-2_000)
      })
    }
    const ended = new Promise((resolve, reject) => child.once('error', reject).once('close', resolve))
    const code = await ended.finally(() => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', stop)
    })
    signal?.throwIfAborted()
    if (code === 0) return
    const end = tail.trimEnd().split('\n').slice(-8).join('\n')
    const log = path.relative(process.cwd(), logFile)
    const shown = [command, ...args.slice(0, 2)].join(' ')
    throw new ToolError(`${shown} failed (exit code ${code}), all of its output is in ${log}:\n${end}`)
  }
}
