import { spawn } from 'node:child_process'
import { appendFileSync } from 'node:fs'

/** A failed build step; the message ends with the command's last output. */
export class BuildError extends Error {}

/** @typedef {(command: string, args: string[], env?: Record<string, string>) => Promise<void>} Run */

/**
 * Creates a function that runs commands and logs their output.
 * @param {string} logFile  receives all output
 * @param {(line: string) => void} [onLine]  receives each line of the output
 * @returns {Run} rejects with a BuildError when the command fails
 */
export function createRun (logFile, onLine = () => {}) {
  return (command, args, env = {}) => new Promise((resolve, reject) => {
    appendFileSync(logFile, `$ ${command} ${
      args.map((arg) => /^[\w@%+=:,./-]+$/.test(arg) ? arg : JSON.stringify(arg)).join(' ')
    }\n`)
    const child = spawn(command, args, {
      env: { ...process.env, LC_ALL: 'C.UTF-8', ...env },
      stdio: ['ignore', 'pipe', 'pipe']
    })
    let tail = ''
    const keep = (/** @type {string} */ text) => {
      appendFileSync(logFile, text)
      for (const line of text.split('\n')) onLine(line)
      tail = (tail + text).slice(-3_000)
    }
    child.stdout.setEncoding('utf8').on('data', keep)
    child.stderr.setEncoding('utf8').on('data', keep)
    child.once('error', (error) =>
      reject(new BuildError(`${command} could not be started (${error.message}); run \`./stevec setup --with image\``))
    )
    child.once('close', (code) => code === 0
      ? resolve()
      : reject(new BuildError(`${command} failed (exit code ${code}):\n${
        tail.trimEnd().split('\n').slice(-10).join('\n')
      }\nThe whole output is in ${logFile}`)))
  })
}
