import { createInterface } from 'node:readline'
import { git, RepositoryError, startGit } from './git.js'
import { tokensIn } from './tokens.js'

/**
 * A file that a commit wrote, moved or deleted. `hash`: of its content; null: deleted. `from`: its path before, of a
 * file that git takes for a renamed one.
 * @typedef {{path: string, hash: string | null, from?: string}} Change
 * @typedef {object} Commit
 * @property {string} hash
 * @property {string[]} parents  hashes
 * @property {string} author
 * @property {Date} at  the author's
 * @property {string} message
 * @property {Change[]} changes  beside the first parent; without links and submodules
 */

const FORMAT = '%H %P%x00%an%x00%at%x00%B%x00'
const FIELDS = 4
/** Of a message or a path. */
const TOKEN_MAX_BYTES = 65_536
/** Files in one commit that git compares to find renamed ones. */
const RENAMES_MAX = '1000'
/** Of the range of Date. */
const TIME_MAX_S = 8_640_000_000_000
const FILE_MODES = new Set(['100644', '100755'])

/**
 * Parents first, of all branches that a merge joined.
 * @param {string} folder @param {string} commit  hash of the last one @param {AbortSignal} [signal]
 * @returns {AsyncGenerator<Commit>} @throws {RepositoryError}
 */
export async function * commitsTo (folder, commit, signal) {
  const order = ['rev-list', '--topo-order', '--reverse']
  const texts = startGit(
    folder, [...order, '--encoding=UTF-8', '--no-commit-header', `--format=${FORMAT}`, commit, '--'],
    signal)
  const list = startGit(folder, [...order, commit, '--'], signal)
  const trees = startGit(folder, [
    'diff-tree', '--stdin', '--root', '-r', '-M', `-l${RENAMES_MAX}`, '-z', '--raw', '--always', '--no-abbrev',
    '--diff-merges=first-parent'
  ], signal)
  list.stdout.pipe(trees.stdin)
  const all = [texts, list, trees]
  try {
    const changes = changesIn(tokensIn(trees.stdout, TOKEN_MAX_BYTES))
    for await (const known of commitsIn(tokensIn(texts.stdout, TOKEN_MAX_BYTES))) {
      const { value } = await changes.next()
      if (value?.commit !== known.hash) {
        if (value === undefined) await trees.ended
        throw new RepositoryError(`the commits in ${folder} cannot be read`)
      }
      yield { ...known, changes: value.changes }
    }
    await Promise.all(all.map(({ ended }) => ended))
  } finally {
    for (const each of all) each.stop()
  }
}

/** @param {AsyncIterable<string>} tokens @returns {AsyncGenerator<Omit<Commit, 'changes'>>} */
async function * commitsIn (tokens) {
  let fields = []
  for await (const token of tokens) {
    fields.push(token)
    if (fields.length < FIELDS) continue
    const [hashes, author, at, message] = fields
    const [hash, ...parents] = hashes.trim().split(' ')
    const seconds = Number(at)
    yield {
      hash,
      parents,
      author,
      at: new Date(Math.abs(seconds) <= TIME_MAX_S ? seconds * 1000 : 0),
      message: message.trimEnd()
    }
    fields = []
  }
}

/** @param {AsyncGenerator<string>} tokens  https://git-scm.com/docs/git-diff-tree#_raw_output_format */
async function * changesIn (tokens) {
  /** @type {{commit: string, changes: Change[]} | null} */
  let group = null
  const next = async () => String((await tokens.next()).value)
  for await (const token of tokens) {
    if (!token.startsWith(':')) {
      if (group !== null) yield group
      group = { commit: token, changes: [] }
      continue
    }
    const [, mode, , hash, status] = token.split(' ')
    const first = await next()
    const path = /^[RC]/.test(status) ? await next() : first
    const isFile = FILE_MODES.has(mode)
    // A file that became a link is a deleted one.
    const change = { path, hash: isFile ? hash : null, ...status.startsWith('R') && { from: first } }
    if (isFile || status !== 'A') group?.changes.push(change)
  }
  if (group !== null) yield group
}

/**
 * @param {string} folder @param {string} commit  hash of the last one @param {AbortSignal} [signal]
 * @returns {Promise<Set<string> | null>} hashes of the commits that no merge brought; null: all of them, without merges
 */
export async function mainLine (folder, commit, signal) {
  const merges = await git(folder, ['rev-list', '--min-parents=2', '--max-count=1', commit, '--'], { signal })
  if (merges === '') return null
  const { stdout, ended, stop } = startGit(folder, ['rev-list', '--first-parent', commit, '--'], signal)
  try {
    const hashes = new Set()
    for await (const line of createInterface(stdout)) hashes.add(line)
    await ended
    return hashes
  } finally {
    stop()
  }
}
