import { mkdir, readdir, realpath } from 'node:fs/promises'
import { git, GitError, gitOrNull, RepositoryError } from './git.js'

/** The commits of an export, until all are there. */
export const EXPORT_REF = 'refs/stevec/export'
/** Where the branch was before, until the files are as it has them. */
const BEFORE_REF = 'refs/stevec/before'

/** @typedef {{folder: string, branch: string, head: string | null, isBare: boolean}} Repository  `head`: hash */

/**
 * @param {string} folder  of a repository; not one within it
 * @returns {Promise<Repository>} @throws {RepositoryError}
 */
export async function openRepository (folder) {
  const real = await realpath(folder).catch(() => { throw new RepositoryError(`there is no folder ${folder}`) })
  const is = await git(real, ['rev-parse', '--is-bare-repository', '--is-shallow-repository']).catch((error) => {
    if (!(error instanceof GitError)) throw error
    throw new RepositoryError(error.message.includes('dubious ownership')
      ? `${folder} belongs to another user: copy it (cp -R), and name the copy`
      : `${folder} is no git repository`)
  })
  const [isBare, isShallow] = is.split('\n')
  if (isShallow === 'true') {
    throw new RepositoryError(`${folder} lacks the beginning of its history: git -C ${folder} fetch --unshallow, and ` +
      'try again')
  }
  const [branch, head] = [
    await gitOrNull(real, ['symbolic-ref', '--quiet', 'HEAD']), await gitOrNull(real, ['rev-parse', '--verify', 'HEAD'])
  ]
  return { folder: real, branch: branch ?? 'HEAD', head, isBare: isBare === 'true' }
}

/**
 * @param {string} folder  a repository, or an empty folder or none, which becomes one
 * @returns {Promise<Repository>} @throws {RepositoryError} also where files would be overwritten
 */
export async function prepareRepository (folder) {
  await mkdir(folder, { recursive: true })
  const isEmpty = (await readdir(folder)).length === 0
  if (isEmpty) await git(await realpath(folder), ['init', '--quiet', '--template=', '--initial-branch=main'])
  const repository = await openRepository(folder)
  if (repository.branch === 'HEAD') {
    throw new RepositoryError(`no branch is checked out in ${folder}: git checkout the one of the export first`)
  }
  if (repository.isBare) return repository
  await refuseElsewhere(repository.folder)
  const harmless = await withoutFilters(repository.folder)
  // An export that was killed after the branch had moved has left the files as they were before.
  const exported = await gitOrNull(repository.folder, ['rev-parse', '--verify', '--quiet', EXPORT_REF])
  if (exported !== null && exported === repository.head) await checkOut(repository.folder)
  const changed = await git(repository.folder, [...harmless, 'status', '--porcelain'])
  if (changed !== '') {
    throw new RepositoryError(`${folder} has files that are not committed, which an export would overwrite: ` +
      'move them ' +
      'elsewhere, or name another folder')
  }
  return repository
}

/**
 * All of an export appears at once.
 * @param {Repository} repository
 */
export async function publish ({ folder, branch, head, isBare }) {
  const made = await git(folder, ['rev-parse', '--verify', EXPORT_REF])
  if (!isBare) await git(folder, ['update-ref', ...head === null ? ['-d', BEFORE_REF] : [BEFORE_REF, head]])
  await git(folder, ['update-ref', '-m', 'stevec export', branch, made, head ?? '0'.repeat(made.length)])
  if (isBare) await git(folder, ['update-ref', '-d', EXPORT_REF])
  else await checkOut(folder)
}

/**
 * The files as the branch has them, unless somebody has changed one of them.
 * https://git-scm.com/docs/git-read-tree#_two_tree_merge
 * @param {string} folder @throws {RepositoryError}
 */
async function checkOut (folder) {
  const harmless = await withoutFilters(folder)
  const before = await gitOrNull(folder, ['rev-parse', '--verify', '--quiet', BEFORE_REF]) ??
    // Of nothing: the tree without files.
    await git(folder, ['hash-object', '-t', 'tree', '--stdin'])
  // It fails where a file has changed.
  await gitOrNull(folder, [...harmless, 'update-index', '-q', '--refresh'])
  await git(folder, [...harmless, 'read-tree', '-m', '-u', before, 'HEAD']).catch((error) => {
    if (!(error instanceof GitError)) throw error
    throw new RepositoryError(`${folder} has files that are not as an export has left them, so they stay; the ` +
      'commits of the export are there: copy your changes elsewhere, say git reset --hard there, and try again ' +
      `(${error.message})`)
  })
  for (const ref of [EXPORT_REF, BEFORE_REF]) await git(folder, ['update-ref', '-d', ref])
}

/** `core.worktree` leads anywhere. @param {string} folder @throws {RepositoryError} */
async function refuseElsewhere (folder) {
  const top = await git(folder, ['rev-parse', '--show-toplevel'])
  if (top === folder) return
  throw new RepositoryError(`the files of ${folder} are elsewhere, in ${top}: name another folder`)
}

/**
 * The programs that a repository has files go through (gitattributes(5)), left out.
 * @param {string} folder @returns {Promise<string[]>} arguments of git @throws {RepositoryError}
 */
async function withoutFilters (folder) {
  const names = (await gitOrNull(folder, ['config', '-z', '--name-only', '--get-regexp', '^filter\\.']) ?? '')
    .split('\0').filter((name) => name !== '')
  const odd = names.find((name) => name.includes('='))
  if (odd !== undefined) {
    throw new RepositoryError(`${folder} has the setting ${odd}: remove it, or name another folder`)
  }
  return [...new Set(names)].flatMap((name) => ['-c', `${name}=${name.endsWith('.required') ? 'false' : ''}`])
}
