import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { addWorktree, removeWorktrees, resolveCommit, sharePackages } from '@stevec/harness/worktree'

const run = promisify(execFile)

/** @typedef {{name: string} & import('./servers.js').StartedWith} Tree */

/**
 * Checks out another version of this repository, ready to be started.
 * @param {string} ref  a commit, tag or branch
 * @param {string} directory  where it is checked out
 * @param {(remove: () => Promise<void>) => void} atEnd  registers its removal, before there is anything to remove
 * @returns {Promise<Tree>}
 * @throws {Error} with the next step, when there is no such commit, or it cannot be measured
 */
export async function openTree (ref, directory, atEnd) {
  const commit = await resolveCommit(ref)
  atEnd(() => removeWorktrees(directory))
  await addWorktree(commit, directory)
  const start = path.join(directory, 'wiki-app/src/start.js')
  if (!existsSync(start)) {
    throw new Error(`${ref} has no wiki-app/src/start.js, so it cannot be started as this tree is; ` +
      'choose a later commit')
  }
  if (!sharePackages(directory)) await run('npm', ['ci', '--no-audit', '--no-fund'], { cwd: directory })
  const { WIKI_ARGUMENTS, WIKI_ENVIRONMENT = {} } = await import(pathToFileURL(start).href)
  return { name: ref, wikiArguments: WIKI_ARGUMENTS, wikiEnvironment: WIKI_ENVIRONMENT }
}
