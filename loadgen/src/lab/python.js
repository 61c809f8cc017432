import { execFile, spawn, spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import { ROOT } from '@stevec/harness/config'
import { EXIT } from '../exit-codes.js'

const PYTHON = path.join(ROOT, '.venv/bin/python')
const MISSING = 'the analysis is not installed; run `make setup`'
const OUTPUT_MAX_BYTES = 64 * 1024 * 1024

const environment = () => ({ ...process.env, PYTHONPATH: path.join(ROOT, 'analysis') })

/**
 * Runs a module of the analysis with a command's arguments; the module prints its own results and errors.
 * @param {string} module  of analysis/
 * @param {string[]} args
 * @param {{output?: 'inherit' | number, signal?: AbortSignal}} [options]  `output`: a file descriptor for what the
 *   module prints, default this process's own; `signal`: ends the module
 * @returns {Promise<number>} its exit code
 * @throws {Error} when the analysis is not installed; AbortError of the signal
 */
export async function runAnalysis (module, args, { output = 'inherit', signal } = {}) {
  if (!existsSync(PYTHON)) throw new Error(MISSING)
  const child = spawn(PYTHON, ['-m', module, ...args], {
    stdio: ['inherit', output, 'inherit'], env: environment(), signal
  })
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code, signal) => resolve(code ?? (signal === 'SIGINT' ? EXIT.interrupted : EXIT.broken)))
  })
}

/**
 * @param {string} module  of analysis/
 * @param {string[]} args
 * @returns {Promise<string>} its standard output
 * @throws {Error} when the analysis is not installed or fails; the message then has its output
 */
export async function analysisOutput (module, args) {
  if (!existsSync(PYTHON)) throw new Error(MISSING)
  const { stdout } = await promisify(execFile)(
    PYTHON,
    ['-m', module, ...args],
    { env: environment(), maxBuffer: OUTPUT_MAX_BYTES }
  )
  return stdout
}

/**
 * @param {string} module
 * @returns {string} the output of its --help
 */
export function analysisHelp (module) {
  if (!existsSync(PYTHON)) return MISSING
  return spawnSync(PYTHON, ['-m', module, '--help'], { encoding: 'utf8', env: environment() }).stdout.trimEnd()
}
