import { execFile } from 'node:child_process'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const COMMAND = fileURLToPath(new URL('../bin/search-index.js', import.meta.url))
/** A wiki whose database was away looks again after ten seconds at most. */
const CAUGHT_UP_MAX_MS = 60_000
const CHECK_MS = 1_000

/**
 * Compares the index of words that a wiki keeps with one that is built from scratch. No edit may run.
 * @param {string} uri  of the database
 * @param {string} directory  SEARCH_DIRECTORY
 * @returns {Promise<string[]>} what differs, ten lines at most; none: they are equal
 * @throws {Error} when they cannot be compared
 */
export async function differingWords (uri, directory) {
  for (const endsAt = performance.now() + CAUGHT_UP_MAX_MS; ;) {
    const lines = await verify(uri, directory)
    if (lines.length === 0 || performance.now() > endsAt) return lines
    await delay(CHECK_MS)
  }
}

/** @param {string} uri @param {string} directory @returns {Promise<string[]>} */
async function verify (uri, directory) {
  const env = { PATH: process.env.PATH, MONGODB_URI: uri, SEARCH_DIRECTORY: directory }
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [COMMAND, 'verify'], { env })
    .catch((error) => error)
  const lines = String(stdout).trim().split('\n')
  const outcome = lines.pop() ?? ''
  if (!/^(equal|different): /.test(outcome)) throw new Error(`the words cannot be compared: ${stderr}`)
  return outcome.startsWith('equal') ? [] : [...lines, outcome]
}
