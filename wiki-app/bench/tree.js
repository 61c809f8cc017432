import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { promisify } from 'node:util'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
/** The scope in which npm links the packages of the tree itself. */
const OWN_SCOPE = '@stevec'
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
  const git = (/** @type {string[]} */ args) => run('git', ['-C', ROOT, ...args])
  const commit = await git([
    'rev-parse', '--verify', '--quiet', '--end-of-options', `${ref}^{commit}`
  ]).then(({ stdout }) => stdout.trim(), () => {
    throw new Error(`there is no commit "${ref}" in this repository; \`git log --oneline\` lists those that there are`)
  })
  atEnd(async () => {
    rmSync(directory, { recursive: true, force: true })
    await git(['worktree', 'prune'])
  })
  await git(['worktree', 'add', '--quiet', '--detach', directory, commit])
  const start = path.join(directory, 'wiki-app/src/start.js')
  if (!existsSync(start)) {
    throw new Error(`${ref} has no wiki-app/src/start.js, so it cannot be started as this tree is; ` +
      'choose a later commit')
  }

  const lock = (/** @type {string} */ tree) => readFileSync(path.join(tree, 'package-lock.json'), 'utf8')
  if (lock(directory) === lock(ROOT)) linkModules(directory)
  else await run('npm', ['ci', '--no-audit', '--no-fund'], { cwd: directory })
  const { WIKI_ARGUMENTS, WIKI_ENVIRONMENT = {} } = await import(pathToFileURL(start).href)
  return { name: ref, wikiArguments: WIKI_ARGUMENTS, wikiEnvironment: WIKI_ENVIRONMENT }
}

/**
 * Links a tree's node_modules to those of this tree, except for its own packages.
 * @param {string} directory
 */
function linkModules (directory) {
  const modules = path.join(directory, 'node_modules')
  mkdirSync(path.join(modules, OWN_SCOPE), { recursive: true })
  for (const name of readdirSync(path.join(ROOT, 'node_modules'))) {
    if (name !== OWN_SCOPE) symlinkSync(path.join(ROOT, 'node_modules', name), path.join(modules, name))
  }
  const { workspaces } = JSON.parse(readFileSync(path.join(directory, 'package.json'), 'utf8'))
  for (const workspace of workspaces) {
    const { name } = JSON.parse(readFileSync(path.join(directory, workspace, 'package.json'), 'utf8'))
    symlinkSync(path.join(directory, workspace), path.join(modules, name))
  }
}
