import { spawn } from 'node:child_process'
import { devNull } from 'node:os'
import path from 'node:path'

/** A folder is no repository that can be read, or written to. The message says what to do. */
export class RepositoryError extends Error {}

/** Git failed; the message has what it says. */
export class GitError extends Error {}

const STDERR_MAX_CHARS = 2_000
const OUTPUT_MAX_BYTES = 1_048_576
/** A repository's own configuration may be hostile: nothing of it runs, and nothing is fetched. */
const HARMLESS = {
  'core.hooksPath': devNull,
  'core.fsmonitor': 'false',
  'core.alternateRefsCommand': '',
  'log.showSignature': 'false',
  'gc.auto': '0',
  'maintenance.auto': 'false',
  'submodule.recurse': 'false'
}
const ARGUMENTS = Object.entries(HARMLESS).flatMap(([name, value]) => ['-c', `${name}=${value}`])

/**
 * Variables such as GIT_DIR would lead to another repository; settings of the machine would change what is printed.
 * https://git-scm.com/docs/git#_environment_variables
 * @param {string} folder
 */
function environmentFor (folder) {
  const others = Object.entries(process.env).filter(([name]) => !name.startsWith('GIT_'))
  return {
    ...Object.fromEntries(others),
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: devNull,
    GIT_ATTR_NOSYSTEM: '1',
    // Not a repository that the folder happens to lie in.
    GIT_CEILING_DIRECTORIES: path.dirname(folder),
    GIT_ALLOW_PROTOCOL: '',
    GIT_NO_LAZY_FETCH: '1',
    GIT_NO_REPLACE_OBJECTS: '1',
    GIT_TERMINAL_PROMPT: '0',
    GIT_OPTIONAL_LOCKS: '0',
    LC_ALL: 'C'
  }
}

/**
 * A running git. `ended` rejects when it fails, with what it says.
 * @param {string} folder  an absolute path without symbolic links @param {string[]} args @param {AbortSignal} [signal]
 */
export function startGit (folder, args, signal) {
  const child = spawn('git', [...ARGUMENTS, ...args], {
    cwd: folder, env: environmentFor(folder), stdio: 'pipe', signal
  })
  let said = ''
  child.stderr.setEncoding('utf8').on('data', (text) => { said = (said + text).slice(-STDERR_MAX_CHARS) })
  // A git that ends early: its exit code says more.
  child.stdin.on('error', () => {})
  const ended = new Promise((resolve, reject) => {
    child.once('error', (error) => reject(/** @type {NodeJS.ErrnoException} */ (error).code === 'ENOENT'
      ? new Error('git is missing here: install it (apt-get install git, brew install git), and try again')
      : error))
    child.once('close', (code) => {
      if (code === 0) return resolve(undefined)
      reject(new GitError(`git ${args[0]} failed in ${folder}: ${said.trim() || `it ended with ${code}`}`))
    })
  })
  // Awaited later; until then a rejection must not count as unhandled.
  ended.catch(() => {})
  const { stdin, stdout } = child
  return { stdin, stdout, ended, stop: () => child.kill() }
}

/**
 * @param {string} folder @param {string[]} args @param {{signal?: AbortSignal}} [options]
 * @returns {Promise<string>} what it prints, without white space around it; up to 1 MiB
 */
export async function git (folder, args, { signal } = {}) {
  const { stdin, stdout, ended, stop } = startGit(folder, args, signal)
  stdin.end()
  let printed = ''
  try {
    for await (const text of stdout.setEncoding('utf8')) {
      printed += text
      if (printed.length > OUTPUT_MAX_BYTES) throw new GitError(`git ${args[0]} prints too much in ${folder}`)
    }
  } finally {
    if (!stdout.readableEnded) stop()
  }
  await ended
  return printed.trim()
}

/** @param {string} folder @param {string[]} args @returns {Promise<string | null>} null when it fails */
export async function gitOrNull (folder, args) {
  try {
    return await git(folder, args)
  } catch (error) {
    if (error instanceof GitError) return null
    throw error
  }
}
