import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { ROOT } from '../config.js'
import { ToolError } from './locate.js'

/**
 * A third of the share of what is waited for (sched(7)). The least share would be none beside four busy programs: npm
 * did nothing for five minutes.
 */
const NICENESS = 5
/** A terminal's Ctrl-C reaches the command as well, which then ends by itself and cleans up. */
const INTERRUPTED_MS = 2_000

/**
 * Runs a command of set-up, its output in a log; rejects with the end of the output when it fails.
 * @typedef {(command: string, args: string[], env?: Record<string, string>) => Promise<void>} Runner
 */

/**
 * @param {string} logFile  gets all output
 * @param {object} [options]
 * @param {AbortSignal} [options.signal]  stops the command
 * @param {boolean} [options.patient]  whether the command leaves the processors to others
 * @returns {Runner}
 */
export function createRunner (logFile, { signal, patient = false } = {}) {
  return async (command, args, env = {}) => {
    signal?.throwIfAborted()
    const [program, ...rest] = patient ? ['nice', '-n', String(NICENESS), command, ...args] : [command, ...args]
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
