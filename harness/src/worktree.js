import { execFile } from 'node:child_process'
import {
  copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync
} from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import { ROOT } from './config.js'

/** The scope in which npm links the packages of a tree itself. */
const OWN_SCOPE = '@stevec'
const run = promisify(execFile)
const git = (/** @type {string[]} */ args) => run('git', ['-C', ROOT, ...args]).then(({ stdout }) => stdout.trim())

/** Git does not do what is asked, such as to find a commit; the message has the next step. */
export class WorktreeError extends Error {}

/**
 * @param {string} ref  a commit, tag or branch of this repository
 * @returns {Promise<string>} the commit's hash
 * @throws {WorktreeError} when there is no such commit
 */
export async function resolveCommit (ref) {
  try {
    return await git(['rev-parse', '--verify', '--quiet', '--end-of-options', `${ref}^{commit}`])
  } catch {
    throw new WorktreeError(
      `there is no commit "${ref}" in this repository; \`git log --oneline\` lists those that there are`
    )
  }
}

/** @returns {Promise<boolean>} whether the checkout has changes that are in no commit */
export const isDirty = async () => (await git(['status', '--porcelain'])) !== ''

/**
 * Checks a commit out into a folder of its own.
 * @param {string} commit
 * @param {string} directory  must not exist
 */
export async function addWorktree (commit, directory) {
  await git(['worktree', 'add', '--quiet', '--detach', directory, commit])
}

/**
 * Removes a folder with everything in it, and what git knows of the worktrees that were in it.
 * @param {string} directory  need not exist
 */
export async function removeWorktrees (directory) {
  rmSync(directory, { recursive: true, force: true })
  await git(['worktree', 'prune'])
}

/**
 * Lets a worktree use the npm and Python packages of this checkout where the files that pin them are equal.
 * @param {string} directory  of the worktree
 * @returns {boolean} whether it has the npm packages; if not, they have to be installed there
 */
export function sharePackages (directory) {
  if (isSame(directory, ['analysis/requirements.txt'])) linkContent(directory, '.venv')
  if (!isSame(directory, ['package-lock.json', '.npmrc'])) return false
  const modules = linkContent(directory, 'node_modules')
  mkdirSync(path.join(modules, OWN_SCOPE))
  const { workspaces } = readJson(path.join(directory, 'package.json'))
  for (const workspace of workspaces) {
    const { name } = readJson(path.join(directory, workspace, 'package.json'))
    symlinkSync(path.join(directory, workspace), path.join(modules, name))
    // Other versions of packages than the common ones.
    const own = path.join(workspace, 'node_modules')
    if (existsSync(path.join(ROOT, own))) linkContent(directory, own)
  }
  return true
}

/**
 * @param {string} directory
 * @param {string[]} files
 */
const isSame = (directory, files) => files.every((file) => {
  const [one, other] = [ROOT, directory].map((tree) => path.join(tree, file))
  return existsSync(one) === existsSync(other) && (!existsSync(one) || readFileSync(one).equals(readFileSync(other)))
})

/**
 * Links what a folder of this checkout contains, except for the tree's own packages. Files are copied: set-up writes
 * its stamps there.
 * @param {string} directory
 * @param {string} name
 */
function linkContent (directory, name) {
  const [from, to] = [path.join(ROOT, name), path.join(directory, name)]
  mkdirSync(to)
  const entries = existsSync(from) ? readdirSync(from).filter((entry) => entry !== OWN_SCOPE) : []
  for (const entry of entries) {
    const [source, target] = [path.join(from, entry), path.join(to, entry)]
    if (statSync(source).isFile()) copyFileSync(source, target)
    else symlinkSync(source, target)
  }
  return to
}

/** @param {string} file */
const readJson = (file) => JSON.parse(readFileSync(file, 'utf8'))
